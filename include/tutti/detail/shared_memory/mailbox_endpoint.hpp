// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/shared_memory/foreign_memory.hpp>
#include <tutti/detail/shared_memory/mail_segment.hpp>
#include <tutti/detail/shared_memory/sleep_barrier.hpp>
#include <tutti/error.hpp>
#include <tutti/message.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/time.hpp>

#include <span>
#include <string>
#include <tuple>

namespace tutti::detail {

/// One rank's end of all the mailboxes of a shared segment: what the transports that go through
/// memory have in common. `Doorbells` can `ring(rank)`; `Places` say where long messages are.
///
/// Used by one thread at a time. No call waits, except `quiesce`.
///
/// Memory order. A rank that sleeps writes `asleep`, then looks for messages; a rank with a message writes it,
/// then looks at `asleep`. One of the two must see the other's write: sleep_barrier sees to that.
/// What works in others' memory is told in foreign_memory. All else is release and acquire on the word that says
/// something is there.
template <class Doorbells, class Places>
class mailbox_endpoint {
 public:
  template <rendezvous M>
  mailbox_endpoint(mail_segment const& segment, M const& meet, Places const& places, Doorbells& bells,
                   sleep_barrier barrier)
      : segment_(segment),
        fault_(&segment.fault()),
        places_(places),
        out_(std::size_t{meet.size()} * lane_count),
        in_(std::size_t{meet.size()} * lane_count),
        known_as_(meet.size()),
        questions_(meet.size()),
        foreign_(segment, meet.rank()),
        rank_(meet.rank()),
        size_(meet.size()),
        bells_(&bells),
        barrier_(barrier) {
    for (rank_type peer = 0; peer < size_; ++peer) {
      known_as_[peer] = world_rank(meet, peer);
      questions_[peer] = 0;
      for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
        out_[index(peer, lane)].box = &segment_.box(rank_, peer, lane);
        in_[index(peer, lane)].box = &segment_.box(peer, rank_, lane);
      }
    }
  }
  mailbox_endpoint(mailbox_endpoint const&) = delete;
  mailbox_endpoint& operator=(mailbox_endpoint const&) = delete;

  /// The last call. What was sent can still be read, and whoever waits for more learns that it will
  /// not come. Messages that peers have yet to read in this rank's memory are taken back, which is a
  /// fault. `lives` as in quiesce.
  template <class Lives>
  void leave(Lives&& lives) noexcept {
    for (std::size_t i = 0; i < std::size_t{size_} * lane_count; ++i) {
      if (outgoing& e = out_[i]; e.lent != 0 || !acknowledged(e, e.shared)) {
        revoke({failure::cancelled, known_as(rank_), known_as(rank_)});
        break;
      }
    }
    quiesce(lives);
    foreign_.touch_no_more();
    segment_.member(rank_).presence.store(member_lines::left, std::memory_order_release);
    ring_all();
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }
  [[nodiscard]] Places const& places() const noexcept { return places_; }
  /// By which number a rank goes in faults and errors.
  [[nodiscard]] rank_type known_as(rank_type r) const noexcept { return known_as_[r]; }

  void begin(flow s, call const& what) noexcept {
    lane_state& l = lanes_[s.lane];
    l.check = check_of(what, s.number);
    segment_.board(rank_, s.lane).records[l.opened++ % call_board::kept].write(what, s.number);
  }

  /// Sends up to mailbox::longest_inside bytes by copying them.
  sent post(rank_type peer, flow s, std::span<std::byte const> bytes) noexcept {
    outgoing& e = out_[index(peer, s.lane)];
    std::uint64_t const slots = mailbox::slots_of(bytes.size());
    if (!has_room(peer, e, slots)) {
      return {};
    }
    std::span<std::byte const> first = bytes;
    if (slots == 2) {
      // The second line is written first: the peer asks for the other one all the time.
      std::memcpy(e.box->of(e.number + 2).payload, bytes.data() + room, bytes.size() - room);
      first = bytes.first(room);
    }
    copy_short(e.box->of(e.number + 1).payload, first);
    publish(peer, s, e, bytes.size());
    return {true, bytes.size(), 0};
  }

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

  /// The place of the long message that `view` gave.
  [[nodiscard]] std::uint64_t place(rank_type peer, flow s) const noexcept {
    incoming const& e = in_[index(peer, s.lane)];
    return e.box->of(e.number + 1).where().place;
  }

