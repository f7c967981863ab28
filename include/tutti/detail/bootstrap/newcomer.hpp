// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/environment.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

// A process enters a world:
//
//     host, lowest member of the world              newcomer, announced at a doorway
//       |  claim, challenge (with a secret)           |
//       |  hello: nonce of the announcement --------> |   for each newcomer, one after the other
//       |  <--------------------------------- welcome |
//       |  table: admission ------------------------> |   once all that can enter are known
//       |  exchanges of all members and newcomers, by which they make the world
//       |  the members agree that each has it         |
//       |  result ----------------------------------> |   the newcomer may use the world
//
// Law: a newcomer uses a world only if all its members have decided to use it. One that misses the result leaves, as
// a rank that ends. Members wait for no newcomer longer than for each other.

/// The facts that a newcomer needs of the world that it enters.
struct admission {
  static constexpr std::size_t limit = 1U << 26U;  ///< bytes

  std::vector<rank_type> parent_ranks;  ///< ranks of all members in the world before; no_rank for newcomers
  rank_type rank = 0;                   ///< the newcomer's
  duration patience{};                  ///< the members'
  std::string base_name;                ///< the name of the first world
  std::uint64_t changes = 0;            ///< worlds that were made of it

  [[nodiscard]] std::string text() const;
  /// Returns false if `bytes` are no admission.
  [[nodiscard]] bool parse(std::string_view bytes);
};

/// Lets processes that wait at the doorways of the members into their next world. The host takes them in the order of
/// the members that see them, until the world has `limit` ranks; they get the numbers after the members. Takes at most
/// three seconds for each process that cannot be reached, and ten or half the patience for all. Collective over the
/// members.
/// @param facts the facts for each newcomer but its ranks
/// @param secret the world's; newcomers have to prove that they know it
/// @throws error(failure::join) if a member is gone
TUTTI_DECL void admit_newcomers(survivors& members, doorway& door, rank_type limit, admission facts,
                                world_secret const& secret);

/// A process that waits to enter a world. Used by one thread at a time.
class newcomer {
 public:
  /// @throws error(failure::join) if the environment names no place to wait at
  explicit newcomer(environment const& settings);

  /// Waits until a host lets this process in. Returns its rendezvous with the members, and `facts`.
  /// @throws error(failure::join) at the deadline
  [[nodiscard]] survivors enter(admission& facts, time_point deadline);

  [[nodiscard]] std::string const& local_host() const noexcept { return local_host_; }

 private:
  [[nodiscard]] channel await_host(time_point deadline);

  environment settings_;
  owner<doorway> door_;
  std::string local_host_;
  announcement self_;
  descriptor listener_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/newcomer.ipp>
#endif
