// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/shared_memory/foreign_memory.hpp>
#include <tutti/detail/shared_memory/mail_segment.hpp>
#include <tutti/detail/shared_memory/sleep_barrier.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>

#include <concepts>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Wakes another rank, by the doorbells of the transport.
struct doorbell {
  template <class Doorbells>
    requires(!std::same_as<Doorbells, doorbell>)
  explicit doorbell(Doorbells& bells) noexcept
      : bells_(&bells), ring_([](void* b, rank_type peer) noexcept { static_cast<Doorbells*>(b)->ring(peer); }) {}

  void ring(rank_type peer) const noexcept { ring_(bells_, peer); }

 private:
  void* bells_;
  void (*ring_)(void*, rank_type) noexcept;
};

/// The mailboxes between one rank and all others of a shared segment: the part of mailbox_endpoint that does not depend
/// on the encoding of addresses.
///
/// Used by one thread at a time. Only `quiesce` and `leave` wait.
///
/// Memory order. Slots and counts: release and acquire (mailbox). Sleep: a rank writes `asleep`, then looks for
/// messages; a sender writes a message, then looks at `asleep`. One of the two must see the other's write, which
/// sleep_barrier ensures. Work in other ranks' memory: foreign_memory.
class rank_mailboxes {
 public:
  rank_mailboxes(rank_mailboxes const&) = delete;
  rank_mailboxes& operator=(rank_mailboxes const&) = delete;

