// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/relative.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cerrno>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

namespace tutti::inline v0_1_0::detail::inline communicator {

// --- family

// A walk reads the list without the lock, as a signal handler must. `remove` unlinks a communicator, then waits until
// no walk is under way that may have found it before; the order of all these accesses is sequentially consistent.
template <class F>
void family::for_each(F f) noexcept {
  walkers_.fetch_add(1);
  for (relative* member = first_.load(); member != nullptr; member = member->next_.load()) {
    f(*member);
  }
  walkers_.fetch_sub(1);
}

TUTTI_DECL void family::abort(rank_type rank, std::string_view reason) noexcept {
  if (fork_guard::forked_since(fork_generation_) || has_cause_.exchange(true)) {
    return;
  }
  int const system_error = errno;
  int cancel_state = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  cause_ = tutti::fault::abort(rank, rank, reason);
  is_aborted_.store(true);
  for_each([this](relative& member) { member.end_soon(cause_); });
  ::pthread_setcancelstate(cancel_state, nullptr);
  errno = system_error;
}

TUTTI_DECL void family::add(relative& member) noexcept {
  {
    monitor_lock const lock(lock_);
    member.next_.store(first_.load());
    first_.store(&member);
  }
  if (is_aborted_.load()) {  // by a walk that may have missed it
    member.end_soon(cause_);
  }
}

TUTTI_DECL void family::remove(relative& member) noexcept {
  {
    monitor_lock const lock(lock_);
    std::atomic<relative*>* link = &first_;
    while (link->load() != &member) {
      link = &link->load()->next_;
    }
    link->store(member.next_.load());
  }
  while (walkers_.load() != 0) {
    ::sched_yield();
  }
}

// --- relative

TUTTI_DECL relative::relative(rank_state& state, rank_state const* whole)
    : state_(state),
      family_(whole != nullptr ? whole->kin->family_ : intrusive_pointer<family>(new family(state.rank))),
      world_local_(whole != nullptr ? whole->kin->world_local_ : world_local()) {
  world_local_.begin_world();
  if (whole != nullptr) {
    for (rank_type const r : state.parent_ranks) {
      in_world_.push_back(whole->kin->in_world(r));
    }
  }
  state.kin = this;
  static_cast<void>(state.enter());
  family_->add(*this);
}

/// A forked child tells no peer, and never locks: a thread that it lacks may hold the lock.
TUTTI_DECL relative::~relative() {
  if (state_.is_inherited()) {
    return;
  }
  family_->remove(*this);
  state_.carry_out_abort();
  if (tutti::fault const cause = reason_to_leave()) {
    state_.transport.announce_departure(cause);
  }
}

TUTTI_DECL void relative::tell(tutti::fault const& cause) noexcept {
  if (state_.is_inherited()) {
    return;
  }
  if (cause.kind == failure::aborted) {
    note_abort(cause);
    return spread_abort();
  }
  monitor_lock const lock(family_->lock_);
  for (relative* r = family_->first_.load(); r != nullptr; r = r->next_.load()) {
    std::uint64_t const now = r->state_.recent.start_count();
    if (r != this && (!r->reason_ || r->noted_at_ != now)) {
      r->reason_ = r->translate(cause, *this);
      r->noted_at_ = now;
    }
  }
}

TUTTI_DECL void relative::end_soon(tutti::fault const& cause_in_world) noexcept {
  tutti::fault cause = cause_in_world;
  cause.culprit = from_world(cause.reporter);
  state_.transport.revoke_in_memory(cause);
  state_.is_aborted.store(true, std::memory_order_release);
}

TUTTI_DECL void relative::carry_out_abort() noexcept {
  state_.is_aborted.exchange(false, std::memory_order_acquire);
  tutti::fault cause = family_->cause_;
  cause.culprit = from_world(cause.reporter);
  try {
    state_.transport.revoke(cause);
  } catch (...) {
  }
}

TUTTI_DECL void relative::look_for_abort() noexcept {
  family_->for_each([this](relative& member) {
    static_cast<void>(member.state_.serve_idle());
    note_abort(member.state_.transport.fault_in_memory());
  });
  spread_abort();
}

TUTTI_DECL bool relative::is_aborted() const noexcept {
  return family_->is_aborted_.load();
}

TUTTI_DECL void relative::note_abort(tutti::fault const& cause) noexcept {
  if (cause.kind == failure::aborted) {
    family_->abort(cause.reporter, bounded_text(cause.reason));
  }
}

TUTTI_DECL void relative::abort(std::string_view reason) noexcept {
  cancellation_shield const shield(cancellation_shield::points::silent);
  family_->abort(reason);
  spread_abort();
}

TUTTI_DECL void relative::spread_abort() noexcept {
  constexpr duration limit = std::chrono::milliseconds(100);  // connections to further ranks may have to be made
  if (!is_aborted()) {
    return;
  }
  bool const is_first = !family_->is_spread_.exchange(true);
  for (time_point const begin = steady_now();;) {
    bool is_done = true;
    family_->for_each([&](relative& member) { is_done = member.state_.serve_idle() && is_done; });
    if (is_done || !is_first || steady_now() - begin > limit) {
      return;
    }
    ::poll(nullptr, 0, 1);
  }
}

TUTTI_DECL tutti::fault relative::reason_to_leave() const noexcept {
  monitor_lock const lock(family_->lock_);
  return reason_ && noted_at_ == state_.recent.start_count() ? reason_ : tutti::fault{};
}

TUTTI_DECL rank_type relative::from_world(rank_type r) const noexcept {
  for (rank_type local = 0; r != no_rank && local < state_.size(); ++local) {
    if (in_world(local) == r) {
      return local;
    }
  }
  return no_rank;
}

/// The fault in the numbers of this communicator. If the ranks at fault are no members, it is that this rank gave up
/// its operations here.
TUTTI_DECL tutti::fault relative::translate(tutti::fault const& cause, relative const& origin) const noexcept {
  tutti::fault result = cause;
  result.elsewhere = true;
  result.culprit = from_world(origin.in_world(cause.culprit));
  result.reporter = from_world(origin.in_world(cause.reporter));
  result.circle = 0;
  for (rank_type r = 0; r < origin.state_.size(); ++r) {
    if ((cause.circle & tutti::fault::bit_of(r)) != 0) {
      result.circle |= tutti::fault::bit_of(from_world(origin.in_world(r)));
    }
  }
  bool const has_both = result.culprit != no_rank && result.reporter != no_rank;
  bool const names_culprits = cause.circle != 0                 ? result.circle != 0
                              : cause.kind == failure::mismatch ? has_both
                                                                : result.culprit != no_rank;
  return names_culprits ? result : tutti::fault{failure::cancelled, state_.rank, state_.rank, 0, 0, true};
}

}  // namespace tutti::detail::communicator
