// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/pace.hpp>
#include <tutti/detail/fpga_nic/port.hpp>
#include <tutti/detail/fpga_nic/seal.hpp>
#include <tutti/detail/multicast/early.hpp>
#include <tutti/detail/multicast/incoming.hpp>
#include <tutti/detail/multicast/outgoing.hpp>
#include <tutti/message.hpp>
#include <tutti/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::detail::multicast {

using fpga_nic::header;
using fpga_nic::kind;

/// What a member has sent to its group, and heard of it.
struct member_counters {
  std::uint64_t sent = 0;      ///< packets to the group, each for the first time
  std::uint64_t repeated = 0;  ///< that were sent again, to the group
  std::uint64_t alone = 0;     ///< that were sent again, to a rank
  std::uint64_t reports = 0;   ///< of how far this rank has come
  std::uint64_t asked = 0;     ///< questions to ranks that were silent
  std::uint64_t ignored = 0;   ///< packets that belong to nothing that is under way
};

/// One rank of a group. What it gives it sends to the group once; those that get it report how far they have come,
/// every few packets and as soon as they see a gap, and lost packets are sent again: to the group, and where that has
/// not helped, to the rank. Packets that all have make room for others. A rank that is silent is asked.
///
/// That a rank has all is told by other means, which do not lose it (`has_all`, `finish`): a rank whose last packet is
/// lost may be elsewhere by then, and never look at this port again.
///
/// Packets are numbered by lane, from one message to the next, alike on all ranks.
template <fpga_nic::port Port>
class member {
 public:
  using address = typename Port::address;

  struct terms {
    std::uint32_t nonce = 0;   ///< of the job: packets of others are ignored
    std::uint32_t window = 0;  ///< packets that are ever under way on a lane, the same on all ranks
  };

  /// @param all the addresses of the members, in rank order
  member(Port& at, terms const& t, rank_type me, std::vector<address> all, address group)
      : port_(at), terms_(t), me_(me), all_(std::move(all)), group_(group), heard_(all_.size()) {
    for (passage& l : lanes_) {
      l.out.open(terms_.window, all_.size());
      l.in.open(terms_.window);
      l.early.open(report_every());
      l.base = l.next = l.ahead = first_packet;
    }
    pace_.limit(terms_.window);
    heard_[me_] = sign_of_all;
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] member_counters const& counted() const noexcept { return counted_; }

  // --- whether the network carries packets to the group

  /// Sends a sign to the group, which tells whether this rank hears all.
  void call_out() {
    header h = head(kind::ask, sign, {});
    h.flags = hears_all() ? note : std::uint16_t{0};
    port_.send(group_, h, {});
    port_.flush();
  }
  /// Whether signs of all have come. @pre `advance` has been called
  [[nodiscard]] bool hears_all() const noexcept {
    return std::ranges::all_of(heard_, [](std::uint8_t one) { return one != no_sign; });
  }
  /// Whether the signs of all say that they hear all.
  [[nodiscard]] bool all_hear() const noexcept {
    return std::ranges::all_of(heard_, [](std::uint8_t one) { return one == sign_of_all; }) && hears_all();
  }

  // --- messages

