// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/group_view.hpp>
#include <tutti/in_network/detail/multicast/lane_state.hpp>
#include <tutti/in_network/detail/udp/rate_control.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::multicast {

/// The sending side of a member: sends each packet to the group once, and repairs losses.
///
/// A lost packet:
///
///   - A receiver that gets packet i + 1 before i reports at once: the number of packets that it has without a gap,
///     and a bitmap of the missing ones.
///   - The sender repeats a missing packet to the group; if it has been repeated before, to that rank alone. A packet
///     that was sent less than `repair_delay` ago is not repeated, because other ranks report the same loss.
///   - A lost last packet leaves no gap, and a report may be lost, too. So receivers report again every 2 ms while
///     they know that packets are missing, and the sender queries a rank that has been silent for `retry_after`. The
///     rank answers with a report.
///   - Receivers ignore duplicates.
///   - The end of a message is confirmed over Host, which loses nothing.
///
/// Packets that all ranks have leave the window, which is shared by all lanes.
template <udp::port Port>
class sending {
 public:
  explicit sending(group_view<Port>& group) : group_(group) { rate_.limit(group.window); }

  /// Sends packets that may be sent for the first time.
  void push(lane_state& state, std::uint32_t lane, time_point now) {
    // Until all ranks have reported, some may not have begun, and lack all earlier packets.
    std::uint32_t const window = state.outgoing_message.front() == 0 ? group_.report_every() : group_.window;
    auto const room_after = [&](std::uint32_t extra) {
      return in_flight_ + extra < rate_.window() || state.outgoing_message.in_flight() + extra < reserved_packets;
    };
    bool const narrow = window < group_.window || is_narrow();
    while (state.outgoing_message.may_send(window) && room_after(0)) {
      bool const fills =
          state.outgoing_message.sent_count() + 1 - state.outgoing_message.front() >= window || !room_after(1);
      if (!send(state, lane, state.outgoing_message.sent_count(), group_.group, narrow && fills ? note : no_flags)) {
        break;
      }
      state.outgoing_message.count_sent(now);
      ++in_flight_;
      ++group_.counters.group_packets;
    }
  }
  /// Handles a report. False if it is about nothing under way.
  bool take_report(lane_state& state, std::uint32_t lane, udp::packet const& p, time_point now) {
    header const& h = p.head;
    if (!state.is_sender() || h.fingerprint != state.fingerprint ||
        lane_state::is_after(state.first_number, h.sequence)) {
      return false;  // the report may be about the message before
    }
    std::uint32_t const received_count = h.sequence - state.first_number;
    if (received_count > state.outgoing_message.sent_count()) {
      return false;
    }
    std::uint32_t const known_count = state.outgoing_message.front_of(h.worker);
    if (h.has(udp::flag::congestion)) {
      rate_.note_congestion(now);
    }
    state.outgoing_message.contact(h.worker, now);
    if (known_count != 0 && known_count < received_count &&
        !h.has(note)) {  // otherwise the rank may have begun only now
      if (time_point const send_time = state.outgoing_message.single_send_time(received_count - 1);
          send_time != time_point{}) {
        rate_.note_round_trip(now - send_time);
      }
    }
    std::uint32_t const in_flight_before = state.outgoing_message.in_flight();
    state.outgoing_message.confirm(h.worker, received_count);
    count_confirmed(state, in_flight_before);
    std::uint32_t const lost_count = repair(state, lane, h.worker, received_count, p.payload, now);
    // A rank that began late lacks earlier packets; otherwise this loss is a sign of congestion.
    if (known_count != 0 && lost_count > rate_.window() / 8) {
      rate_.note_congestion(now);
    }
    return true;
  }
  /// Handles a rank's acknowledgement over Host.
  void finish(lane_state& state, rank_type r) noexcept {
    std::uint32_t const in_flight_before = state.outgoing_message.in_flight();
    state.outgoing_message.finish(r);
    count_confirmed(state, in_flight_before);
  }
  /// Queries lagging ranks that have been silent for too long.
  void query(lane_state& state, std::uint32_t lane, time_point now) {
    header const h = group_.head(kind::ask, lane, state, state.first_number + state.outgoing_message.sent_count());
    duration const time_limit = rate_.retry_after();
    bool has_queried = false;
    state.outgoing_message.each_lagging([&](rank_type r) {
      if (now - state.outgoing_message.silence_begin(r) >= time_limit) {
        ++group_.counters.queries;
        group_.send(group_.addresses[r], h);
        state.outgoing_message.contact(r, now);
        has_queried = true;
      }
    });
    if (has_queried) {
      rate_.note_silence();
    }
  }
  /// Ends a message, complete or not.
  void end(lane_state const& state) noexcept {
    in_flight_ -= state.is_sender() ? state.outgoing_message.in_flight() : 0;
  }

 private:
  static constexpr std::uint32_t reserved_packets =
      4;  ///< packets that a lane may have in flight, however many others have
  static constexpr std::uint16_t no_flags = group_view<Port>::no_flags;
  static constexpr std::uint16_t note = group_view<Port>::note;

  bool send(lane_state& state, std::uint32_t lane, std::uint32_t i, typename Port::address const& group,
            std::uint16_t flags) {
    header h = group_.head(kind::share, lane, state, state.first_number + i);
    h.flags = flags;
    return group_.send(group, h, state.outgoing_message.content(i));
  }
  /// True if the window is so small that ranks which report by count might not report, and all would wait.
  [[nodiscard]] bool is_narrow() const noexcept { return rate_.window() < 2 * group_.report_every(); }
  void count_confirmed(lane_state const& state, std::uint32_t in_flight_before) noexcept {
    for (std::uint32_t i = in_flight_before - state.outgoing_message.in_flight(); i != 0; --i) {
      rate_.note_result();
      --in_flight_;
    }
  }
  /// Repeats the packets that a rank lacks, a bitmap from packet `first` on. Returns the number of first repetitions.
  std::uint32_t repair(lane_state& state, std::uint32_t lane, rank_type rank, std::uint32_t first,
                       std::span<std::byte const> bitmap, time_point now) {
    std::uint32_t lost_count = 0;
    for (std::uint32_t k = 0; k != bitmap.size() * 8; ++k) {
      std::uint32_t const i = first + k;
      bool const lacks = (bitmap[k / 8] & std::byte{1} << k % 8) != std::byte{0};
      if (!lacks || i < state.outgoing_message.front() || i >= state.outgoing_message.sent_count()) {
        continue;
      }
      switch (state.outgoing_message.choose_repair(i, now, rate_.repair_delay())) {
        case outgoing::repair::wait:
          break;
        case outgoing::repair::group:
          ++lost_count;
          ++group_.counters.group_repairs;
          send(state, lane, i, group_.group, is_narrow() ? note : no_flags);
          break;
        case outgoing::repair::rank:
          ++group_.counters.single_repairs;
          send(state, lane, i, group_.addresses[rank], note);
          break;
      }
    }
    return lost_count;
  }

  group_view<Port>& group_;
  udp::rate_control rate_;
  std::uint32_t in_flight_ = 0;  ///< packets of all lanes that some ranks lack
};

}  // namespace tutti::detail::multicast
