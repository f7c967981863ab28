// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/member_lanes.hpp>
#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/presence_query.hpp>
#include <tutti/in_network/detail/fpga_nic/stand_in.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_requests.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/detail/udp/rate_control.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One rank of a job: dispatches packets, detects the loss of the device, and at rank 0 serves as the stand-in.
template <port Port>
class member {
 public:
  using address = typename Port::address;

  /// @param addresses the addresses of the members, in rank order
  member(Port& port, seal const& packet_seal, job_terms const& terms, rank_type me, std::vector<address> addresses,
         std::optional<address> device)
      : port_(port),
        seal_(packet_seal),
        terms_(terms),
        servers_(port, terms_, me, addresses, device),
        presence_query_(port, terms.nonce, addresses),
        requests_(servers_, weights_, rate_, me, addresses.size()),
        lanes_(servers_, terms_, me, rate_, weights_, counters_) {
    port.use(packet_seal);
    rate_.limit(2 * terms.slot_count);
    if (me == 0) {
      std::vector<std::uint8_t> racks;
      for (rank_type r = 0; terms_.has_racks() && r != addresses.size(); ++r) {
        racks.push_back(static_cast<std::uint8_t>(terms_.racks.host(r)));
      }
      stand_in_.emplace(static_cast<std::uint16_t>(terms.slot_count * collective_lanes), std::move(addresses),
                        std::move(racks), packet_seal);
    }
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  /// Sends a join to the device, so that it has answered before it is needed.
  void join(time_point now) {
    if (servers_.device().exists()) {
      servers_.device().join(now);
      port_.flush();
    }
  }
  /// Leaves the servers: nothing is sent to them any more. Rank 0 is told even if it has never served.
  void leave(time_point now) {
    lanes_.drop();
    if (stand_in_) {
      stand_in_->stay(now);
    }
    servers_.leave();
    port_.flush();
  }

  [[nodiscard]] member_lanes<Port>& lanes() noexcept { return lanes_; }
  [[nodiscard]] member_lanes<Port> const& lanes() const noexcept { return lanes_; }
  [[nodiscard]] fpga_nic_counters const& counts() const noexcept { return counters_; }
  /// True if the device answers; false without one.
  [[nodiscard]] bool device_answers() const noexcept { return servers_.device().has_joined(); }
  /// True if members may still need the stand-in: some have not left, and the last was heard a short time ago.
  [[nodiscard]] bool is_needed(time_point now) const noexcept { return stand_in_ && stand_in_->is_needed(now); }

  // --- weights, in the user's memory

  [[nodiscard]] local_weights& weights() noexcept { return weights_.rank_weights; }
  /// Declares the weights of all ranks; rank 0 starts to store the blocks that the device lacks.
  void set_weights(std::span<std::byte const> weights) {
    weights_.rank_weights.set_weights(weights);
    requests_.begin_stores();
  }
  /// Makes progress on stores. False if none remains, or no device accepts them.
  [[nodiscard]] bool continue_stores(time_point now) {
    advance(now);
    if (!requests_.can_store()) {
      return false;
    }
    requests_.push_stores(now);
    return are_under_way(now);
  }
  /// Starts to pull the weights that rank 0 holds, into `target`.
  void begin_pulls(std::span<std::byte> target) { weights_.begin_pulls(target); }
  /// Makes progress on pulls. False if all blocks are here. @pre rank 0 holds the weights
  [[nodiscard]] bool continue_pulls(time_point now) {
    advance(now);
    requests_.push_pulls(now);
    return are_under_way(now);
  }
  [[nodiscard]] std::size_t open_requests() const noexcept { return weights_.requests.open_count(); }
  void end_requests() noexcept { weights_.end(); }

  // --- progress

  /// Handles received packets, sends what is possible, and calls `run_timers` every 2 ms.
  void advance(time_point now) {
    take_all(now);
    if (now - last_timer_run_ >= timer_interval) {
      run_timers(now);
    }
    port_.flush();
  }
  /// Queries servers about late pieces, and gives up a silent device.
  void run_timers(time_point now) {
    last_timer_run_ = now;
    take_all(now);
    if (stand_in_) {
      stand_in_->query_members(now, emitter());
    }
    servers_.repeat_joins(now);
    lanes_.move_to_stand_in(now);
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      server_kind const late_server = lanes_.is_late(lane, now);
      if (late_server == server_kind::device && lanes_.is_silent(lane, now)) {
        give_up_device(now);
      } else if (late_server != server_kind::no_server) {
        lanes_.query_again(lane, now);
      }
      lanes_.push(lane, now);
    }
    port_.flush();
  }

 private:
  static constexpr duration timer_interval = std::chrono::milliseconds(2);

  /// True if requests about weights remain. Gives up a silent device: the stand-in takes its place.
  [[nodiscard]] bool are_under_way(time_point now) {
    if (servers_.device().has_joined() && servers_.device_is_silent(now)) {
      give_up_device(now);
    }
    port_.flush();
    return !weights_.requests.are_complete();
  }

  // --- packets