  void begin(flow s, std::uint32_t fingerprint) noexcept {
    passage& l = lanes_[s.lane];
    l.fingerprint = fingerprint;
    l.differs = no_rank;
  }
  /// @pre a helper's share is taken once in a flow; what it does is to copy
  void take_part(flow s, helper_part const& part) {
    passage& l = lanes_[s.lane];
    l.base = l.next;
    l.next += cut{part.bytes}.count();
    raise(l.ahead, l.base);
    l.fresh = l.congested = l.is_due = false;
    l.root = no_rank;
    for (helper_worker const& w : part.workers) {
      l.root = w.gives ? w.rank : l.root;
    }
    l.does = part.worker == no_rank || part.bytes == 0 ? role::none : l.root == me_ ? role::gives : role::gets;
    if (l.does == role::gives) {
      l.out.begin(part);
    } else if (l.does == role::gets) {
      l.in.begin(part.bytes);
      l.unreported = (me_ * 5) % report_every();  // so that ranks do not report at the same time
      l.gap = false;
    }
  }
  void give(std::uint32_t lane, std::byte const* from, time_point now) {
    lanes_[lane].out.give(from);
    push(lane, now);
    port_.flush();
  }
  void want(std::uint32_t lane, std::byte* place, time_point now) {
    passage& l = lanes_[lane];
    l.in.want(place);
    if (after(l.ahead, l.base)) {  // packets came before it was known what to do with them
      l.early.each([&](fpga_nic::packet const& p) { take_share(l, p); });
      l.in.hear_of(l.ahead - l.base);
      l.gap = l.in.lacks();
      go_on(lane, now);
      port_.flush();
    }
  }
  [[nodiscard]] bool is_wanted(std::uint32_t lane) const noexcept { return lanes_[lane].in.is_wanted(); }
  [[nodiscard]] chunk view(std::uint32_t lane, std::size_t granule) noexcept { return lanes_[lane].in.view(granule); }
  void release(std::uint32_t lane) noexcept { lanes_[lane].in.release(); }
  /// Whether this rank has all of what it gets.
  [[nodiscard]] bool has_all(std::uint32_t lane) const noexcept {
    return lanes_[lane].does == role::gets && lanes_[lane].in.over();
  }
  /// A rank that has not said that it has all of what this one has sent all of; no_rank: there is none.
  [[nodiscard]] rank_type unfinished(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.does == role::gives && l.out.all_sent() && !l.out.over() ? l.out.unfinished() : no_rank;
  }
  /// That rank has all.
  void finish(std::uint32_t lane, rank_type r) noexcept {
    passage& l = lanes_[lane];
    std::uint32_t const before = l.out.under_way();
    l.out.finish(r);
    count_confirmed(l, before);
  }
  /// Whether all ranks have what this one has given.
  [[nodiscard]] bool over(std::uint32_t lane) const noexcept {
    return lanes_[lane].does != role::gives || lanes_[lane].out.over();
  }
  void end(flow s) noexcept {
    passage& l = lanes_[s.lane];
    if (l.does == role::gives) {
      under_way_ -= l.out.under_way();
    }
    l.does = role::none;
    l.base = l.next;
  }

