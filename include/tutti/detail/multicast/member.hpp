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
    }
    pace_.limit(terms_.window);
    heard_[me_] = 1;
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] member_counters const& counted() const noexcept { return counted_; }

  // --- whether the network carries packets to the group

  /// Sends a sign to the group.
  void call_out() {
    header h = head(kind::ask, sign, {});
    port_.send(group_, h, {});
    port_.flush();
  }
  /// Whether signs of all have come. @pre `advance` has been called
  [[nodiscard]] bool hears_all() const noexcept {
    return std::ranges::all_of(heard_, [](std::uint8_t one) { return one != 0; });
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
    l.fresh = l.congested = false;
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
    lanes_[lane].moved = now;
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
    return l.does == role::gives ? l.out.last() : l.does == role::gets ? (l.in.over() ? no_rank : l.root) : no_rank;
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
  /// A rank has left: it needs nothing of this lane any more.
  void excuse(std::uint32_t lane, rank_type r) noexcept {
    passage& l = lanes_[lane];
    std::uint32_t const before = l.out.under_way();
    l.out.excuse(r);
    under_way_ -= before - l.out.under_way();
  }
  /// A rank that said something else about a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differs(std::uint32_t lane) const noexcept { return lanes_[lane].differs; }

  /// Takes what has come, and goes on with it; looks, if it is time to.
  void advance(time_point now) {
    while (port_.drain([&](address const&, std::span<std::byte const> bytes, bool congested) {
      take(bytes, congested, now);
    }) != 0) {
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
      if (l.does == role::gets && l.in.is_wanted() && (l.in.lacks() || l.fresh)) {
        report(lane);
      } else if (l.does == role::gives && l.out.under_way() != 0 && now - l.moved >= pace_.timeout()) {
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
  static constexpr std::uint16_t sign = collective_lanes;  ///< in place of a lane
  static constexpr int last_reports = 3;
  static constexpr std::uint32_t always = 4;  ///< packets that a lane may have under way, whatever others have

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
    // of the one that gives:
    time_point moved{};  ///< something was heard of those that lack packets, or asked of them
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

  void take(std::span<std::byte const> bytes, bool congested, time_point now) {
    fpga_nic::packet p;
    header const& h = p.head;
    if (seal_.read(bytes, p) != fpga_nic::reading::good || h.job != terms_.nonce || h.workers != all_.size() ||
        h.slot > sign) {
      ++counted_.ignored;
      return;
    }
    if (h.worker == me_) {
      return;  // a group gives back what is sent to it
    }
    if (h.slot == sign) {
      heard_[h.worker] = 1;
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
    std::uint32_t const known = l.out.front_of(h.worker);
    if (h.has(fpga_nic::flag::congested)) {
      pace_.congested(now);
    }
    if (known < upto && upto <= l.out.sent()) {
      if (time_point const sent = l.out.sent_once_at(upto - 1); sent != time_point{}) {
        pace_.answered(now - sent);
      }
    }
    std::uint32_t const before = l.out.under_way();
    l.out.confirm(h.worker, upto);
    for (std::uint32_t i = before - l.out.under_way(); i != 0; --i) {
      pace_.result();
      --under_way_;
      l.moved = now;
    }
    std::uint32_t const lost = mend(lane, h.worker, upto, p.payload, now);
    // A rank that has come late lacks what was sent before; else that so much is lost is a sign of congestion.
    if (known != 0 && lost > pace_.window() / 8) {
      pace_.congested(now);
    }
    return true;
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
      l.moved = now;
      switch (l.out.mend(i, now, pace_.patience())) {
        case outgoing::repair::none:
          break;
        case outgoing::repair::group:
          ++lost;
          ++counted_.repeated;
          send(lane, i, group_);
          break;
        case outgoing::repair::rank:
          ++counted_.alone;
          send(lane, i, all_[by]);
          break;
      }
    }
    return lost;
  }

  bool take_question(std::uint32_t lane, header const& h) {
    passage& l = lanes_[lane];
    if (!after(h.sequence, l.base)) {  // this rank has all of that message; its last report was lost
      header r = head(kind::progress, lane, l);
      r.fingerprint = h.fingerprint;
      port_.send(all_[h.worker], r, {});
      return true;
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
      report(lane);
    } else {
      raise(l.ahead, h.sequence);
    }
    return true;
  }

  // --- what goes

  bool send(std::uint32_t lane, std::uint32_t i, address const& to) {
    passage& l = lanes_[lane];
    auto const content = l.out.content(i);
    header h = head(kind::share, lane, l);
    h.sequence += i;
    h.length = static_cast<std::uint16_t>(content.size());
    return port_.send(to, h, content);
  }
  /// Sends what may be sent for the first time.
  void push(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    // Until all have reported, some may be yet to begin, and lack what was sent before.
    std::uint32_t const most = l.out.front() == 0 ? report_every() : terms_.window;
    while (l.out.may_send(most) && (under_way_ < pace_.window() || l.out.under_way() < always) &&
           send(lane, l.out.sent(), group_)) {
      l.moved = l.out.under_way() == 0 ? now : l.moved;
      l.out.count_sent(now);
      ++under_way_;
      ++counted_.sent;
    }
  }
  void go_on(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    if (l.does == role::gives) {
      push(lane, now);
    } else if (l.does == role::gets && l.in.is_wanted()) {
      l.gap = l.gap && l.in.lacks();  // else they have only come in another order
      if (l.gap || l.unreported >= report_every() || (l.fresh && l.in.over())) {
        report(lane);
      }
    }
  }
  /// Tells the one that gives how far this rank has come, and what it lacks. The last report is sent twice: the other
  /// one waits for it, and this rank may not be there to be asked.
  void report(std::uint32_t lane) {
    passage& l = lanes_[lane];
    std::array<std::byte, fpga_nic::most_payload> bitmap;
    std::size_t const size = l.in.write_lacking(bitmap);
    header h = head(kind::progress, lane, l);
    h.sequence += l.in.front();
    h.length = static_cast<std::uint16_t>(size);
    h.flags = l.congested ? fpga_nic::flag::congested : std::uint16_t{0};
    for (int copies = l.in.over() ? last_reports : 1; copies != 0; --copies) {
      port_.send(all_[l.root], h, std::span(bitmap).first(size));
    }
    ++counted_.reports;
    l.unreported = 0;
    l.fresh = l.gap = l.congested = false;
  }
  void ask(std::uint32_t lane, time_point now) {
    passage& l = lanes_[lane];
    header h = head(kind::ask, lane, l);
    h.sequence += l.out.sent();
    l.out.each_behind([&](rank_type r) {
      ++counted_.asked;
      port_.send(all_[r], h, {});
    });
    l.moved = now;
    pace_.silence();
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
  std::vector<std::uint8_t> heard_;  ///< by rank: whether a sign of it has come
  member_counters counted_;
};

}  // namespace tutti::detail::multicast
