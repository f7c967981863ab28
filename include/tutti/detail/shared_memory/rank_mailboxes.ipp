// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/shared_memory/rank_mailboxes.hpp>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL rank_mailboxes::rank_mailboxes(mail_segment const& segment, rank_type rank, owned_array<rank_type> known_as,
                                          doorbell bell, sleep_barrier barrier, bool one_process)
    : segment_(segment),
      fault_(&segment.fault()),
      out_(std::size_t{segment.size()} * lane_count),
      in_(std::size_t{segment.size()} * lane_count),
      known_as_(static_cast<owned_array<rank_type>&&>(known_as)),
      questions_(segment.size()),
      foreign_(segment, rank),
      rank_(rank),
      size_(segment.size()),
      bell_(bell),
      barrier_(barrier),
      one_process_(one_process) {
  for (rank_type peer = 0; peer < size_; ++peer) {
    questions_[peer] = 0;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      out_[index(peer, lane)].box = &segment_.box(rank_, peer, lane);
      in_[index(peer, lane)].box = &segment_.box(peer, rank_, lane);
    }
  }
}

TUTTI_DECL void rank_mailboxes::leave(liveness const& lives) noexcept {
  for (std::size_t i = 0; i < std::size_t{size_} * lane_count; ++i) {
    if (outgoing& e = out_[i]; e.lent != 0 || !acknowledged(e, e.shared)) {
      tutti::fault const reason = reason_of(rank_);
      revoke(reason ? reason : tutti::fault{failure::cancelled, known_as(rank_), known_as(rank_)});
      break;
    }
  }
  quiesce(lives);
  foreign_.touch_no_more();
  segment_.member(rank_).presence.store(member_lines::left, std::memory_order_release);
  ring_all();
}

TUTTI_DECL void rank_mailboxes::inquire(rank_type peer, flow s) {
  std::uint32_t theirs = 0;
  if (s.lane != transfer_lane && segment_.board(peer, s.lane).differs(s.number, current_check(s), theirs)) {
    mismatch(peer, s, theirs);
  }
}

TUTTI_DECL void rank_mailboxes::say(wait_report const& w) noexcept {
  if (!fault()) {
    segment_.waits(rank_).say(w);
  }
}
TUTTI_DECL bool rank_mailboxes::ask(rank_type peer) noexcept {
  questions_[peer] = segment_.waits(peer).ask();
  return true;
}
TUTTI_DECL wait_report rank_mailboxes::said(rank_type r, std::uint32_t lane) const noexcept {
  return segment_.waits(r).said(lane, questions_[r]);
}

TUTTI_DECL void rank_mailboxes::revoke(tutti::fault why) noexcept {
  std::uint64_t none = 0;
  for (rank_type r = 0; why.kind == failure::peer_lost && r < size_; ++r) {
    if (known_as(r) == why.culprit && departed(r) && reason_of(r)) {
      why = reason_of(r);
    }
  }
  if (why) {
    fault_->compare_exchange_strong(none, why.pack(), std::memory_order_acq_rel);
    ring_all();
  }
}

TUTTI_DECL bool rank_mailboxes::takes_look(time_point now) noexcept {
  return segment_.looks().take(now, size_);
}

TUTTI_DECL void rank_mailboxes::quiesce(liveness const& lives) noexcept {
  if (fault()) {
    foreign_.quiesce(lives, one_process_ ? no_deadline : steady_now() + std::chrono::seconds(1));
  }
}

/// One ring is enough to wake it; the others need not make the system call.
TUTTI_DECL void rank_mailboxes::wake_up(rank_type peer) noexcept {
  if (segment_.member(peer).asleep.exchange(0, std::memory_order_relaxed) != 0) {
    uncancelled const while_ringing;
    bell_.ring(peer);
  }
}
TUTTI_DECL void rank_mailboxes::ring_all() noexcept {
  for (rank_type r = 0; r < size_; ++r) {
    ring_if_asleep(r);
  }
}

TUTTI_DECL void rank_mailboxes::lost(rank_type peer) noexcept {
  revoke({failure::peer_lost, known_as(peer), known_as(rank_)});
}

TUTTI_DECL void rank_mailboxes::mismatch(rank_type peer, flow s, std::uint32_t theirs) {
  rank_type const self = known_as(rank_);
  rank_type const them = known_as(peer);
  revoke({failure::mismatch, them, self});
  if (s.lane == transfer_lane) {
    throw messages_differ(self, them);
  }
  throw calls_differ(self, segment_.board(rank_, s.lane).describe(lanes_[s.lane].check), them,
                     segment_.board(peer, s.lane).describe(theirs));
}

}  // namespace tutti::detail::shared_memory
