// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/error.hpp>
#include <tutti/member.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tutti::detail {

/// Who of a world has come, who has not, and what is wrong about it.
template <class Member>
class basic_roll_call {
 public:
  /// `place` is where they meet: "node0:29500".
  basic_roll_call(rank_type size, std::string place) : place_(std::move(place)), members_(size) {}

  /// Notes that `who` has come as `rank`.
  /// @pre rank < size
  /// @throws error(failure::join) that names both if another process has
  void note(rank_type rank, Member const& who) {
    if (members_[rank]) {
      fail("two processes both say they are rank " + std::to_string(rank) + ": on " + describe(*members_[rank]) +
               " and on " + describe(who),
           {rank});
    }
    members_[rank] = who;
    ++present_;
  }

  /// Notes that a rank has gone again: another process may come as it.
  void strike_off(rank_type rank) noexcept {
    members_[rank].reset();
    --present_;
  }

  [[nodiscard]] bool complete() const noexcept { return present_ == members_.size(); }

  /// "rank 2 (node7, pid 4242)", or "rank 2" as long as it is unknown.
  [[nodiscard]] std::string known(rank_type rank) const {
    return members_[rank] ? describe(rank, *members_[rank]) : "rank " + std::to_string(rank);
  }

  /// "ranks 2 and 5 of 8 did not join at node0:29500 within 30 s; joined: 0 (node0, pid 7), ...; refused: ..."
  [[noreturn]] void fail_missing(duration waited, std::string const& refused = {}) const {
    std::vector<rank_type> missing;
    std::string joined;
    std::size_t listed = 0;
    for (rank_type r = 0; r < members_.size(); ++r) {
      if (!members_[r]) {
        missing.push_back(r);
      } else if (listed++ < 16) {
        joined += (listed == 1 ? "" : ", ") + std::to_string(r) + " (" + describe(*members_[r]) + ")";
      }
    }
    if (listed > 16) {
      joined += " and " + std::to_string(listed - 16) + " more";
    }
    fail(list_ranks(missing) + " of " + std::to_string(members_.size()) + " did not join at " + place_ + " within " +
             seconds_text(waited) + "; joined: " + (joined.empty() ? "none" : joined) +
             (refused.empty() ? "" : "; refused: " + refused),
         missing);
  }

  /// @throws error(failure::join)
  [[noreturn]] void fail(std::string const& what, std::vector<rank_type> at_fault) const {
    throw error(failure::join, "the world did not come together: " + what).between(no_rank, std::move(at_fault));
  }

 private:
  std::string place_;
  std::vector<std::optional<Member>> members_;
  rank_type present_ = 0;
};

using roll_call = basic_roll_call<member>;

}  // namespace tutti::detail
