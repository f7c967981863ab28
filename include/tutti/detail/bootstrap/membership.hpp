// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The facts that a member needs to find the others.
struct membership {
  rank_type rank = 0;
  rank_type size = 1;
  std::string job = {};   ///< equal on all ranks; separates jobs that meet at one place by mistake
  std::string role = {};  ///< a label for this rank ("ps:0")
  duration patience = join_timeout;
  world_secret secret = {};  ///< equal on all ranks
};

/// Limits the patience so that it can be added to a time.
/// @throws precondition_error if it is negative
[[nodiscard]] TUTTI_DECL membership with_finite_patience(membership me);

/// "30 s", "0.25 s"
[[nodiscard]] TUTTI_DECL std::string seconds_text(duration time);

/// "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 61 more"
[[nodiscard]] TUTTI_DECL std::string list_ranks(std::vector<rank_type> const& ranks);

/// The longest text of an exchange in bytes; the texts of all ranks together are a few megabytes.
[[nodiscard]] TUTTI_DECL std::size_t text_limit(rank_type size) noexcept;

/// The longest table of the texts of all ranks, in bytes.
inline constexpr std::size_t table_limit = 1U << 28U;

/// The members of a world that have joined or are missing, and the errors that follow.
class roll_call {
 public:
  /// @param place the place where they meet: "node0:29500"
  roll_call(rank_type size, std::string place);

  /// Notes that `process` has joined as `rank`.
  /// @pre rank < size
  /// @throws error(failure::join) that names both if another process has joined as that rank
  void note(rank_type rank, member const& process);

  /// Notes that a rank has left again: another process may take its place.
  void strike_off(rank_type rank) noexcept;

  [[nodiscard]] bool complete() const noexcept { return present_ == seats_.size(); }

  /// "rank 2 (node7, pid 4242)", or "rank 2" until it has joined.
  [[nodiscard]] std::string description(rank_type rank) const;

  /// "ranks 2 and 5 of 8 did not join at node0:29500 within 30 s; joined: 0 (node0, pid 7), ...; refused: ..."
  [[noreturn]] void fail_missing(duration limit, std::string const& refusals = {}) const;

  /// @throws error(failure::join)
  [[noreturn]] void fail(std::string const& text, std::vector<rank_type> at_fault) const;

 private:
  struct seat {
    bool is_taken = false;
    member process;
  };

  std::string place_;
  std::vector<seat> seats_;
  rank_type present_ = 0;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/membership.ipp>
#endif