  /// Leaves; the last call. Peers can still read messages in slots and chunks, and a peer that waits for more learns
  /// that none follows. If a peer has not read this rank's own memory yet, or holds a loan, leaving sets the fault, and
  /// then no rank reads anything. `has_died` as in quiesce.
  TUTTI_DECL void leave(death_check const& has_died) noexcept;

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }
  /// The number of a rank in faults and errors.
  [[nodiscard]] rank_type world_number(rank_type r) const noexcept { return world_numbers_[r]; }

  void begin(flow s, call const& own_call) noexcept {
    lane_state& lane = lanes_[s.lane];
    lane.check = check_of(own_call, s.number);
    segment_.board(rank_, s.lane).records[lane.opened_flows++ % call_board::record_count].write(own_call, s.number);
  }

  /// Sends up to mailbox::max_inline bytes, inside slots.
  send_result post(rank_type peer, flow s, std::span<std::byte const> bytes) noexcept {
    outgoing& end = outgoing_[index(peer, s.lane)];
    std::uint64_t const slot_count = mailbox::slots_needed(bytes.size());
    if (!has_free_slots(peer, end, slot_count)) {
      return {};
    }
    std::span<std::byte const> first = bytes;
    if (slot_count == 2) {
      // The second line is written first: the peer polls the other one.
      std::memcpy(end.box->slot_at(end.last + 2).payload, bytes.data() + slot_bytes, bytes.size() - slot_bytes);
      first = bytes.first(slot_bytes);
    }
    copy_short(end.box->slot_at(end.last + 1).payload, first);
    publish(peer, s, end, bytes.size());
    return {true, bytes.size(), 0};
  }

  /// The location of the long message that `view` showed.
  [[nodiscard]] std::uint64_t message_location(rank_type peer, flow s) const noexcept {
    incoming const& end = incoming_[index(peer, s.lane)];
    return end.box->slot_at(end.last + 1).get().location;
  }

  /// True if this rank holds a loan of `bytes` bytes from the peer on this flow.
  [[nodiscard]] bool has_loan(rank_type peer, flow s, std::size_t bytes) const noexcept {
    incoming const& end = incoming_[index(peer, s.lane)];
    return end.has_loan && end.loan_flow == s.number && end.loan_bytes == bytes;
  }

  /// True if `point_to`, or a `post` of one slot, would be refused now.
  [[nodiscard]] bool is_full(rank_type peer, flow s) noexcept {
    return !has_free_slots(peer, outgoing_[index(peer, s.lane)]);
  }

  /// True if the peer has released a message, or has left in order. The death of a peer is a fault instead.
  [[nodiscard]] bool acknowledged_or_gone(rank_type peer, std::uint32_t lane, ticket number) noexcept {
    return is_acknowledged(outgoing_[index(peer, lane)], number) || has_departed(peer);
  }

  /// The part of a message that the peer has requested, because it cannot read it by itself; without a request it has 0
  /// bytes.
  /// @pre the message is not acknowledged
  [[nodiscard]] mailbox::part part_to_copy(rank_type peer, std::uint32_t lane, ticket number) noexcept {
    outgoing& end = outgoing_[index(peer, lane)];
    bool const is_next = is_acknowledged(end, number - 1);
    bool const asks = is_next && end.box->parts_requested.load(std::memory_order_acquire) !=
                                     end.box->parts_supplied.load(std::memory_order_relaxed);
    return asks ? end.box->requested_part : mailbox::part{};
  }
  /// Requests a part of the message that `view` showed.
  void request_part(rank_type peer, flow s, mailbox::part request) noexcept {
    mailbox& box = *incoming_[index(peer, s.lane)].box;
    box.requested_part = request;
    box.parts_requested.store(box.parts_requested.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    ring_if_asleep(peer);
  }

  /// True if the peer has released a message. A loan is still the peer's then, until `view` shows its return.
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket number) noexcept {
    outgoing& end = outgoing_[index(peer, s.lane)];
    if (is_acknowledged(end, number)) {
      return true;
    }
    if (has_departed(peer) && !is_acknowledged(end, number)) {
      report_lost(peer);
    }
    return false;
  }

  /// Checks that the peer is not at the same flow with another call, from which no message may ever come.
  /// @throws error(failure::mismatch)
  TUTTI_DECL void detect_mismatch(rank_type peer, flow s);

  /// Publishes a wait report. After a fault the last report stays.
  TUTTI_DECL void publish_wait(wait_report const& report) noexcept;
  TUTTI_DECL bool query_wait(rank_type peer) noexcept;
  [[nodiscard]] TUTTI_DECL wait_report reported_wait(rank_type r, std::uint32_t lane) const noexcept;

  void release(rank_type peer, flow s) noexcept {
    incoming& end = incoming_[index(peer, s.lane)];
    mailbox::slot const& slot = end.box->slot_at(end.last + 1);
    if (slot.bytes > mailbox::max_inline) {
      if (long_message const target = slot.get(); target.kind != long_message::in_place) {
        account_loan(peer, s, end, slot.bytes, target);
      }
      if (end.reads_in_place) {
        end.reads_in_place = false;
        foreign_.stop_touching();
      }
    }
    end.last += mailbox::slots_needed(slot.bytes);
    end.box->released_slots.store(end.last, std::memory_order_release);
    ring_if_asleep(peer);
  }

  void sleep() noexcept {
    segment_.member(rank_).asleep.store(1, std::memory_order_relaxed);
    if (!barrier_.fence_sleeper()) [[unlikely]] {
      bell_.ring(rank_);
    }
  }
  void wake() noexcept { segment_.member(rank_).asleep.store(0, std::memory_order_relaxed); }

  [[nodiscard, gnu::always_inline]] tutti::fault fault() const noexcept {
    if (fault_->load(std::memory_order_relaxed) == 0) [[likely]] {
      return {};
    }
    return read_fault();
  }

  /// Sets the fault. A peer that left because of a fault elsewhere is not lost: that fault is set instead. Any thread
  /// and a signal handler may call this, as `fault`.
  TUTTI_DECL void revoke(tutti::fault cause) noexcept;
  /// Notes the fault that makes this rank leave.
  void announce_departure(tutti::fault const& cause) noexcept {
    segment_.member(rank_).leave_reason.store(cause.pack(), std::memory_order_relaxed);
  }

  /// True if this rank must probe for dead peers now, on behalf of all.
  [[nodiscard]] TUTTI_DECL bool claims_probe(time_point now) noexcept;

  [[nodiscard]] bool has_departed(rank_type peer) const noexcept {
    return segment_.member(peer).presence.load(std::memory_order_acquire) == member_lines::absent;
  }

  /// Returns when no living rank works in this rank's memory, nor will. Readers in other processes do no harm, and are
  /// waited for only a second: they see the fault when they continue. Returns at once without a fault, as tickets and
  /// returned loans tell when memory is free.
  TUTTI_DECL void quiesce(death_check const& has_died) noexcept;

 protected:
  using long_message = mailbox::slot::long_message;
  static constexpr std::size_t slot_bytes = mailbox::slot::capacity;

  /// `one_process`: ranks are threads, so none may read memory that another has taken back.
  TUTTI_DECL rank_mailboxes(mail_segment const& segment, rank_type rank, owned_array<rank_type> world_numbers,
                            doorbell bell, sleep_barrier barrier, bool one_process);
  ~rank_mailboxes() = default;

  struct outgoing {
    mailbox* box = nullptr;
    std::uint64_t last = 0;            ///< number of the last slot written
    std::uint64_t released_slots = 0;  ///< slots known to be released
    std::uint64_t last_shared = 0;     ///< number of the last slot with the user's own memory
    std::uint32_t loans = 0;           ///< loans that the peer has not returned; a schedule has one at a time
  };
  struct incoming {
    mailbox* box = nullptr;
    std::uint64_t last = 0;       ///< number of the last slot released
    bool reads_in_place = false;  ///< the next message is being read in place
    bool expects_two = false;     ///< the last message took two slots

    bool has_loan = false;  ///< a loan of the peer is here
    std::uint64_t loan_location = 0;
    std::size_t loan_bytes = 0;
    std::uint32_t loan_flow = 0;  ///< number of its flow

    alignas(16) std::byte joined_payload[mailbox::max_inline];  ///< message of two slots
  };
  struct lane_state {
    std::uint32_t check = 0;
    std::uint32_t opened_flows = 0;
  };

  [[nodiscard]] static std::size_t index(rank_type peer, std::uint32_t lane) noexcept {
    return std::size_t{peer} * lane_count + lane;
  }

  [[nodiscard]] static bool is_acknowledged(outgoing& end, ticket number) noexcept {
    if (number > end.released_slots) {
      end.released_slots = end.box->released_slots.load(std::memory_order_acquire);
    }
    return number <= end.released_slots;
  }

  [[nodiscard]] bool has_free_slots(rank_type peer, outgoing& end, std::uint64_t slot_count = 1) noexcept {
    if (fault_->load(std::memory_order_relaxed) != 0) [[unlikely]] {
      return false;
    }
    if (end.last - end.released_slots + slot_count <= mailbox::slot_count) [[likely]] {
      return true;
    }
    return waits_out_slots(peer, end, slot_count);
  }
  [[nodiscard]] bool waits_out_slots(rank_type peer, outgoing& end, std::uint64_t slot_count) noexcept {
    ticket const oldest = end.last + slot_count - mailbox::slot_count;
    if (is_acknowledged(end, oldest)) {
      return true;
    }
    if (has_departed(peer) && !is_acknowledged(end, oldest)) {
      report_lost(peer);
    }
    return false;
  }

  void publish(rank_type peer, flow s, outgoing& end, std::size_t bytes) noexcept {
    mailbox::slot& slot = end.box->slot_at(end.last + 1);
    slot.check = current_check(s);
    slot.bytes = static_cast<std::uint32_t>(bytes);
    slot.number.store(end.last + 1, std::memory_order_release);
    end.last += mailbox::slots_needed(bytes);
    ring_if_asleep(peer);
  }

  void ring_if_asleep(rank_type peer) noexcept {
    barrier_.fence_waker();
    if (segment_.member(peer).asleep.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      wake_up(peer);
    }
  }
  TUTTI_DECL void wake_up(rank_type peer) noexcept;
  TUTTI_DECL void ring_all() noexcept;
  [[nodiscard]] TUTTI_DECL tutti::fault read_fault() const noexcept;
  TUTTI_DECL void report_lost(rank_type peer) noexcept;
  [[nodiscard]] tutti::fault leave_reason_of(rank_type peer) const noexcept {
    return tutti::fault::unpack(segment_.member(peer).leave_reason.load(std::memory_order_relaxed));
  }

  /// Records a loan received, or one returned.
  void account_loan(rank_type peer, flow s, incoming& end, std::size_t bytes, long_message loan) noexcept {
    if (loan.kind == long_message::loan_return) {
      --outgoing_[index(peer, s.lane)].loans;
      return;
    }
    end.has_loan = true;
    end.loan_location = loan.result_location;
    end.loan_bytes = bytes;
    end.loan_flow = s.number;
  }

  /// The number of the flow is the check on the transfer lane, where messages of several kinds are under way.
  [[nodiscard]] std::uint32_t current_check(flow s) const noexcept {
    return s.lane == transfer_lane ? s.number : lanes_[s.lane].check;
  }

  [[noreturn]] TUTTI_DECL void mismatch(rank_type peer, flow s, std::uint32_t peer_check);

  mail_segment segment_;
  std::atomic<std::uint64_t>* fault_;
  owned_array<outgoing> outgoing_;
  owned_array<incoming> incoming_;
  owned_array<rank_type> world_numbers_;
  owned_array<std::uint32_t> queries_;  ///< last wait query to each rank
  lane_state lanes_[lane_count]{};
  foreign_memory foreign_;
  rank_type rank_;
  rank_type size_;
  doorbell bell_;
  sleep_barrier barrier_;
  bool one_process_;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/rank_mailboxes.ipp>
#endif
