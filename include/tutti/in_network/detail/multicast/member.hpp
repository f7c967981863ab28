// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/group_view.hpp>
#include <tutti/in_network/detail/multicast/lane_state.hpp>
#include <tutti/in_network/detail/multicast/reachability.hpp>
#include <tutti/in_network/detail/multicast/receiving.hpp>
#include <tutti/in_network/detail/multicast/sending.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// One rank of a group: dispatches packets, and makes progress on each lane, as its sender or as a receiver.
///
/// The end of a message is confirmed over Host, which loses nothing (`has_all`, `finish`): a rank whose last report
/// is lost may never look at this port again.
template <udp::port Port>
class member {
 public:
  using address = typename Port::address;

  struct terms {
    std::uint32_t nonce = 0;   ///< number of the job; packets of other jobs are ignored
    std::uint32_t window = 0;  ///< packets that a lane may have in flight; equal on all ranks
    udp::seal seal{};          ///< equal on all ranks
  };

  /// @param addresses the addresses of the members, in rank order
  member(Port& port, terms const& t, rank_type me, std::vector<address> addresses, address group)
      : group_view_{port, t.nonce, t.window, me, std::move(addresses), group},
        reachability_(group_view_),
        sending_(group_view_),
        receiving_(group_view_),
        seal_(t.seal) {
    port.use(seal_);
    for (lane_state& state : lanes_) {
      state.outgoing_message.open(group_view_.window, group_view_.addresses.size());
      state.incoming_message.open(group_view_.window);
      state.early_packets.open(group_view_.report_every());
    }
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] udp_multicast_counters const& counts() const noexcept { return group_view_.counters; }
  /// Probes whether packets to the group reach all ranks. @pre `advance` has been called
  [[nodiscard]] multicast::reachability<Port>& reachability() noexcept { return reachability_; }

  // --- messages

  void begin(flow s, std::uint32_t fingerprint) noexcept {
    lane_state& state = lanes_[s.lane];
    state.fingerprint = fingerprint;
    state.differing_rank = no_rank;
  }
  /// @pre at most one aggregator's part a flow, and its operation is a copy
  void join_aggregation(flow s, aggregation_part const& part) {
    lane_state& state = lanes_[s.lane];
    state.join_aggregation(part, group_view_.me);
    if (state.is_sender()) {
      state.outgoing_message.begin(part);
    } else if (state.is_receiver()) {
      receiving_.begin(state, part.bytes);
    }
  }
  void send_message(std::uint32_t lane, std::byte const* source, time_point now) {
    lanes_[lane].outgoing_message.set_source(source);
    sending_.push(lanes_[lane], lane, now);
    group_view_.port.flush();
  }
  void set_target(std::uint32_t lane, std::byte* place) {
    receiving_.set_target(lanes_[lane], lane, place);
    group_view_.port.flush();
  }
  [[nodiscard]] bool has_target(std::uint32_t lane) const noexcept {
    return lanes_[lane].incoming_message.has_target();
  }
  [[nodiscard]] chunk view(std::uint32_t lane, std::size_t granule) noexcept {
    return lanes_[lane].incoming_message.view(granule);
  }
  void release(std::uint32_t lane) noexcept { lanes_[lane].incoming_message.release(); }
  /// True if this rank has received the whole message.
  [[nodiscard]] bool has_all(std::uint32_t lane) const noexcept {
    return lanes_[lane].is_receiver() && lanes_[lane].incoming_message.is_complete();
  }
  /// A rank that has not yet acknowledged a message that this rank has sent completely, or no_rank.
  [[nodiscard]] rank_type unfinished_rank(std::uint32_t lane) const noexcept {
    lane_state const& state = lanes_[lane];
    return state.is_sender() && state.outgoing_message.is_sent() && !state.outgoing_message.is_complete()
               ? state.outgoing_message.unfinished_rank()
               : no_rank;
  }
  /// Handles a rank's acknowledgement of the whole message.
  void finish(std::uint32_t lane, rank_type r) noexcept { sending_.finish(lanes_[lane], r); }
  /// True if all ranks have acknowledged this rank's message.
  [[nodiscard]] bool is_complete(std::uint32_t lane) const noexcept {
    return !lanes_[lane].is_sender() || lanes_[lane].outgoing_message.is_complete();
  }
  void end(flow s) noexcept {
    sending_.end(lanes_[s.lane]);
    lanes_[s.lane].end();
  }
  /// Ends all messages, and with them the use of the user's memory.
  void drop() noexcept {
    for (lane_state& state : lanes_) {
      sending_.end(state);
      state.end();
    }
  }

