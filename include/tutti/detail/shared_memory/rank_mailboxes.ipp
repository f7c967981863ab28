// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/shared_memory/rank_mailboxes.hpp>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL rank_mailboxes::rank_mailboxes(mail_segment const& segment, rank_type rank,
                                          owned_array<rank_type> world_numbers, doorbell bell, sleep_barrier barrier,
                                          bool one_process)
    : segment_(segment),
      fault_(&segment.fault()),
      outgoing_(std::size_t{segment.size()} * lane_count),
      incoming_(std::size_t{segment.size()} * lane_count),
      world_numbers_(static_cast<owned_array<rank_type>&&>(world_numbers)),
      queries_(segment.size()),
      foreign_(segment, rank),
      rank_(rank),
      size_(segment.size()),
      bell_(bell),
      barrier_(barrier),
      one_process_(one_process) {
  for (rank_type peer = 0; peer < size_; ++peer) {
    queries_[peer] = 0;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      outgoing_[index(peer, lane)].box = &segment_.box(rank_, peer, lane);
      incoming_[index(peer, lane)].box = &segment_.box(peer, rank_, lane);
    }
  }
}

TUTTI_DECL void rank_mailboxes::leave(death_check const& has_died) noexcept {
  for (std::size_t i = 0; i < std::size_t{size_} * lane_count; ++i) {
    if (outgoing& end = outgoing_[i]; end.loans != 0 || !is_acknowledged(end, end.last_shared)) {
      tutti::fault const reason = leave_reason_of(rank_);
      revoke(reason ? reason : tutti::fault{failure::cancelled, world_number(rank_), world_number(rank_)});
      break;
    }
  }
  quiesce(has_died);
  foreign_.touch_no_more();
  segment_.member(rank_).presence.store(member_lines::absent, std::memory_order_release);
  ring_all();
}

TUTTI_DECL void rank_mailboxes::detect_mismatch(rank_type peer, flow s) {
  std::uint32_t peer_check = 0;
  if (s.lane != transfer_lane && segment_.board(peer, s.lane).differs(s.number, current_check(s), peer_check)) {
    mismatch(peer, s, peer_check);
  }
}

TUTTI_DECL void rank_mailboxes::publish_wait(wait_report const& report) noexcept {
  if (!fault()) {
    segment_.waiting(rank_).publish_wait(report);
  }
}
TUTTI_DECL bool rank_mailboxes::query_wait(rank_type peer) noexcept {
  queries_[peer] = segment_.waiting(peer).query_wait();
  return true;
}
TUTTI_DECL wait_report rank_mailboxes::reported_wait(rank_type r, std::uint32_t lane) const noexcept {
  return segment_.waiting(r).last_report(lane, queries_[r]);
}

TUTTI_DECL void rank_mailboxes::revoke(tutti::fault cause) noexcept {
  std::uint64_t no_fault = 0;
  for (rank_type r = 0; cause.kind == failure::peer_lost && r < size_; ++r) {
    if (world_number(r) == cause.culprit && has_departed(r) && leave_reason_of(r)) {
      cause = leave_reason_of(r);
    }
  }
  if (cause.kind == failure::aborted) {
    segment_.member(rank_).abort.write(cause);
    fault_->compare_exchange_strong(no_fault, cause.pack(), std::memory_order_release, std::memory_order_relaxed);
  } else if (cause) {
    fault_->compare_exchange_strong(no_fault, cause.pack(), std::memory_order_relaxed);
  }
  if (cause) {
    ring_all();
  }
}
/// The fault that is set, with the reason if it is an abort.
TUTTI_DECL tutti::fault rank_mailboxes::read_fault() const noexcept {
  tutti::fault cause = tutti::fault::unpack(fault_->load(std::memory_order_relaxed));
  if (cause.kind == failure::aborted) {
    static_cast<void>(fault_->load(std::memory_order_acquire));  // the note was written before the word
    for (rank_type r = 0; r < size_ && !segment_.member(r).abort.read(cause); ++r) {
    }
  }
  return cause;
}

TUTTI_DECL bool rank_mailboxes::claims_probe(time_point now) noexcept {
  return segment_.probes().take(now, size_);
}

TUTTI_DECL void rank_mailboxes::quiesce(death_check const& has_died) noexcept {
  if (fault()) {
    foreign_.quiesce(has_died, one_process_ ? no_deadline : steady_now() + std::chrono::seconds(1));
  }
}

/// Rings once: other ranks save the system call.
TUTTI_DECL void rank_mailboxes::wake_up(rank_type peer) noexcept {
  if (segment_.member(peer).asleep.exchange(0, std::memory_order_relaxed) != 0) {
    cancellation_shield const while_ringing;
    bell_.ring(peer);
  }
}
TUTTI_DECL void rank_mailboxes::ring_all() noexcept {
  for (rank_type r = 0; r < size_; ++r) {
    ring_if_asleep(r);
  }
}

TUTTI_DECL void rank_mailboxes::report_lost(rank_type peer) noexcept {
  revoke({failure::peer_lost, world_number(peer), world_number(rank_)});
}

TUTTI_DECL void rank_mailboxes::mismatch(rank_type peer, flow s, std::uint32_t peer_check) {
  rank_type const self = world_number(rank_);
  rank_type const other = world_number(peer);
  revoke({failure::mismatch, other, self});
  if (s.lane == transfer_lane) {
    throw messages_differ(self, other);
  }
  throw calls_differ(self, segment_.board(rank_, s.lane).describe(lanes_[s.lane].check), other,
                     segment_.board(peer, s.lane).describe(peer_check));
}

}  // namespace tutti::detail::shared_memory
