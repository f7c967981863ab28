// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/circle.hpp>
#include <tutti/in_network/detail/multicast/passage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::multicast {

/// What a member does as one that gets: puts packets where they are wanted, and reports how far it has come, every few
/// packets and as soon as it sees a gap.
template <udp::port Port>
class receiving {
 public:
  explicit receiving(circle<Port>& of) : of_(of) {}

  void begin(passage& l, std::size_t bytes) {
    l.in.begin(bytes);
    l.unreported = (of_.me * 5) % of_.report_every();  // so that ranks do not report at the same time
    l.gap = false;
  }
  void want(passage& l, std::uint32_t lane, std::byte* place) {
    l.in.want(place);
    if (passage::after(l.ahead, l.base)) {  // packets came before it was known what to do with them
      l.early.each([&](udp::packet const& p) { take_share(l, p); });
      l.in.hear_of(l.ahead - l.base);
      l.gap = l.in.lacks();
      go_on(l, lane);
    }
  }

  /// A packet of the message. False: it belongs to nothing that is under way, or is there.
  bool take_share(passage& l, udp::packet const& p) {
    std::uint32_t const q = p.head.sequence;
    if (passage::after(l.base, q)) {
      return false;
    }
    bool const begins_later = !passage::after(l.next, q);
    if (!begins_later && !is_current(l, p.head)) {
      return false;
    }
    if (begins_later || !l.in.is_wanted()) {
      l.hear_of(q + 1);
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
  /// The one that gives asks. False: about nothing that is under way.
  bool take_question(passage& l, std::uint32_t lane, header const& h) {
    if (!passage::after(h.sequence, l.base)) {
      return false;  // this rank has all of that message, and has said so
    }
    if (passage::after(h.sequence, l.next)) {
      l.hear_of(h.sequence);
      return false;
    }
    if (!is_current(l, h)) {
      return false;
    }
    if (l.in.is_wanted()) {
      l.in.hear_of(h.sequence - l.base);
      report(l, lane, note);
    } else {
      l.hear_of(h.sequence);
    }
    return true;
  }

  /// Reports, if it is time to.
  void go_on(passage& l, std::uint32_t lane) {
    if (l.in.is_wanted() && l.lacks()) {
      l.gap = l.gap && l.in.lacks();  // else they have only come in another order
      if (l.gap || l.is_due || l.unreported >= of_.report_every()) {
        report(l, lane, circle<Port>::no_flags);
      }
    }
  }
  /// Reports what has not been reported for a while.
  void look(passage& l, std::uint32_t lane) {
    if (l.in.is_wanted() && l.lacks() && (l.in.lacks() || l.fresh)) {
      report(l, lane, note);
    }
  }

 private:
  static constexpr std::uint16_t note = circle<Port>::note;

  /// Whether a packet of the one that gives belongs to the message that this rank gets, and can be used.
  [[nodiscard]] static bool is_current(passage& l, header const& h) noexcept {
    if (l.does != passage::role::none && h.fingerprint != l.fingerprint) {
      l.differs = h.worker;
    }
    return l.gets() && h.worker == l.root && h.fingerprint == l.fingerprint;
  }
  /// Tells the one that gives how far this rank has come, and what it lacks.
  void report(passage& l, std::uint32_t lane, std::uint16_t flags) {
    std::array<std::byte, udp::most_payload> bitmap;
    std::size_t const size = l.in.write_lacking(bitmap);
    header h = of_.head(kind::progress, lane, l.base + l.in.front(), l.fingerprint);
    h.flags = static_cast<std::uint16_t>(flags | (l.congested ? udp::flag::congested : 0));
    of_.send(of_.all[l.root], h, std::span(bitmap).first(size));
    ++of_.counted.reports;
    l.unreported = 0;
    l.fresh = l.gap = l.congested = l.is_due = false;
  }

  circle<Port>& of_;
};

}  // namespace tutti::detail::multicast
