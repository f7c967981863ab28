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

TUTTI_DECL std::string seconds_text(duration time) {
  std::string text = fixed_text(static_cast<double>(time.count()) * 1e-9, 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text + " s";
}

TUTTI_DECL std::string list_ranks(std::vector<rank_type> const& ranks) {
  constexpr std::size_t limit = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t const count = ranks.size() < limit ? ranks.size() : limit;
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return count == ranks.size() ? text : text + " and " + std::to_string(ranks.size() - count) + " more";
}

TUTTI_DECL std::size_t text_limit(rank_type size) noexcept {
  constexpr std::size_t total = 1U << 22U;
  constexpr std::size_t minimum = 1U << 14U;
  return total / size > minimum ? total / size : minimum;
}

TUTTI_DECL roll_call::roll_call(rank_type size, std::string place) : place_(std::move(place)), seats_(size) {}

TUTTI_DECL void roll_call::note(rank_type rank, member const& process) {
  seat& place = seats_[rank];
  if (place.is_taken) {
    fail("two processes both say they are rank " + std::to_string(rank) + ": on " + describe(place.process) +
             " and on " + describe(process) +
             "; give each job its own TUTTI_JOB, and each process of a job its own TUTTI_RANK",
         {rank});
  }
  place = {true, process};
  ++present_;
}

TUTTI_DECL void roll_call::strike_off(rank_type rank) noexcept {
  seats_[rank].is_taken = false;
  --present_;
}

TUTTI_DECL std::string roll_call::description(rank_type rank) const {
  return seats_[rank].is_taken ? describe(rank, seats_[rank].process) : "rank " + std::to_string(rank);
}

TUTTI_DECL void roll_call::fail_missing(duration limit, std::string const& refusals) const {
  constexpr std::size_t longest_list = 16;
  std::vector<rank_type> missing;
  std::string present;
  std::size_t count = 0;
  for (rank_type r = 0; r < seats_.size(); ++r) {
    if (!seats_[r].is_taken) {
      missing.push_back(r);
    } else if (count++ < longest_list) {
      present += (count == 1 ? "" : ", ") + std::to_string(r) + " (" + describe(seats_[r].process) + ")";
    }
  }
  if (count > longest_list) {
    present += " and " + std::to_string(count - longest_list) + " more";
  }
  fail(list_ranks(missing) + " of " + std::to_string(seats_.size()) + " did not join at " + place_ + " within " +
           seconds_text(limit) + " (set TUTTI_TIMEOUT to wait longer); joined: " +
           (present.empty() ? "none" : present) + (refusals.empty() ? "" : "; refused: " + refusals),
       missing);
}

TUTTI_DECL void roll_call::fail(std::string const& text, std::vector<rank_type> at_fault) const {
  throw error(failure::join, "the world did not come together: " + text).set_ranks(no_rank, std::move(at_fault));
}

}  // namespace tutti::detail::bootstrap
