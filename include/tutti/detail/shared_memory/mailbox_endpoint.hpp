// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/rank_mailboxes.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <cstring>
#include <span>
#include <tuple>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// All mailboxes of one rank in a shared segment, as the transports through memory use them. `Locations` encodes the
/// addresses of long messages (shared_locations).
///
/// A message is lent (`share` with a place for the result) if its schedule says that the peer sends it back, if it has
/// 512 bytes or more (outbox), and if the peer can reach both the message and that place. Otherwise it is sent, and
/// sent back.
///
///     lender:    share ---> the borrower owns message and place ---> view: loan_return ---> its own again
///     borrower:  view: loan ---> may write the result at `result_place`, before release ---> release
///                ---> give_back: copies the result unless it is there, and sends loan_return
///
/// `release` and `is_released` say that the borrower has read the message. Only loan_return says that the block is
/// back.
template <class Locations>
class mailbox_endpoint : public rank_mailboxes {
 public:
  /// @param bells has `ring(rank)`
  template <rendezvous M, class Doorbells>
  mailbox_endpoint(mail_segment const& segment, M const& meet, Locations const& locations, Doorbells& bells,
                   sleep_barrier barrier)
      : rank_mailboxes(segment, meet.rank(), world_ranks(meet), doorbell(bells), barrier, Locations::one_process),
        locations_(locations) {}

  [[nodiscard]] Locations const& locations() const noexcept { return locations_; }

  /// Sends the location of a message, which must not change until `acknowledged_or_gone`. @pre more bytes than
  /// mailbox::max_inline, by which the receiver recognises a location
  send_result point_to(rank_type peer, flow s, std::span<std::byte const> bytes,
                       std::byte* result_place = nullptr) noexcept {
    outgoing& end = outgoing_[index(peer, s.lane)];
    if (!has_free_slots(peer, end)) {
      return {};
    }
    end.box->slot_at(end.last + 1)
        .set(result_place == nullptr
                 ? long_message{locations_.encode(bytes.data())}
                 : long_message{locations_.encode(bytes.data()), locations_.encode(result_place), long_message::loan});
    publish(peer, s, end, bytes.size());
    return {true, bytes.size(), end.last};
  }

  /// Sends the location of the user's own bytes. With a `result_place` they are lent: the peer may write its result
  /// there.
  send_result share(rank_type peer, flow s, std::span<std::byte const> bytes,
                    std::byte* result_place = nullptr) noexcept {
    send_result const result = point_to(peer, s, bytes, result_place);
    if (result.is_accepted) {
      outgoing& end = outgoing_[index(peer, s.lane)];
      end.last_shared = result.release_ticket;
      end.loans += result_place != nullptr ? 1U : 0U;
    }
    return result;
  }

  /// The place where the peer wants the result of the message that `view` showed, or null.
  [[nodiscard]] std::byte* result_place(rank_type peer, flow s) noexcept {
    incoming const& end = incoming_[index(peer, s.lane)];
    mailbox::slot const& slot = end.box->slot_at(end.last + 1);
    if (slot.bytes <= mailbox::max_inline) {
      return nullptr;
    }
    long_message const target = slot.get();
    return target.kind == long_message::loan ? locations_.decode(peer, target.result_location) : nullptr;
  }

  /// Returns a loan: writes the result to its place, unless it was made there. @pre has_loan
  send_result give_back(rank_type peer, flow s, std::span<std::byte const> bytes) noexcept {
    outgoing& to_peer = outgoing_[index(peer, s.lane)];
    incoming& from_peer = incoming_[index(peer, s.lane)];
    if (!has_free_slots(peer, to_peer)) {
      return {};
    }
    if (std::byte* const place = locations_.decode(peer, from_peer.loan_location); place != bytes.data()) {
      if (!foreign_.start_touching(peer, true)) {
        return {};
      }
      std::memcpy(place, bytes.data(), bytes.size());
      foreign_.stop_touching();
    }
    to_peer.box->slot_at(to_peer.last + 1).set({from_peer.loan_location, 0, long_message::loan_return});
    from_peer.has_loan = false;
    publish(peer, s, to_peer, bytes.size());
    return {true, bytes.size(), 0};
  }

