// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/rank_mailboxes.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <cstring>
#include <span>
#include <tuple>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// One rank's end of all the mailboxes of a shared segment: what the transports that go through
/// memory have in common. `Places` say where long messages are.
template <class Places>
class mailbox_endpoint : public rank_mailboxes {
 public:
  /// @param bells can `ring(rank)`
  template <rendezvous M, class Doorbells>
  mailbox_endpoint(mail_segment const& segment, M const& meet, Places const& places, Doorbells& bells,
                   sleep_barrier barrier)
      : rank_mailboxes(segment, meet.rank(), world_ranks(meet), doorbell(bells), barrier, Places::one_process),
        places_(places) {}

  [[nodiscard]] Places const& places() const noexcept { return places_; }

  /// Sends more bytes than that by saying where they are. They must stay as they are until
  /// `taken` says so. @pre more than mailbox::longest_inside: the receiver goes by the length
  sent point_to(rank_type peer, flow s, std::span<std::byte const> bytes, std::byte* back = nullptr) noexcept {
    outgoing& e = out_[index(peer, s.lane)];
    if (!has_room(peer, e)) {
      return {};
    }
    e.box->of(e.number + 1)
        .put(back == nullptr ? location{places_.of(bytes.data())}
                             : location{places_.of(bytes.data()), places_.of(back), location::lent});
    publish(peer, s, e, bytes.size());
    return {true, bytes.size(), e.number};
  }

  /// The same with the user's own bytes. The peer may write what it makes of them to `back`, unless null.
  sent share(rank_type peer, flow s, std::span<std::byte const> bytes, std::byte* back = nullptr) noexcept {
    sent const result = point_to(peer, s, bytes, back);
    if (result.accepted) {
      outgoing& e = out_[index(peer, s.lane)];
      e.shared = result.until;
      e.lent += back != nullptr ? 1U : 0U;
    }
    return result;
  }

  /// Where the peer wants what is made of the message that `view` gave, or null.
  [[nodiscard]] std::byte* home(rank_type peer, flow s) noexcept {
    incoming const& e = in_[index(peer, s.lane)];
    mailbox::slot const& m = e.box->of(e.number + 1);
    if (m.bytes <= mailbox::longest_inside) {
      return nullptr;
    }
    location const at = m.where();
    return at.how == location::lent ? places_.at(peer, at.back) : nullptr;
  }

  /// Writes them there, unless they are there. @pre holds
  sent give_back(rank_type peer, flow s, std::span<std::byte const> bytes) noexcept {
    outgoing& o = out_[index(peer, s.lane)];
    incoming& e = in_[index(peer, s.lane)];
    if (!has_room(peer, o)) {
      return {};
    }
    if (std::byte* const place = places_.at(peer, e.back); place != bytes.data()) {
      if (!foreign_.start_touching(peer, true)) {
        return {};
      }
      std::memcpy(place, bytes.data(), bytes.size());
      foreign_.stop_touching();
    }
    o.box->of(o.number + 1).put({e.back, 0, location::given_back});
    e.holds = false;
    publish(peer, s, o, bytes.size());
    return {true, bytes.size(), 0};
  }

  /// Tells the peer where the part is that it has asked for.
  void give_part(rank_type peer, std::uint32_t lane, std::byte const* copy) noexcept {
    mailbox& box = *out_[index(peer, lane)].box;
    box.copy = places_.of(copy);
    box.answered.store(box.asked.load(std::memory_order_relaxed), std::memory_order_release);
    ring_if_asleep(peer);
  }
  /// The part that this rank has asked for last; null until it is there.
  [[nodiscard]] std::byte const* part(rank_type peer, flow s) const {
    mailbox const& box = *in_[index(peer, s.lane)].box;
    bool const there = box.answered.load(std::memory_order_acquire) == box.asked.load(std::memory_order_relaxed);
    return there ? places_.at(peer, box.copy) : nullptr;
  }

  chunk view(rank_type peer, flow s) {
    incoming& e = in_[index(peer, s.lane)];
    mailbox::slot& m = e.box->of(e.number + 1);
    mailbox::slot const& next = e.box->of(e.number + 2);
    if (e.in_two) {
      __builtin_prefetch(&next);  // asked for together, two lines take hardly longer than one
    }
    if (m.number.load(std::memory_order_acquire) != e.number + 1) [[unlikely]] {
      if (!departed(peer) || m.number.load(std::memory_order_acquire) == e.number + 1) {
        return {};  // an answer that came just before the peer left is seen the next time
      }
      lost(peer);
      return {};
    }
    if (fault_->load(std::memory_order_acquire) != 0) [[unlikely]] {
      foreign_.touch_no_more();
      return {};
    }
    if (m.check != current_check(s)) [[unlikely]] {
      mismatch(peer, s, m.check);
    }
    e.in_two = mailbox::slots_of(m.bytes) == 2;
    if (m.bytes <= room) {
      return {m.payload, m.bytes};
    }
    if (e.in_two) {
      std::memcpy(e.joined, m.payload, room);
      std::memcpy(e.joined + room, next.payload, room);
      return {e.joined, m.bytes};
    }
    location const at = m.where();
    if (at.how == location::given_back) {
      return {places_.at(rank_, at.place), m.bytes};  // its own memory
    }
    if (at.how == location::lent) {
      std::ignore = places_.at(peer, at.back);  // so that `home` and `give_back` cannot fail
    }
    std::byte const* const place = places_.at(peer, at.place);
    if (!e.reads) {
      if (!foreign_.start_touching(peer, at.how == location::lent)) {
        return {};
      }
      e.reads = true;
    }
    return {place, m.bytes};
  }

 private:
  template <rendezvous M>
  static owned_array<rank_type> world_ranks(M const& meet) {
    owned_array<rank_type> all(meet.size());
    for (rank_type peer = 0; peer < meet.size(); ++peer) {
      all[peer] = world_rank(meet, peer);
    }
    return all;
  }

  [[no_unique_address]] Places places_;
};

}  // namespace tutti::detail::shared_memory
