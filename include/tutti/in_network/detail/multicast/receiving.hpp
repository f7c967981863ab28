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

  void begin(lane_state& state, std::size_t bytes) {
    state.incoming_message.begin(bytes);
    state.unreported_count = (group_.me * 5) % group_.report_every();  // ranks must not report at one time
    state.gap = false;
  }
  void set_target(lane_state& state, std::uint32_t lane, std::byte* target) {
    state.incoming_message.set_target(target);
    if (lane_state::is_after(state.known_number,
                             state.first_number)) {  // packets arrived before their target was known
      state.early_packets.for_each([&](udp::packet const& p) { take_share(state, p); });
      state.incoming_message.learn_sent_count(state.known_number - state.first_number);
      state.gap = state.incoming_message.is_missing_packets();
      report_if_due(state, lane);
    }
  }

  /// Handles a packet of a message. False if it belongs to nothing under way, or is a duplicate.
  bool take_share(lane_state& state, udp::packet const& p) {
    std::uint32_t const number = p.head.sequence;
    if (lane_state::is_after(state.first_number, number)) {
      return false;
    }
    bool const begins_later = !lane_state::is_after(state.next_number, number);
    if (!begins_later && !is_current(state, p.head)) {
      return false;
    }
    if (begins_later || !state.incoming_message.has_target()) {
      state.learn_number(number + 1);
      return state.early_packets.add(p);
    }
    state.report_due = state.report_due || p.head.has(note);
    auto const result = state.incoming_message.store(number - state.first_number, p.payload);
    if (result == incoming::store_result::rejection) {
      return false;
    }
    state.gap = state.gap || result == incoming::store_result::beyond_gap;
    state.has_news = true;
    ++state.unreported_count;
    return true;
  }
  /// Handles a query of the sender. False if it is about nothing under way.
  bool take_query(lane_state& state, std::uint32_t lane, header const& h) {
    if (!lane_state::is_after(h.sequence, state.first_number)) {
      return false;  // this rank has confirmed that message
    }
    if (lane_state::is_after(h.sequence, state.next_number)) {
      state.learn_number(h.sequence);
      return false;
    }
    if (!is_current(state, h)) {
      return false;
    }
    if (state.incoming_message.has_target()) {
      state.incoming_message.learn_sent_count(h.sequence - state.first_number);
      report(state, lane, note);
    } else {
      state.learn_number(h.sequence);
    }
    return true;
  }

  /// Reports if a report is due.
  void report_if_due(lane_state& state, std::uint32_t lane) {
    if (state.incoming_message.has_target() && state.is_incomplete()) {
      state.gap =
          state.gap && state.incoming_message.is_missing_packets();  // otherwise packets have only been reordered
      if (state.gap || state.report_due || state.unreported_count >= group_.report_every()) {
        report(state, lane, group_view<Port>::no_flags);
      }
    }
  }
  /// Reports progress that has not been reported for a while.
  void report_pending(lane_state& state, std::uint32_t lane) {
    if (state.incoming_message.has_target() && state.is_incomplete() &&
        (state.incoming_message.is_missing_packets() || state.has_news)) {
      report(state, lane, note);
    }
  }

 private:
  static constexpr std::uint16_t note = group_view<Port>::note;

  /// True if a packet of the sender belongs to the message that this rank receives; records a mismatch.
  [[nodiscard]] static bool is_current(lane_state& state, header const& h) noexcept {
    if (state.current_role != lane_state::role::idle && h.fingerprint != state.fingerprint) {
      state.differing_rank = h.worker;
    }
    return state.is_receiver() && h.worker == state.root && h.fingerprint == state.fingerprint;
  }
  /// Sends the sender this rank's progress, and a bitmap of missing packets.
  void report(lane_state& state, std::uint32_t lane, std::uint16_t flags) {
    std::array<std::byte, udp::max_payload> bitmap;
    std::size_t const size = state.incoming_message.write_missing(bitmap);
    header h = group_.head(kind::progress, lane, state, state.first_number + state.incoming_message.front());
    h.flags = static_cast<std::uint16_t>(flags | (state.has_ecn_mark ? udp::flag::congestion : 0));
    group_.send(group_.addresses[state.root], h, std::span(bitmap).first(size));
    ++group_.counters.reports;
    state.unreported_count = 0;
    state.has_news = state.gap = state.has_ecn_mark = state.report_due = false;
  }

  group_view<Port>& group_;
};

}  // namespace tutti::detail::multicast