  /// Tells the peer the location of the part that it has requested.
  void give_part(rank_type peer, std::uint32_t lane, std::byte const* copy) noexcept {
    mailbox& box = *outgoing_[index(peer, lane)].box;
    box.part_copy = locations_.encode(copy);
    box.parts_supplied.store(box.parts_requested.load(std::memory_order_relaxed), std::memory_order_release);
    ring_if_asleep(peer);
  }
  /// The part that this rank has requested last, or null while it is not supplied.
  [[nodiscard]] std::byte const* part(rank_type peer, flow s) const {
    mailbox const& box = *incoming_[index(peer, s.lane)].box;
    bool const is_supplied =
        box.parts_supplied.load(std::memory_order_acquire) == box.parts_requested.load(std::memory_order_relaxed);
    return is_supplied ? locations_.decode(peer, box.part_copy) : nullptr;
  }

  [[nodiscard]] bool has_message(rank_type peer, flow s) noexcept {
    incoming const& end = incoming_[index(peer, s.lane)];
    return end.box->slot_at(end.last + 1).number.load(std::memory_order_relaxed) == end.last + 1;  // `view` acquires
  }
  chunk view(rank_type peer, flow s) {
    incoming& end = incoming_[index(peer, s.lane)];
    mailbox::slot& slot = end.box->slot_at(end.last + 1);
    mailbox::slot const& next = end.box->slot_at(end.last + 2);
    if (end.expects_two) {
      __builtin_prefetch(&next);  // two lines together take hardly longer than one
    }
    if (slot.number.load(std::memory_order_acquire) != end.last + 1) [[unlikely]] {
      if (!has_departed(peer) || slot.number.load(std::memory_order_relaxed) == end.last + 1) {
        return {};  // a message from just before the peer left is seen by the next call
      }
      report_lost(peer);
      return {};
    }
    if (fault_->load(std::memory_order_relaxed) != 0) [[unlikely]] {
      foreign_.touch_no_more();
      return {};
    }
    if (slot.check != current_check(s)) [[unlikely]] {
      mismatch(peer, s, slot.check);
    }
    end.expects_two = mailbox::slots_needed(slot.bytes) == 2;
    if (slot.bytes <= slot_bytes) {
      return {slot.payload, slot.bytes};
    }
    if (end.expects_two) {
      std::memcpy(end.joined_payload, slot.payload, slot_bytes);
      std::memcpy(end.joined_payload + slot_bytes, next.payload, slot_bytes);
      return {end.joined_payload, slot.bytes};
    }
    long_message const target = slot.get();
    if (target.kind == long_message::loan_return) {
      return {locations_.decode(rank_, target.location), slot.bytes};  // in its own memory
    }
    if (target.kind == long_message::loan) {
      std::ignore =
          locations_.decode(peer, target.result_location);  // maps it now: `result_place` and `give_back` may not throw
    }
    std::byte const* const place = locations_.decode(peer, target.location);
    if (!end.reads_in_place) {
      if (!foreign_.start_touching(peer, target.kind == long_message::loan)) {
        return {};
      }
      end.reads_in_place = true;
    }
    return {place, slot.bytes};
  }

 private:
  template <rendezvous M>
  static owned_array<rank_type> world_ranks(M const& meet) {
    owned_array<rank_type> numbers(meet.size());
    for (rank_type peer = 0; peer < meet.size(); ++peer) {
      numbers[peer] = world_rank(meet, peer);
    }
    return numbers;
  }

  [[no_unique_address]] Locations locations_;
};

}  // namespace tutti::detail::shared_memory