  /// The rank that a lane waits for, or no_rank.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.does == role::gives ? l.out.last() : missing_root(lane);
  }
  /// The rank that gives, if this one lacks something of it; or no_rank.
  [[nodiscard]] rank_type missing_root(std::uint32_t lane) const noexcept {
    passage const& l = lanes_[lane];
    return l.does == role::gets && !l.in.over() ? l.root : no_rank;
  }
  /// Calls f(lane, rank) for all that lack packets of this rank's.
  template <class F>
  void each_behind(F f) const {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      if (lanes_[lane].does == role::gives) {
        lanes_[lane].out.each_behind([&](rank_type r) { f(lane, r); });
      }
    }
  }
  /// A rank that said something else about a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differs(std::uint32_t lane) const noexcept { return lanes_[lane].differs; }

  /// Takes what has come, and goes on with it; looks, if it is time to.
  void advance(time_point now) {
    // Others may send as fast as this rank reads.
    for (int rounds = 16; rounds != 0; --rounds) {
      if (port_.drain([&](address const& from, std::span<std::byte const> bytes, bool congested) {
            take(from, bytes, congested, now);
          }) == 0) {
        break;
      }
    }
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      go_on(lane, now);
    }
    if (now - looked_ >= between_looks) {
      look(now);
    }
    port_.flush();
  }
  /// Reports what has not been, and asks those that are silent.
  void look(time_point now) {
    looked_ = now;
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      passage& l = lanes_[lane];
      if (l.does == role::gets && l.in.is_wanted() && !l.in.over() && (l.in.lacks() || l.fresh)) {
        report(lane, note);
      } else if (l.does == role::gives && l.out.under_way() != 0) {
        ask(lane, now);
      }
    }
    port_.flush();
  }
  /// Forgets all memory of the user.
  void drop() noexcept {
    for (passage& l : lanes_) {
      l.does = role::none;
      l.base = l.next;
    }
    under_way_ = 0;
  }

 private:
  static constexpr duration between_looks = std::chrono::milliseconds(2);
  static constexpr std::uint16_t no_flags = 0;
  static constexpr std::uint16_t sign = collective_lanes;  ///< in place of a lane
  /// A flag: of a share, "report now"; of a report, "not at once", so it measures no round trip; of a sign, "I hear
  /// all".
  static constexpr std::uint16_t note = fpga_nic::flag::phase;
  /// Numbers begin anew soon, so every program tries that.
  static constexpr std::uint32_t first_packet = 0U - 100U;
  static constexpr std::uint8_t no_sign = 0;      ///< what is known of a rank: nothing,
  static constexpr std::uint8_t a_sign = 1;       ///< that it is heard,
  static constexpr std::uint8_t sign_of_all = 2;  ///< and that it hears all
  static constexpr std::uint32_t always = 4;      ///< packets that a lane may have under way, whatever others have

  enum class role : std::uint8_t { none, gives, gets };
  struct passage {
    outgoing out{};
    incoming in{};
    multicast::early early{};
    std::uint32_t base = 0;   ///< the number of the first packet of the message
    std::uint32_t next = 0;   ///< of the next message's
    std::uint32_t ahead = 0;  ///< packets before this number are said to have been sent
    std::uint32_t fingerprint = 0;
    rank_type root = no_rank;
    rank_type differs = no_rank;
    role does = role::none;
    // of a rank that gets:
    std::uint32_t unreported = 0;  ///< packets that have come since the last report
    bool fresh = false;            ///< some have
    bool gap = false;              ///< a packet has come before one that was sent earlier
    bool congested = false;        ///< some came marked by ECN
    bool is_due = false;           ///< the one that gives wants a report now
  };

  /// Of numbers that begin anew after the largest.
  [[nodiscard]] static bool after(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) > 0;
  }
  static void raise(std::uint32_t& ahead, std::uint32_t to) noexcept { ahead = after(to, ahead) ? to : ahead; }

  /// Packets after which a rank reports: rarely where there are many, but often enough to keep the window open.
  [[nodiscard]] std::uint32_t report_every() const noexcept {
    auto const rarely = std::max(16U, static_cast<std::uint32_t>(all_.size()) / 2);
    return std::min(rarely, std::max(1U, terms_.window / 4));
  }
  [[nodiscard]] header head(kind k, std::uint32_t lane, passage const& l) const noexcept {
    return {.kind = k,
            .operation = network_operation::copy,
            .job = terms_.nonce,
            .sequence = l.base,
            .fingerprint = l.fingerprint,
            .slot = static_cast<std::uint16_t>(lane),
            .worker = static_cast<std::uint8_t>(me_),
            .workers = static_cast<std::uint8_t>(all_.size())};
  }

  // --- what comes

  void take(address const& from, std::span<std::byte const> bytes, bool congested, time_point now) {
    fpga_nic::packet p;
    header const& h = p.head;
    if (seal_.read(bytes, p) != fpga_nic::reading::good || h.job != terms_.nonce || h.workers != all_.size() ||
        h.slot > sign || !(from == all_[h.worker])) {
      ++counted_.ignored;
      return;
    }
    if (h.worker == me_) {
      return;  // a group gives back what is sent to it
    }
    if (h.slot == sign) {
      heard_[h.worker] = h.has(note) ? sign_of_all : std::max(heard_[h.worker], a_sign);
      return;
    }
    bool used = false;
    switch (h.kind) {
      case kind::share:
        lanes_[h.slot].congested = lanes_[h.slot].congested || congested;
        used = take_share(lanes_[h.slot], p);
        break;
      case kind::progress:
        used = take_progress(h.slot, p, now);
        break;
      case kind::ask:
        used = take_question(h.slot, h);
        break;
      default:
        break;
    }
    counted_.ignored += used ? 0 : 1;
  }

  /// Whether a packet of the one that gives belongs to the message that this rank gets, and can be used.
  [[nodiscard]] static bool is_current(passage& l, header const& h) noexcept {
    if (l.does != role::none && h.fingerprint != l.fingerprint) {
      l.differs = h.worker;
    }
    return l.does == role::gets && h.worker == l.root && h.fingerprint == l.fingerprint;
  }

  bool take_share(passage& l, fpga_nic::packet const& p) {
    std::uint32_t const q = p.head.sequence;
    if (after(l.base, q)) {
      return false;
    }
    bool const begins_later = !after(l.next, q);
    if (!begins_later && !is_current(l, p.head)) {
      return false;
    }
    if (begins_later || !l.in.is_wanted()) {
      raise(l.ahead, q + 1);
      return l.early.keep(p);
    }
    l.is_due = l.is_due || p.head.has(note);
    auto const what = l.in.put(q - l.base, p.payload);
    if (what == incoming::taking::ignored) {
      return false;
    }
    l.gap = l.gap || what == incoming::taking::beyond_gap;
    l.fresh = true;
    ++l.unreported;
    return true;
  }

  bool take_progress(std::uint32_t lane, fpga_nic::packet const& p, time_point now) {
    passage& l = lanes_[lane];
    header const& h = p.head;
    if (l.does != role::gives || h.fingerprint != l.fingerprint || after(l.base, h.sequence)) {
      return false;  // it may be about the message before
    }
    std::uint32_t const upto = h.sequence - l.base;
    if (upto > l.out.sent()) {
      return false;
    }
    std::uint32_t const known = l.out.front_of(h.worker);
    if (h.has(fpga_nic::flag::congested)) {
      pace_.congested(now);
    }
    l.out.contact(h.worker, now);
    if (known != 0 && known < upto && !h.has(note)) {  // else it may have begun only now
      if (time_point const sent = l.out.sent_once_at(upto - 1); sent != time_point{}) {
        pace_.answered(now - sent);
      }
    }
    std::uint32_t const before = l.out.under_way();
    l.out.confirm(h.worker, upto);
    count_confirmed(l, before);
    std::uint32_t const lost = mend(lane, h.worker, upto, p.payload, now);
    // A rank that has come late lacks what was sent before; otherwise this loss is a sign of congestion.
    if (known != 0 && lost > pace_.window() / 8) {
      pace_.congested(now);
    }
    return true;
  }
  /// @param before packets that were under way
  void count_confirmed(passage const& l, std::uint32_t before) noexcept {
    for (std::uint32_t i = before - l.out.under_way(); i != 0; --i) {
      pace_.result();
      --under_way_;
    }
  }
  /// Sends again what a rank lacks, as a bitmap from packet `first` on says. Returns how many that had not been before.
  std::uint32_t mend(std::uint32_t lane, rank_type by, std::uint32_t first, std::span<std::byte const> bitmap,
                     time_point now) {
    passage& l = lanes_[lane];
    std::uint32_t lost = 0;
    for (std::uint32_t k = 0; k != bitmap.size() * 8; ++k) {
      std::uint32_t const i = first + k;
      bool const lacks = (bitmap[k / 8] & std::byte{1} << k % 8) != std::byte{0};
      if (!lacks || i < l.out.front() || i >= l.out.sent()) {
        continue;
      }
      switch (l.out.mend(i, now, pace_.patience())) {
        case outgoing::repair::none:
          break;
        case outgoing::repair::group:
          ++lost;
          ++counted_.repeated;
          send(lane, i, group_, is_narrow() ? note : no_flags);
          break;
        case outgoing::repair::rank:
          ++counted_.alone;
          send(lane, i, all_[by], note);
          break;
      }
    }
    return lost;
  }

  bool take_question(std::uint32_t lane, header const& h) {
    passage& l = lanes_[lane];
    if (!after(h.sequence, l.base)) {
      return false;  // this rank has all of that message, and has said so
    }
    if (after(h.sequence, l.next)) {
      raise(l.ahead, h.sequence);
      return false;
    }
    if (!is_current(l, h)) {
      return false;
    }
    if (l.in.is_wanted()) {
      l.in.hear_of(h.sequence - l.base);
      report(lane, note);
    } else {
      raise(l.ahead, h.sequence);
    }
    return true;
  }

  // --- what goes

  bool send(std::uint32_t lane, std::uint32_t i, address const& to, std::uint16_t flags) {
    passage& l = lanes_[lane];
    auto const content = l.out.content(i);
    header h = head(kind::share, lane, l);
    h.sequence += i;
    h.length = static_cast<std::uint16_t>(content.size());
    h.flags = flags;
    return port_.send(to, h, content);
  }
  /// Sends what may be sent for the first time.
  void push(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    // Until all have reported, some may be yet to begin, and lack what was sent before.
    std::uint32_t const most = l.out.front() == 0 ? report_every() : terms_.window;
    auto const room_after = [&](std::uint32_t more) {
      return under_way_ + more < pace_.window() || l.out.under_way() + more < always;
    };
    bool const narrow = most < terms_.window || is_narrow();
    while (l.out.may_send(most) && room_after(0)) {
      bool const fills = l.out.sent() + 1 - l.out.front() >= most || !room_after(1);
      if (!send(lane, l.out.sent(), group_, narrow && fills ? note : no_flags)) {
        break;
      }
      l.out.count_sent(now);
      ++under_way_;
      ++counted_.sent;
    }
  }
  /// Whether so few packets may be under way that ranks which report by count might not, and all would wait.
  [[nodiscard]] bool is_narrow() const noexcept { return pace_.window() < 2 * report_every(); }
  void go_on(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    if (l.does == role::gives) {
      push(lane, now);
    } else if (l.does == role::gets && l.in.is_wanted() && !l.in.over()) {
      l.gap = l.gap && l.in.lacks();  // else they have only come in another order
      if (l.gap || l.is_due || l.unreported >= report_every()) {
        report(lane, no_flags);
      }
    }
  }
  /// Tells the one that gives how far this rank has come, and what it lacks.
  void report(std::uint32_t lane, std::uint16_t flags) {
    passage& l = lanes_[lane];
    std::array<std::byte, fpga_nic::most_payload> bitmap;
    std::size_t const size = l.in.write_lacking(bitmap);
    header h = head(kind::progress, lane, l);
    h.sequence += l.in.front();
    h.length = static_cast<std::uint16_t>(size);
    h.flags = static_cast<std::uint16_t>(flags | (l.congested ? fpga_nic::flag::congested : 0));
    port_.send(all_[l.root], h, std::span(bitmap).first(size));
    ++counted_.reports;
    l.unreported = 0;
    l.fresh = l.gap = l.congested = l.is_due = false;
  }
  /// Those that lack packets and have been silent for long.
  void ask(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    header h = head(kind::ask, lane, l);
    h.sequence += l.out.sent();
    duration const longest = pace_.timeout();
    bool asked = false;
    l.out.each_behind([&](rank_type r) {
      if (now - l.out.silent_since(r) >= longest) {
        ++counted_.asked;
        port_.send(all_[r], h, {});
        l.out.contact(r, now);
        asked = true;
      }
    });
    if (asked) {
      pace_.silence();
    }
  }

  Port& port_;
  terms terms_;
  rank_type me_;
  std::vector<address> all_;
  address group_;
  fpga_nic::seal seal_;
  fpga_nic::pace pace_;
  time_point looked_{};
  std::uint32_t under_way_ = 0;  ///< packets of all lanes that not all have
  std::array<passage, collective_lanes> lanes_;
  std::vector<std::uint8_t> heard_;  ///< by rank: what its signs have said
  member_counters counted_;
};

}  // namespace tutti::detail::multicast