  // --- wait state of a lane

  /// The rank that the lane waits for, or no_rank. A rank that has the whole message still waits until the root
  /// knows.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    lane_state const& state = lanes_[lane];
    return state.is_sender() ? state.outgoing_message.slowest() : state.is_receiver() ? state.root : no_rank;
  }
  /// The rank without which no more packets or acknowledgements arrive, or no_rank.
  [[nodiscard]] rank_type blocking_rank(std::uint32_t lane) const noexcept {
    lane_state const& state = lanes_[lane];
    return state.is_sender() || state.is_incomplete() ? missing(lane) : no_rank;
  }
  /// Calls f(lane, rank) for every rank that lacks packets of this rank.
  template <class F>
  void each_lagging(F f) const {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      if (lanes_[lane].is_sender()) {
        lanes_[lane].outgoing_message.each_lagging([&](rank_type r) { f(lane, r); });
      }
    }
  }
  /// A rank that has made another call for a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differing_rank(std::uint32_t lane) const noexcept { return lanes_[lane].differing_rank; }

  // --- progress

  /// Handles received packets, sends what is possible, and calls `run_timers` every 2 ms.
  void advance(time_point now) {
    // The bound ends the loop if others send as fast as this rank reads.
    for (int rounds = 16; rounds != 0; --rounds) {
      if (group_view_.port.drain([&](address const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
            take(source, bytes, has_ecn_mark, now);
          }) == 0) {
        break;
      }
    }
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      lane_state& state = lanes_[lane];
      state.is_sender() ? sending_.push(state, lane, now) : receiving_.report_if_due(state, lane);
    }
    if (now - last_timer_run_ >= timer_interval) {
      run_timers(now);
    }
    group_view_.port.flush();
  }
  /// Sends pending reports, and queries silent ranks.
  void run_timers(time_point now) {
    last_timer_run_ = now;
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      lane_state& state = lanes_[lane];
      if (!state.is_sender()) {
        receiving_.report_pending(state, lane);
      } else if (state.outgoing_message.in_flight() != 0) {
        sending_.query(state, lane, now);
      }
    }
    group_view_.port.flush();
  }

 private:
  static constexpr duration timer_interval = std::chrono::milliseconds(2);

  void take(address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now) {
    udp::packet p;
    header const& h = p.head;
    auto const wrap_count_of = [&](header const& head) {
      return head.slot < collective_lanes ? lanes_[head.slot].wrap_count_of(head.sequence) : 0;
    };
    if (seal_.read(bytes, p, wrap_count_of) != udp::reading::good || h.job != group_view_.nonce ||
        h.workers != group_view_.addresses.size() || h.slot > multicast::reachability<Port>::slot ||
        !(source == group_view_.addresses[h.worker])) {
      ++group_view_.counters.ignored_packets;
      return;
    }
    if (h.worker == group_view_.me) {
      return;  // the group returns a rank's own packets
    }
    if (h.slot == multicast::reachability<Port>::slot) {
      return reachability_.take(h);
    }
    lane_state& state = lanes_[h.slot];
    bool is_used = false;
    switch (h.kind) {
      case kind::share:
        state.has_ecn_mark = state.has_ecn_mark || has_ecn_mark;
        is_used = receiving_.take_share(state, p);
        break;
      case kind::progress:
        is_used = sending_.take_report(state, h.slot, p, now);
        break;
      case kind::ask:
        is_used = receiving_.take_query(state, h.slot, h);
        break;
      default:
        break;
    }
    group_view_.counters.ignored_packets += is_used ? 0 : 1;
  }

  group_view<Port> group_view_;
  multicast::reachability<Port> reachability_;
  sending<Port> sending_;
  receiving<Port> receiving_;
  udp::seal seal_;
  time_point last_timer_run_{};
  std::array<lane_state, collective_lanes> lanes_;
};

}  // namespace tutti::detail::multicast
