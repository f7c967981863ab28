// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/group_view.hpp>
#include <tutti/in_network/detail/multicast/lane_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::multicast {

/// The receiving side of a member: stores packets at their target, and reports progress every few packets, and at
/// once on a gap.
template <udp::port Port>
class receiving {
 public:
  explicit receiving(group_view<Port>& group) : group_(group) {}

  void begin(lane_state& l, std::size_t bytes) {
    l.incoming_message.begin(bytes);
    l.unreported_count = (group_.me * 5) % group_.report_every();  // ranks must not report at one time
    l.gap = false;
  }
  void set_target(lane_state& l, std::uint32_t lane, std::byte* target) {
    l.incoming_message.set_target(target);
    if (lane_state::is_after(l.known_number, l.first_number)) {  // packets arrived before their target was known
      l.early_packets.for_each([&](udp::packet const& p) { take_share(l, p); });
      l.incoming_message.learn_sent_count(l.known_number - l.first_number);
      l.gap = l.incoming_message.is_missing_packets();
      report_if_due(l, lane);
    }
  }

  /// Handles a packet of a message. False if it belongs to nothing under way, or is a duplicate.
  bool take_share(lane_state& l, udp::packet const& p) {
    std::uint32_t const number = p.head.sequence;
    if (lane_state::is_after(l.first_number, number)) {
      return false;
    }
    bool const begins_later = !lane_state::is_after(l.next_number, number);
    if (!begins_later && !is_current(l, p.head)) {
      return false;
    }
    if (begins_later || !l.incoming_message.has_target()) {
      l.learn_number(number + 1);
      return l.early_packets.add(p);
    }
    l.report_due = l.report_due || p.head.has(note);
    auto const result = l.incoming_message.store(number - l.first_number, p.payload);
    if (result == incoming::store_result::rejection) {
      return false;
    }
    l.gap = l.gap || result == incoming::store_result::beyond_gap;
    l.has_news = true;
    ++l.unreported_count;
    return true;
  }
  /// Handles a query of the sender. False if it is about nothing under way.
  bool take_query(lane_state& l, std::uint32_t lane, header const& h) {
    if (!lane_state::is_after(h.sequence, l.first_number)) {
      return false;  // this rank has confirmed that message
    }
    if (lane_state::is_after(h.sequence, l.next_number)) {
      l.learn_number(h.sequence);
      return false;
    }
    if (!is_current(l, h)) {
      return false;
    }
    if (l.incoming_message.has_target()) {
      l.incoming_message.learn_sent_count(h.sequence - l.first_number);
      report(l, lane, note);
    } else {
      l.learn_number(h.sequence);
    }
    return true;
  }

  /// Reports if a report is due.
  void report_if_due(lane_state& l, std::uint32_t lane) {
    if (l.incoming_message.has_target() && l.is_incomplete()) {
      l.gap = l.gap && l.incoming_message.is_missing_packets();  // otherwise packets have only been reordered
      if (l.gap || l.report_due || l.unreported_count >= group_.report_every()) {
        report(l, lane, group_view<Port>::no_flags);
      }
    }
  }
  /// Reports progress that has not been reported for a while.
  void report_pending(lane_state& l, std::uint32_t lane) {
    if (l.incoming_message.has_target() && l.is_incomplete() &&
        (l.incoming_message.is_missing_packets() || l.has_news)) {
      report(l, lane, note);
    }
  }

 private:
  static constexpr std::uint16_t note = group_view<Port>::note;

  /// True if a packet of the sender belongs to the message that this rank receives; records a mismatch.
  [[nodiscard]] static bool is_current(lane_state& l, header const& h) noexcept {
    if (l.current_role != lane_state::role::idle && h.fingerprint != l.fingerprint) {
      l.differing_rank = h.worker;
    }
    return l.is_receiver() && h.worker == l.root && h.fingerprint == l.fingerprint;
  }
  /// Sends the sender this rank's progress, and a bitmap of missing packets.
  void report(lane_state& l, std::uint32_t lane, std::uint16_t flags) {
    std::array<std::byte, udp::max_payload> bitmap;
    std::size_t const size = l.incoming_message.write_missing(bitmap);
    header h = group_.head(kind::progress, lane, l.first_number + l.incoming_message.front(), l.fingerprint);
    h.flags = static_cast<std::uint16_t>(flags | (l.has_ecn_mark ? udp::flag::congestion : 0));
    group_.send(group_.addresses[l.root], h, std::span(bitmap).first(size));
    ++group_.counters.reports;
    l.unreported_count = 0;
    l.has_news = l.gap = l.has_ecn_mark = l.report_due = false;
  }

  group_view<Port>& group_;
};

}  // namespace tutti::detail::multicast
