// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/error.hpp>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL thread_meeting::thread_meeting(rank_type size, duration patience)
    : patience_(finite_patience(patience)), seats_(size) {}

TUTTI_DECL std::vector<std::string> thread_meeting::exchange(rank_type me, std::string_view text) {
  monitor_lock const lock(monitor_);
  std::uint64_t const round = round_;
  seats_[me].text = text;
  seats_[me].is_present = true;
  if (++present_ == size() && !is_broken()) {
    complete();
    return complete_;
  }
  check_gone();
  time_point const deadline = steady_now() + patience_;
  while (round_ == round && !is_broken()) {
    if (steady_now() < deadline) {
      monitor_.wait_until(deadline);
    } else {
      give_up();
    }
  }
  if (round_ != round) {
    return complete_;  // overwritten only after every rank has joined again
  }
  throw error(breakdown_.kind, breakdown_.text).set_ranks(me, breakdown_.at_fault);
}

TUTTI_DECL void thread_meeting::leave(rank_type me, std::string_view reason) {
  monitor_lock const lock(monitor_);
  std::string& end_reason = seats_[me].end_reason;
  end_reason = "rank " + std::to_string(me) + (reason.empty() ? " ended without taking part" : " failed before: ");
  end_reason.append(reason);
  if (present_ > 0) {
    check_gone();
  }
}

TUTTI_DECL void thread_meeting::complete() {
  complete_.resize(size());
  for (rank_type r = 0; r < size(); ++r) {
    complete_[r] = std::move(seats_[r].text);
    seats_[r].is_present = false;
  }
  present_ = 0;
  ++round_;
  monitor_.notify_all();
}

TUTTI_DECL void thread_meeting::check_gone() {
  for (rank_type r = 0; r < size(); ++r) {
    if (!seats_[r].end_reason.empty()) {
      return break_up(seats_[r].end_reason, {r});
    }
  }
}

TUTTI_DECL void thread_meeting::give_up() {
  std::vector<rank_type> absent;
  for (rank_type r = 0; r < size(); ++r) {
    if (!seats_[r].is_present) {
      absent.push_back(r);
    }
  }
  break_up(list_ranks(absent) + " of " + std::to_string(size()) + " did not come within " + seconds_text(patience_),
           absent);
}

TUTTI_DECL void thread_meeting::break_up(std::string const& reason, std::vector<rank_type> at_fault) {
  if (!is_broken()) {
    breakdown_ = {"exchange among the threads of this process: " + reason, failure::join, std::move(at_fault)};
    monitor_.notify_all();
  }
}

}  // namespace tutti::detail::bootstrap
