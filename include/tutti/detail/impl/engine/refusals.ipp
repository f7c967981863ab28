// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/refusals.hpp>
#include <tutti/error.hpp>
#include <tutti/expects.hpp>

#include <source_location>
#include <string>

namespace tutti::detail {

TUTTI_DECL void refuse_step(std::string_view wrong) {
  std::string const text =
      "this step of the schedule " + std::string(wrong) + "; tutti::verify shows all that is wrong with a topology";
  throw precondition_error(text, std::source_location::current());
}

TUTTI_DECL void refuse_length(rank_type me, rank_type peer, std::size_t arrived, std::size_t expected,
                              std::size_t granule) {
  std::string const in_elements = granule > 1 ? ", in elements of " + std::to_string(granule) : "";
  throw error(failure::protocol, "received " + std::to_string(arrived) + " bytes where the schedule expects " +
                                     std::to_string(expected) + in_elements)
      .between(me, {peer});
}

TUTTI_DECL void refuse_ranks(std::string_view reduction, rank_type most, rank_type ranks) {
  std::string const text = std::string(reduction) + ": an accumulator holds at most " + std::to_string(most) +
                           " contributions, and there are " + std::to_string(ranks) + " ranks; use it on fewer ranks";
  throw precondition_error(text, std::source_location::current());
}

TUTTI_DECL void refuse_order(std::string_view told) {
  std::string const text = std::string(told) +
                           ": the reduction does not commute, and this schedule does not combine in rank order: "
                           "take a topology that offers the operation itself and keeps order, such as star";
  throw precondition_error(text, std::source_location::current());
}

TUTTI_DECL void refuse_root(std::string_view operation, rank_type root, rank_type ranks) {
  std::string const text = std::string(operation) + ": the root must be a rank of this communicator, below " +
                           std::to_string(ranks) + ", not " + std::to_string(root);
  throw precondition_error(text, std::source_location::current());
}

TUTTI_DECL void refuse_peer(std::string_view what, rank_type peer, rank_type me, rank_type ranks) {
  std::string const text = std::string(what) + " must be another rank of this communicator than this one, " +
                           std::to_string(me) + ", and below " + std::to_string(ranks) + ", not " +
                           std::to_string(peer);
  throw precondition_error(text, std::source_location::current());
}

TUTTI_DECL void refuse_size(std::string_view what, std::size_t found, std::size_t expected) {
  std::string const text =
      std::string(what) + " must have " + std::to_string(expected) + " elements, not " + std::to_string(found);
  throw precondition_error(text, std::source_location::current());
}

}  // namespace tutti::detail