  /// Whether the peer has lent this many bytes on this flow, and not got them back.
  [[nodiscard]] bool holds(rank_type peer, flow s, std::size_t bytes) const noexcept {
    incoming const& e = in_[index(peer, s.lane)];
    return e.holds && e.held_for == s.number && e.held_bytes == bytes;
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

  /// Whether `point_to`, or a `post` of one slot, would be refused now.
  [[nodiscard]] bool full(rank_type peer, flow s) noexcept { return !has_room(peer, out_[index(peer, s.lane)]); }

  /// Whether the peer needs a message no longer: it has released it, or is gone.
  [[nodiscard]] bool taken(rank_type peer, std::uint32_t lane, ticket k) noexcept {
    return acknowledged(out_[index(peer, lane)], k) || departed(peer);
  }

  [[nodiscard]] bool released(rank_type peer, flow s, ticket k) noexcept {
    outgoing& e = out_[index(peer, s.lane)];
    if (acknowledged(e, k)) {
      return true;
    }
    if (departed(peer) && !acknowledged(e, k)) {
      lost(peer);
    }
    return false;
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
    if (m.check != check(s)) [[unlikely]] {
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

  /// Whether the peer is at the same flow with another call, of which no message may ever come here.
  /// @throws error(failure::mismatch)
  void inquire(rank_type peer, flow s) {
    std::uint32_t theirs = 0;
    if (s.lane != transfer_lane && segment_.board(peer, s.lane).differs(s.number, check(s), theirs)) {
      mismatch(peer, s, theirs);
    }
  }

  /// After a fault there is nothing to answer: what led to it stays.
  void say(wait_report const& w) noexcept {
    if (!fault()) {
      segment_.waits(rank_).say(w);
    }
  }
  bool ask(rank_type peer) noexcept {
    questions_[peer] = segment_.waits(peer).ask();
    return true;
  }
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept {
    return segment_.waits(r).said(lane, questions_[r]);
  }

  void release(rank_type peer, flow s) noexcept {
    incoming& e = in_[index(peer, s.lane)];
    mailbox::slot const& m = e.box->of(e.number + 1);
    if (m.bytes > mailbox::longest_inside) {
      if (location const at = m.where(); at.how != location::shared) {
        settle(peer, s, e, m.bytes, at);
      }
      if (e.reads) {
        e.reads = false;
        foreign_.stop_touching();
      }
    }
    e.number += mailbox::slots_of(m.bytes);
    e.box->taken.store(e.number, std::memory_order_release);
    ring_if_asleep(peer);
  }

  void sleep() noexcept {
    segment_.member(rank_).asleep.store(1, std::memory_order_relaxed);
    barrier_.sleeper();
  }
  void wake() noexcept { segment_.member(rank_).asleep.store(0, std::memory_order_relaxed); }

  [[nodiscard, gnu::always_inline]] tutti::fault fault() const noexcept {
    std::uint64_t const word = fault_->load(std::memory_order_acquire);
    return word == 0 ? tutti::fault{} : tutti::fault::unpack(word);
  }

  void revoke(tutti::fault why) noexcept {
    std::uint64_t none = 0;
    if (why) {
      fault_->compare_exchange_strong(none, why.pack(), std::memory_order_acq_rel);
      ring_all();
    }
  }

  /// Whether this rank is to look for dead peers now, on behalf of all.
  [[nodiscard]] bool takes_look(time_point now) noexcept { return segment_.looks().take(now, size_); }

  [[nodiscard]] bool departed(rank_type peer) const noexcept {
    return segment_.member(peer).presence.load(std::memory_order_acquire) == member_lines::left;
  }

  /// Returns when no rank for which `lives(rank)` holds works in this rank's memory, nor will; or when readers that can
  /// do no harm, as they are other processes, have not ended in a second: they learn of the fault when they go on.
  /// Without a fault there is nothing to wait for: tickets say when memory is free.
  template <class Lives>
  void quiesce(Lives&& lives) noexcept {
    if (fault()) {
      foreign_.quiesce(lives, Places::one_process ? no_deadline : steady_now() + std::chrono::seconds(1));
    }
  }

 private:
  using location = mailbox::slot::location;
  static constexpr std::size_t room = mailbox::slot::room;

  struct outgoing {
    mailbox* box = nullptr;
    std::uint64_t number = 0;  ///< of the last slot written
    std::uint64_t taken = 0;   ///< how many slots are known to have been released
    std::uint64_t shared = 0;  ///< the last one that is the user's own memory
    std::uint32_t lent = 0;    ///< how many of these the peer has yet to give back
  };
  struct incoming {
    mailbox* box = nullptr;
    std::uint64_t number = 0;  ///< of the last slot released
    bool reads = false;        ///< the next one is being read where it is
    bool in_two = false;       ///< the last one that was seen took two slots, and the next one may

    bool holds = false;  ///< it has been lent a message:
    std::uint64_t back = 0;
    std::size_t held_bytes = 0;
    std::uint32_t held_for = 0;  ///< the number of the flow

    alignas(16) std::byte joined[mailbox::longest_inside];  ///< what came in two slots
  };
  struct lane_state {
    std::uint32_t check = 0;
    std::uint32_t opened = 0;
  };

  [[nodiscard]] static std::size_t index(rank_type peer, std::uint32_t lane) noexcept {
    return std::size_t{peer} * lane_count + lane;
  }

  [[nodiscard]] static bool acknowledged(outgoing& e, ticket k) noexcept {
    if (k > e.taken) {
      e.taken = e.box->taken.load(std::memory_order_acquire);
    }
    return k <= e.taken;
  }

  [[nodiscard]] bool has_room(rank_type peer, outgoing& e, std::uint64_t slots = 1) noexcept {
    if (fault_->load(std::memory_order_acquire) != 0) [[unlikely]] {
      return false;
    }
    if (e.number - e.taken + slots <= mailbox::slots) [[likely]] {
      return true;
    }
    return released_slots(peer, e, slots);
  }
  [[nodiscard]] bool released_slots(rank_type peer, outgoing& e, std::uint64_t slots) noexcept {
    ticket const oldest = e.number + slots - mailbox::slots;
    if (acknowledged(e, oldest)) {
      return true;
    }
    if (departed(peer) && !acknowledged(e, oldest)) {
      lost(peer);
    }
    return false;
  }

  void publish(rank_type peer, flow s, outgoing& e, std::size_t bytes) noexcept {
    mailbox::slot& m = e.box->of(e.number + 1);
    m.check = check(s);
    m.bytes = static_cast<std::uint32_t>(bytes);
    m.number.store(e.number + 1, std::memory_order_release);
    e.number += mailbox::slots_of(bytes);
    ring_if_asleep(peer);
  }

  void ring_if_asleep(rank_type peer) noexcept {
    barrier_.waker();
    std::atomic<std::uint32_t>& asleep = segment_.member(peer).asleep;
    if (asleep.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      // One ring is enough to wake it; the others need not make the system call.
      if (asleep.exchange(0, std::memory_order_relaxed) != 0) {
        bells_->ring(peer);
      }
    }
  }
  void ring_all() noexcept {
    for (rank_type r = 0; r < size_; ++r) {
      ring_if_asleep(r);
    }
  }

  void lost(rank_type peer) noexcept { revoke({failure::peer_lost, known_as(peer), known_as(rank_)}); }

  /// Books a message that was lent to this rank, or given back to it.
  void settle(rank_type peer, flow s, incoming& e, std::size_t bytes, location at) noexcept {
    if (at.how == location::given_back) {
      --out_[index(peer, s.lane)].lent;
      return;
    }
    e.holds = true;
    e.back = at.back;
    e.held_bytes = bytes;
    e.held_for = s.number;
  }

  /// On the transfer lane the number itself is the check: messages of several kinds are under way there.
  [[nodiscard]] std::uint32_t check(flow s) const noexcept {
    return s.lane == transfer_lane ? s.number : lanes_[s.lane].check;
  }

  [[noreturn]] void mismatch(rank_type peer, flow s, std::uint32_t theirs) {
    rank_type const self = known_as(rank_);
    rank_type const them = known_as(peer);
    revoke({failure::mismatch, them, self});
    if (s.lane == transfer_lane) {
      throw messages_differ(self, them);
    }
    throw calls_differ(self, segment_.board(rank_, s.lane).describe(lanes_[s.lane].check), them,
                       segment_.board(peer, s.lane).describe(theirs));
  }

  mail_segment segment_;
  std::atomic<std::uint64_t>* fault_;
  [[no_unique_address]] Places places_;
  owned_array<outgoing> out_;
  owned_array<incoming> in_;
  owned_array<rank_type> known_as_;
  owned_array<std::uint32_t> questions_;  ///< the last one to each rank
  lane_state lanes_[lane_count]{};
  foreign_memory foreign_;
  rank_type rank_;
  rank_type size_;
  Doorbells* bells_;
  sleep_barrier barrier_;
};

}  // namespace tutti::detail
