// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/core/mismatch.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline core {

/// A call in words, without its number of elements and its partition.
[[nodiscard]] inline std::string without_length(std::string call) {
  std::size_t const begin = call.find(" x ");
  return begin == call.npos ? call : call.erase(begin, call.find_first_of(",)", begin) - begin);
}

TUTTI_DECL error calls_differ(rank_type me, std::string const& local_call, rank_type peer,
                              std::string const& peer_call) {
  std::string text = message({"rank ", me, " called ", local_call, ", but rank ", peer});
  if (local_call != peer_call) {
    bool const has_partition = (local_call + peer_call).find(" in partition ") != std::string::npos;
    append(text, {" called ", peer_call,
                  has_partition && without_length(local_call) == without_length(peer_call)
                      ? "; the partitions differ: all ranks must pass the same lengths of blocks"
                      : "; all ranks must call the same operations in the same order"});
  } else {
    text +=
        " with other settings: segment(), the full names of types and the arguments of the reduction, such as "
        "tutti::commutative for a function, must be the same on all ranks";
    if (local_call.find("(functor ") != std::string::npos) {
      text += "; so must the type of its function, unless tutti::function_name<\"...\"> names it";
    }
  }
  return blaming(failure::mismatch, text, me, peer);
}

TUTTI_DECL error messages_differ(rank_type me, rank_type peer) {
  return blaming(failure::mismatch,
                 message({"the message that rank ", peer, " sends is not the one that rank ", me,
                          " receives; send and recv must agree in type, number of elements and use of any_length"}),
                 me, peer);
}

TUTTI_DECL error lengths_differ(rank_type me, std::uint64_t expected, rank_type peer, std::uint64_t actual) {
  return blaming(
      failure::mismatch,
      message({"rank ", peer, " sends rank ", me, " a message of ", actual, " bytes, but rank ", me, " expects ",
               expected, "; give both ranks one length for it, or call exchange_uneven of an alltoall"}),
      me, peer);
}

}  // namespace tutti::detail::core