  void take_all(time_point now) {
    std::size_t received_count = 0;
    while ((received_count = port_.drain([&](address const& source, std::span<std::byte const> bytes,
                                             bool has_ecn_mark) { take(source, bytes, has_ecn_mark, now); })) != 0) {
      for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
        lanes_.repair(lane, now);
        lanes_.push(lane, now);
      }
    }
  }
  void take(address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now) {
    packet p;
    if (seal_.read(bytes, p) != reading::good || p.head.job != terms_.nonce) {
      ++counters_.ignored_packets;
      return;
    }
    switch (p.head.kind) {
      case kind::join:
      case kind::contribute:
      case kind::query:
      case kind::supply:
      case kind::leave:
      case kind::end:
        if (stand_in_) {
          provide_weights(p);
          stand_in_->take(source, bytes, has_ecn_mark, now, emitter());
        }
        return;
      case kind::share:
        ++counters_.ignored_packets;
        return;
      case kind::progress:
      case kind::ask:
        return take_peer_packet(source, p.head);
      default:
        take_answer(source, p, has_ecn_mark, now);
    }
  }
  /// Handles queries among ranks in racks.
  void take_peer_packet(address const& source, header const& h) {
    std::uint32_t const lane = h.slot / terms_.slot_count;
    bool const is_used =
        lane < collective_lanes && (h.kind == kind::ask ? presence_query_.answer(lanes_.lane_at(lane), source, h)
                                                        : presence_query_.take(lanes_.lane_at(lane), source, h));
    counters_.ignored_packets += is_used ? 0 : 1;
  }
  void take_answer(address const& source, packet const& p, bool has_ecn_mark, time_point now) {
    server_kind const server = servers_.kind_of(source);
    if (server == server_kind::no_server) {
      ++counters_.ignored_packets;
      return;
    }
    servers_.at(server).note_heard(now);
    if (p.head.has(flag::congestion) || has_ecn_mark) {
      rate_.note_congestion(now);
    }
    bool const is_unknown = p.head.kind == kind::refuse && read_refusal(p.payload) == refusal::unknown;
    if (is_unknown && asks_for_proof(p.head, refusal::unknown)) {
      if (!servers_.at(server).has_joined()) {
        servers_.at(server).prove(p.head, now);
      }
      return;
    }
    if (p.head.kind == kind::grant) {
      take_joined(server, p, now);
    } else if (!p.head.has(flag::weights)) {
      take_lane_packet(server, p, is_unknown, now);
    } else if (is_unknown) {
      take_unknown(server, now);
    } else {
      requests_.take(server, p);
    }
  }
  void take_lane_packet(server_kind server, packet const& p, bool is_unknown, time_point now) {
    std::uint32_t const lane = p.head.slot / terms_.slot_count;
    if (lane >= collective_lanes) {
      ++counters_.ignored_packets;
      return;
    }
    lanes_.hear_from(server, lane, now);
    if (p.head.kind == kind::result) {
      lanes_.take_result(lane, server, p, now);
    } else if (p.head.kind == kind::missing) {
      lanes_.take_missing(lane, server, p, now);
      if (p.head.has(flag::of_racks)) {
        presence_query_.query_missing(lanes_.lane_at(lane), lane);
      }
    } else if (is_unknown) {
      take_unknown(server, now);
    } else {
      lanes_.take_refusal(lane, server, p, now);
    }
  }
  void take_joined(server_kind server, packet const& p, time_point now) {
    bool const is_new = servers_.take_joined(server, read_terms(p.payload));
    if (is_new && server == server_kind::stand_in) {
      lanes_.resend_to_stand_in(now);
    }
  }

  // --- loss of the device

  /// Handles the answer of a server that does not know this member: joins again.
  void take_unknown(server_kind server, time_point now) {
    if (server == server_kind::device && servers_.device().has_joined()) {
      return lose_device(now);
    }
    servers_.at(server).forget();
    servers_.at(server).join(now);
  }
  void give_up_device(time_point now) {
    ++counters_.silences;
    servers_.give_up_device();
    lose_device(now);
  }
  void lose_device(time_point now) {
    servers_.lose_device(now);
    weights_.forget_all();
    lanes_.move_to_stand_in(now);
  }

  // --- rank 0 as the stand-in

  [[nodiscard]] auto emitter() noexcept {
    return [this](address const& destination, header const& h, std::span<std::byte const> payload) {
      port_.send(destination, h, payload);
    };
  }
  /// Provides the stand-in with this rank's copy of the weights that a packet needs.
  void provide_weights(packet const& p) {
    bool const is_asked = p.head.has(flag::weights) && p.head.kind == kind::query;
    if (!is_asked && !has_terms(p.head)) {
      return;
    }
    std::uint32_t const k = is_asked ? p.head.sequence : read_update_terms(p.payload).key;
    if (k < weights_.rank_weights.blocks()) {
      stand_in_->store(terms_.nonce, k, weights_.rank_weights.version(), weights_.rank_weights.block(k));
    }
  }

  Port& port_;
  seal seal_;
  job_terms terms_;
  time_point last_timer_run_{};
  rate_control rate_;
  fpga_nic_counters counters_;
  weight_exchange weights_;
  member_servers<Port> servers_;
  presence_query<Port> presence_query_;
  weight_requests<Port> requests_;
  member_lanes<Port> lanes_;
  std::optional<stand_in<address>> stand_in_;
};

}  // namespace tutti::detail::fpga_nic
