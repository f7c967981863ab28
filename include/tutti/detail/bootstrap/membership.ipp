// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/error.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL membership with_finite_patience(membership me) {
  me.patience = finite_patience(me.patience);
  return me;
}

TUTTI_DECL std::string seconds_text(duration d) {
  std::string text = fixed_text(static_cast<double>(d.count()) * 1e-9, 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text + " s";
}

TUTTI_DECL std::string list_ranks(std::vector<rank_type> const& ranks) {
  constexpr std::size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t const shown = ranks.size() < most ? ranks.size() : most;
  for (std::size_t i = 0; i < shown; ++i) {
    text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return shown == ranks.size() ? text : text + " and " + std::to_string(ranks.size() - shown) + " more";
}

TUTTI_DECL std::size_t text_limit(rank_type size) noexcept {
  constexpr std::size_t all = 1U << 22U;
  constexpr std::size_t least = 1U << 14U;
  return all / size > least ? all / size : least;
}

TUTTI_DECL roll_call::roll_call(rank_type size, std::string place) : place_(std::move(place)), seats_(size) {}

TUTTI_DECL void roll_call::note(rank_type rank, member const& process) {
  seat& s = seats_[rank];
  if (s.taken) {
    fail("two processes both say they are rank " + std::to_string(rank) + ": on " + describe(s.process) + " and on " +
             describe(process) + "; give each job its own TUTTI_JOB, and each process of a job its own TUTTI_RANK",
         {rank});
  }
  s = {true, process};
  ++present_;
}

TUTTI_DECL void roll_call::strike_off(rank_type rank) noexcept {
  seats_[rank].taken = false;
  --present_;
}

TUTTI_DECL std::string roll_call::known(rank_type rank) const {
  return seats_[rank].taken ? describe(rank, seats_[rank].process) : "rank " + std::to_string(rank);
}

TUTTI_DECL void roll_call::fail_missing(duration waited, std::string const& refused) const {
  constexpr std::size_t most = 16;
  std::vector<rank_type> missing;
  std::string joined;
  std::size_t listed = 0;
  for (rank_type r = 0; r < seats_.size(); ++r) {
    if (!seats_[r].taken) {
      missing.push_back(r);
    } else if (listed++ < most) {
      joined += (listed == 1 ? "" : ", ") + std::to_string(r) + " (" + describe(seats_[r].process) + ")";
    }
  }
  if (listed > most) {
    joined += " and " + std::to_string(listed - most) + " more";
  }
  fail(list_ranks(missing) + " of " + std::to_string(seats_.size()) + " did not join at " + place_ + " within " +
           seconds_text(waited) + " (set TUTTI_TIMEOUT to wait longer); joined: " + (joined.empty() ? "none" : joined) +
           (refused.empty() ? "" : "; refused: " + refused),
       missing);
}

TUTTI_DECL void roll_call::fail(std::string const& what, std::vector<rank_type> at_fault) const {
  throw error(failure::join, "the world did not come together: " + what).set_ranks(no_rank, std::move(at_fault));
}

}  // namespace tutti::detail::bootstrap
