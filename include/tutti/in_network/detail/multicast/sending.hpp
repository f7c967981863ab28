// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/circle.hpp>
#include <tutti/in_network/detail/multicast/passage.hpp>
#include <tutti/in_network/detail/udp/pace.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::multicast {

/// What a member does as the one that gives: sends each packet to the group once, and lost ones again, to the group,
/// and where that has not helped, to the rank. Packets that all have make room for others. A rank that is silent is
/// asked.
template <udp::port Port>
class sending {
 public:
  explicit sending(circle<Port>& to) : to_(to) { pace_.limit(to.window); }

  /// Sends what may be sent for the first time.
  void push(passage& l, std::uint32_t lane, time_point now) {
    // Until all have reported, some may be yet to begin, and lack what was sent before.
    std::uint32_t const most = l.out.front() == 0 ? to_.report_every() : to_.window;
    auto const room_after = [&](std::uint32_t more) {
      return under_way_ + more < pace_.window() || l.out.under_way() + more < always;
    };
    bool const narrow = most < to_.window || is_narrow();
    while (l.out.may_send(most) && room_after(0)) {
      bool const fills = l.out.sent() + 1 - l.out.front() >= most || !room_after(1);
      if (!send(l, lane, l.out.sent(), to_.group, narrow && fills ? note : no_flags)) {
        break;
      }
      l.out.count_sent(now);
      ++under_way_;
      ++to_.counted.sent;
    }
  }
  /// A report. False: it is about nothing that is under way.
  bool take_progress(passage& l, std::uint32_t lane, udp::packet const& p, time_point now) {
    header const& h = p.head;
    if (!l.gives() || h.fingerprint != l.fingerprint || passage::after(l.base, h.sequence)) {
      return false;  // it may be about the message before
    }
    std::uint32_t const upto = h.sequence - l.base;
    if (upto > l.out.sent()) {
      return false;
    }
    std::uint32_t const known = l.out.front_of(h.worker);
    if (h.has(udp::flag::congested)) {
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
    std::uint32_t const lost = mend(l, lane, h.worker, upto, p.payload, now);
    // A rank that has come late lacks what was sent before; otherwise this loss is a sign of congestion.
    if (known != 0 && lost > pace_.window() / 8) {
      pace_.congested(now);
    }
    return true;
  }
  /// A rank has all, as it says by other means.
  void finish(passage& l, rank_type r) noexcept {
    std::uint32_t const before = l.out.under_way();
    l.out.finish(r);
    count_confirmed(l, before);
  }
  /// Asks those that lack packets and have been silent for long.
  void ask(passage& l, std::uint32_t lane, time_point now) {
    header const h = to_.head(kind::ask, lane, l.base + l.out.sent(), l.fingerprint);
    duration const longest = pace_.retry_after();
    bool asked = false;
    l.out.each_behind([&](rank_type r) {
      if (now - l.out.silent_since(r) >= longest) {
        ++to_.counted.asked;
        to_.send(to_.all[r], h);
        l.out.contact(r, now);
        asked = true;
      }
    });
    if (asked) {
      pace_.silence();
    }
  }
  /// A message is over, or given up.
  void end(passage const& l) noexcept { under_way_ -= l.gives() ? l.out.under_way() : 0; }

 private:
  static constexpr std::uint32_t always = 4;  ///< packets that a lane may have under way, whatever others have
  static constexpr std::uint16_t no_flags = circle<Port>::no_flags;
  static constexpr std::uint16_t note = circle<Port>::note;

  bool send(passage& l, std::uint32_t lane, std::uint32_t i, typename Port::address const& to, std::uint16_t flags) {
    header h = to_.head(kind::share, lane, l.base + i, l.fingerprint);
    h.flags = flags;
    return to_.send(to, h, l.out.content(i));
  }
  /// Whether so few packets may be under way that ranks which report by count might not, and all would wait.
  [[nodiscard]] bool is_narrow() const noexcept { return pace_.window() < 2 * to_.report_every(); }
  void count_confirmed(passage const& l, std::uint32_t before) noexcept {
    for (std::uint32_t i = before - l.out.under_way(); i != 0; --i) {
      pace_.result();
      --under_way_;
    }
  }
  /// Sends again what a rank lacks, as a bitmap from packet `first` on says. Returns how many that had not been before.
  std::uint32_t mend(passage& l, std::uint32_t lane, rank_type by, std::uint32_t first,
                     std::span<std::byte const> bitmap, time_point now) {
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
          ++to_.counted.repeated;
          send(l, lane, i, to_.group, is_narrow() ? note : no_flags);
          break;
        case outgoing::repair::rank:
          ++to_.counted.alone;
          send(l, lane, i, to_.all[by], note);
          break;
      }
    }
    return lost;
  }

  circle<Port>& to_;
  udp::pace pace_;
  std::uint32_t under_way_ = 0;  ///< packets of all lanes that not all have
};

}  // namespace tutti::detail::multicast
