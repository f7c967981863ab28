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

TUTTI_DECL relative::relative(rank_state& here, rank_state const* whole)
    : here_(here),
      family_(whole != nullptr ? whole->kin->family_ : intrusive_pointer<family>(new family)),
      kinship_(whole != nullptr ? whole->kin->kinship_ : kinship()) {
  kinship_.found();
  if (whole != nullptr) {
    for (rank_type const r : here.parent_ranks) {
      in_world_.push_back(whole->kin->in_world(r));
    }
  }
  held const lock(family_->lock);
  next_ = family_->first;
  family_->first = this;
  here.kin = this;
}

/// A forked child tells no peer, and never locks: a thread that it lacks may hold the lock.
TUTTI_DECL relative::~relative() {
  if (here_.inherited()) {
    return;
  }
  {
    held const lock(family_->lock);
    relative** at = &family_->first;
    while (*at != this) {
      at = &(*at)->next_;
    }
    *at = next_;
  }
  if (tutti::fault const why = reason_to_leave()) {
    here_.any.announce_departure(why);
  }
}

TUTTI_DECL void relative::tell(tutti::fault const& why) noexcept {
  if (here_.inherited()) {
    return;
  }
  held const lock(family_->lock);
  for (relative* r = family_->first; r != nullptr; r = r->next_) {
    std::uint64_t const now = r->here_.recent.started();
    if (r != this && (!r->reason_ || r->noted_at_ != now)) {
      r->reason_ = r->translated(why, *this);
      r->noted_at_ = now;
    }
  }
}

TUTTI_DECL tutti::fault relative::reason_to_leave() const noexcept {
  held const lock(family_->lock);
  return reason_ && noted_at_ == here_.recent.started() ? reason_ : tutti::fault{};
}

TUTTI_DECL rank_type relative::from_world(rank_type r) const noexcept {
  for (rank_type mine = 0; r != no_rank && mine < here_.size(); ++mine) {
    if (in_world(mine) == r) {
      return mine;
    }
  }
  return no_rank;
}

/// The fault in the numbers of this communicator. If the ranks at fault are no members, it is that this rank gave up
/// its operations here.
TUTTI_DECL tutti::fault relative::translated(tutti::fault const& why, relative const& from) const noexcept {
  tutti::fault f = why;
  f.elsewhere = true;
  f.culprit = from_world(from.in_world(why.culprit));
  f.reporter = from_world(from.in_world(why.reporter));
  f.circle = 0;
  for (rank_type r = 0; r < from.here_.size(); ++r) {
    if ((why.circle & tutti::fault::bit_of(r)) != 0) {
      f.circle |= tutti::fault::bit_of(from_world(from.in_world(r)));
    }
  }
  bool const both = f.culprit != no_rank && f.reporter != no_rank;
  bool const named = why.circle != 0 ? f.circle != 0 : why.kind == failure::mismatch ? both : f.culprit != no_rank;
  return named ? f : tutti::fault{failure::cancelled, here_.rank, here_.rank, 0, 0, true};
}

}  // namespace tutti::detail::communicator
