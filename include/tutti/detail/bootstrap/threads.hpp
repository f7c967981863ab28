// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The meeting of the threads of one world. Thread-safe.
class thread_meeting {
 public:
  thread_meeting(rank_type size, duration patience);

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(seats_.size()); }

  std::vector<std::string> exchange(rank_type me, std::string_view text);

  /// Notes that rank `me` has ended. Exchanges of ranks that wait for it, now or later, fail.
  void leave(rank_type me, std::string_view reason);

 private:
  struct seat {
    bool is_present = false;
    std::string text;        ///< the rank's part of the current exchange
    std::string end_reason;  ///< the reason why the rank has ended; empty while it runs
  };

  [[nodiscard]] bool is_broken() const noexcept { return breakdown_.kind != failure::none; }
  void complete();
  void check_gone();
  void give_up();
  void break_up(std::string const& reason, std::vector<rank_type> at_fault);

  monitor monitor_;
  duration patience_;
  std::uint64_t round_ = 0;
  rank_type present_ = 0;
  std::vector<seat> seats_;  ///< by rank
  std::vector<std::string> complete_;
  rank_failure breakdown_;  ///< the reason why no exchange can succeed any more
};

/// The rendezvous of a rank that is a thread. Used by that thread alone.
class thread_rendezvous {
 public:
  static constexpr bool one_host = true;

  thread_rendezvous(thread_meeting& meeting, rank_type rank) noexcept : meeting_(&meeting), rank_(rank) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return meeting_->size(); }
  std::vector<std::string> exchange(std::string_view text) { return meeting_->exchange(rank_, text); }

 private:
  thread_meeting* meeting_;
  rank_type rank_;
};

/// Runs f(thread_rendezvous&) as n ranks, each a thread of this process, and waits for all of them. Returns, in rank
/// order, each rank's result or exception. `f` is shared: it is called n times at once.
///
/// `patience` bounds every exchange. If a rank ends before an exchange, the exchange fails at once on the others. No
/// rank is stopped by force, so this waits for the slowest f.
///
/// @pre n >= 1
/// @throws std::system_error if the system gives no more threads; running ones have ended then
template <class F>
[[nodiscard]] auto run_threads(rank_type n, F&& function, duration patience = join_timeout)
    -> std::vector<outcome<std::invoke_result_t<F&, thread_rendezvous&>>> {
  using result = std::invoke_result_t<F&, thread_rendezvous&>;
  expects(n >= 1, "spawn: a world has at least one rank, not 0");
  thread_meeting meeting(n, patience);
  std::vector<outcome<result>> ends;  // each rank writes only its own element
  ends.reserve(n);
  for (rank_type r = 0; r < n; ++r) {
    ends.emplace_back(rank_failure{});
  }
  auto const run = [&](std::size_t number) {
    auto const me = static_cast<rank_type>(number);
    try {
      thread_rendezvous at(meeting, me);
      if constexpr (std::is_void_v<result>) {
        function(at);
        ends[me] = outcome<result>(std::in_place);
      } else {
        ends[me] = outcome<result>(std::in_place, function(at));
      }
    } catch (...) {
      if (is_forced_unwind()) {
        ends[me] = unwound_failure();
        meeting.leave(me, ends[me].failure().text);
        throw;
      }
      ends[me] = current_failure();
    }
    meeting.leave(me, ends[me].failure().text);
  };
  {
    joined_threads ranks(n);
    try {
      for (rank_type me = 0; me < n; ++me) {
        ranks.start(run);
      }
    } catch (...) {
      meeting.leave(static_cast<rank_type>(ranks.size()), "no thread could be started for it");
      throw;
    }
  }
  return ends;
}

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/threads.ipp>
#endif
