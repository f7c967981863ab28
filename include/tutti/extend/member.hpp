// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// The description of a member that joins, for errors and reports.
struct member {
  std::string host;      ///< the name of its host
  std::int64_t pid = 0;  ///< process id on its host
  std::string role;      ///< label in a list of hosts ("ps:0"); mostly empty

  friend bool operator==(member const&, member const&) = default;
};

/// The name of this host, for humans.
[[nodiscard]] TUTTI_DECL std::string host_name();

/// The description of this process.
[[nodiscard]] TUTTI_DECL member this_member(std::string role = {});

namespace detail {

/// Serialises a member.
[[nodiscard]] TUTTI_DECL std::string encode(member const& m);

/// Reads the output of `encode`. Returns false for any other bytes.
[[nodiscard]] TUTTI_DECL bool decode(std::string_view bytes, member& result);

/// A member as a part of a message, in the words of `describe`.
[[nodiscard]] TUTTI_DECL message_part words(member const& m) noexcept;

}  // namespace detail

/// The member in words: "node7, pid 4242", "worker:3 on node7, pid 4242".
[[nodiscard]] TUTTI_DECL std::string describe(member const& m);

/// The rank and the member in words: "rank 2 (worker:3 on node7, pid 4242)".
[[nodiscard]] TUTTI_DECL std::string describe(rank_type rank, member const& m);

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/member.ipp>
#endif
