// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/relative.hpp>
#include <tutti/detail/core/monitor.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// The list of related communicators that exist now. Destroyed with the last of them.
class relative::family {
 public:
  void add_reference() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  monitor lock;
  relative* first = nullptr;

 private:
  std::atomic<std::uint32_t> holders_{1};
};

TUTTI_DECL relative::relative(rank_state& state, rank_state const* whole)
    : state_(state),
      family_(whole != nullptr ? whole->kin->family_ : intrusive_pointer<family>(new family)),
      world_local_(whole != nullptr ? whole->kin->world_local_ : world_local()) {
  world_local_.begin_world();
  if (whole != nullptr) {
    for (rank_type const r : state.parent_ranks) {
      in_world_.push_back(whole->kin->in_world(r));
    }
  }
  monitor_lock const lock(family_->lock);
  next_ = family_->first;
  family_->first = this;
  state.kin = this;
}

/// A forked child tells no peer, and never locks: a thread that it lacks may hold the lock.
TUTTI_DECL relative::~relative() {
  if (state_.is_inherited()) {
    return;
  }
  {
    monitor_lock const lock(family_->lock);
    relative** link = &family_->first;
    while (*link != this) {
      link = &(*link)->next_;
    }
    *link = next_;
  }
  if (tutti::fault const cause = reason_to_leave()) {
    state_.transport.announce_departure(cause);
  }
}

TUTTI_DECL void relative::tell(tutti::fault const& cause) noexcept {
  if (state_.is_inherited()) {
    return;
  }
  monitor_lock const lock(family_->lock);
  for (relative* r = family_->first; r != nullptr; r = r->next_) {
    std::uint64_t const now = r->state_.recent.start_count();
    if (r != this && (!r->reason_ || r->noted_at_ != now)) {
      r->reason_ = r->translate(cause, *this);
      r->noted_at_ = now;
    }
  }
}

TUTTI_DECL tutti::fault relative::reason_to_leave() const noexcept {
  monitor_lock const lock(family_->lock);
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
