// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/member_lanes.hpp>
#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/roll_call.hpp>
#include <tutti/in_network/detail/fpga_nic/stand_in.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_requests.hpp>
#include <tutti/in_network/detail/udp/pace.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One rank of a job: hands packets to its parts, notices a device that is lost, and at rank 0 serves in its place.
template <port Port>
class member {
 public:
  using address = typename Port::address;

  /// @param all the addresses of the members, in rank order
  member(Port& at, seal const& s, job_terms const& terms, rank_type me, std::vector<address> all,
         std::optional<address> device)
      : port_(at),
        seal_(s),
        terms_(terms),
        servers_(at, terms_, me, all, device),
        roll_call_(at, terms.nonce, all),
        requests_(servers_, weights_, rate_, me, all.size()),
        lanes_(servers_, terms_, me, rate_, weights_, counted_) {
    rate_.limit(2 * terms.slot_count);
    if (me == 0) {
      std::vector<std::uint8_t> racks;
      for (rank_type r = 0; terms_.has_racks() && r != all.size(); ++r) {
        racks.push_back(static_cast<std::uint8_t>(terms_.racks.host(r)));
      }
      serving_.emplace(static_cast<std::uint16_t>(terms.slot_count * collective_lanes), std::move(all),
                       std::move(racks), s);
    }
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  /// Asks the device to let this member join, so that it has answered when it is needed.
  void join(time_point now) {
    if (servers_.device().exists()) {
      servers_.device().ask_to_join(now);
      port_.flush();
    }
  }
  /// Leaves the servers: nothing is sent to them any more. Rank 0 is told, whether it has served or not.
  void leave(time_point now) {
    lanes_.drop();
    if (serving_) {
      serving_->stay(now);
    }
    servers_.leave();
    port_.flush();
  }

  [[nodiscard]] member_lanes<Port>& lanes() noexcept { return lanes_; }
  [[nodiscard]] member_lanes<Port> const& lanes() const noexcept { return lanes_; }
  [[nodiscard]] fpga_nic_counters const& counted() const noexcept { return counted_; }
  /// Whether the device answers; without one, false.
  [[nodiscard]] bool device_answers() const noexcept { return servers_.device().joined(); }
  /// Whether members may still need the stand-in: not all have left, and it is not long since the last was heard.
  [[nodiscard]] bool is_needed(time_point now) const noexcept { return serving_ && serving_->is_needed(now); }

  // --- weights, in the user's memory

  [[nodiscard]] own_weights& weights() noexcept { return weights_.own; }
  /// These are the weights of all ranks from now on. Rank 0 is to store those that the device lacks.
  void hold(std::span<std::byte const> all) {
    weights_.own.hold(all);
    requests_.begin_stores();
  }
  /// Goes on with that. False: nothing is left to store, or there is no device that takes it.
  [[nodiscard]] bool stores(time_point now) {
    advance(now);
    if (!requests_.can_store()) {
      return false;
    }
    requests_.push_stores(now);
    return are_under_way(now);
  }
  /// The weights of all ranks from now on are those that rank 0 holds: they are to come to `all`.
  void begin_pulls(std::span<std::byte> all) { weights_.begin_pulls(all); }
  /// Goes on with that. False: all are there. @pre rank 0 holds them
  [[nodiscard]] bool pulls(time_point now) {
    advance(now);
    requests_.push_pulls(now);
    return are_under_way(now);
  }
  /// Blocks that have been asked for, or stored, and not been answered.
  [[nodiscard]] std::size_t requested() const noexcept { return weights_.requests.left(); }
  void end_requests() noexcept { weights_.end(); }

  // --- going on

  /// Takes what has come, and goes on with it; looks, if it is time to.
  void advance(time_point now) {
    take_all(now);
    if (now - looked_ >= between_looks) {
      look(now);
    }
    port_.flush();
  }
  /// Sends again what has not been answered.
  void look(time_point now) {
    looked_ = now;
    take_all(now);
    if (serving_) {
      serving_->look(now, emitter());
    }
    servers_.go_on_asking(now);
    lanes_.turn_to_stand_in(now);
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      given_to const late = lanes_.is_late(lane, now);
      if (late == given_to::device && lanes_.is_silent(lane, now)) {
        give_up_device(now);
      } else if (late != given_to::none) {
        lanes_.ask_again(lane, now);
      }
      lanes_.push(lane, now);
    }
    port_.flush();
  }

 private:
  static constexpr duration between_looks = std::chrono::milliseconds(2);

  /// Requests about weights: whether some are left. Without a device, others take its place.
  [[nodiscard]] bool are_under_way(time_point now) {
    if (servers_.device().joined() && servers_.device_is_silent(now)) {
      give_up_device(now);
    }
    port_.flush();
    return !weights_.requests.over();
  }

  // --- packets

  void take_all(time_point now) {
    std::size_t came = 0;
    while ((came = port_.drain([&](address const& from, std::span<std::byte const> bytes, bool congested) {
             take(from, bytes, congested, now);
           })) != 0) {
      for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
        lanes_.repair(lane, now);
        lanes_.push(lane, now);
      }
    }
  }
  void take(address const& from, std::span<std::byte const> bytes, bool congested, time_point now) {
    packet p;
    if (seal_.read(bytes, p) != reading::good || p.head.job != terms_.nonce) {
      ++counted_.ignored;
      return;
    }
    switch (p.head.kind) {
      case kind::join:
      case kind::contribute:
      case kind::query:
      case kind::supply:
      case kind::leave:
      case kind::end:
        if (serving_) {
          provide_weights(p);
          serving_->take(from, bytes, congested, now, emitter());
        }
        return;
      case kind::share:
        ++counted_.ignored;
        return;
      case kind::progress:
      case kind::ask:
        return take_of_member(from, p.head);
      default:
        take_answer(from, p, congested, now);
    }
  }
  /// What ranks ask each other, where each rack has a device.
  void take_of_member(address const& from, header const& h) {
    std::uint32_t const lane = h.slot / terms_.slot_count;
    bool const is_used = lane < collective_lanes && (h.kind == kind::ask ? roll_call_.answer(lanes_.on(lane), from, h)
                                                                         : roll_call_.take(lanes_.on(lane), from, h));
    counted_.ignored += is_used ? 0 : 1;
  }
  void take_answer(address const& from, packet const& p, bool congested, time_point now) {
    given_to const by = servers_.which(from);
    if (by == given_to::none) {
      ++counted_.ignored;
      return;
    }
    servers_.at(by).hear(now);
    if (p.head.has(flag::congested) || congested) {
      rate_.note_congestion(now);
    }
    bool const is_unknown = p.head.kind == kind::refuse && read_refusal(p.payload) == refusal::unknown;
    if (is_unknown && asks_for_proof(p.head, refusal::unknown)) {
      if (!servers_.at(by).joined()) {
        servers_.at(by).prove(p.head, now);
      }
      return;
    }
    if (p.head.kind == kind::joined) {
      take_joined(by, p, now);
    } else if (!p.head.has(flag::keyed)) {
      take_of_lane(by, p, is_unknown, now);
    } else if (is_unknown) {
      take_unknown(by, now);
    } else {
      requests_.take(by, p);
    }
  }
  void take_of_lane(given_to by, packet const& p, bool is_unknown, time_point now) {
    std::uint32_t const lane = p.head.slot / terms_.slot_count;
    if (lane >= collective_lanes) {
      ++counted_.ignored;
      return;
    }
    lanes_.hear_from(by, lane, now);
    if (p.head.kind == kind::result) {
      lanes_.take_result(lane, by, p, now);
    } else if (p.head.kind == kind::missing) {
      lanes_.take_missing(lane, by, p, now);
      if (p.head.has(flag::of_racks)) {
        roll_call_.call(lanes_.on(lane), lane);
      }
    } else if (is_unknown) {
      take_unknown(by, now);
    } else {
      lanes_.take_refusal(lane, by, p, now);
    }
  }
  void take_joined(given_to by, packet const& p, time_point now) {
    bool const is_new = servers_.take_joined(by, read_terms(p.payload));
    if (is_new && by == given_to::stand_in) {
      lanes_.give_stand_in(now);
    }
  }

  // --- a device that is lost

  /// A server does not know this member.
  void take_unknown(given_to by, time_point now) {
    if (by == given_to::device && servers_.device().joined()) {
      return lose_device(now);
    }
    servers_.at(by).forget();
    servers_.at(by).ask_to_join(now);
  }
  void give_up_device(time_point now) {
    ++counted_.silences;
    servers_.give_up_device();
    lose_device(now);
  }
  void lose_device(time_point now) {
    servers_.lose_device(now);
    weights_.forget_all();
    lanes_.turn_to_stand_in(now);
  }

  // --- rank 0 in place of a device

  [[nodiscard]] auto emitter() noexcept {
    return
        [this](address const& to, header const& h, std::span<std::byte const> payload) { port_.send(to, h, payload); };
  }
  /// The stand-in has the weights that this rank has, of what it is asked for.
  void provide_weights(packet const& p) {
    bool const is_asked = p.head.has(flag::keyed) && p.head.kind == kind::query;
    if (!is_asked && !has_terms(p.head)) {
      return;
    }
    std::uint32_t const k = is_asked ? p.head.sequence : read_update_terms(p.payload).key;
    if (k < weights_.own.blocks()) {
      serving_->have(terms_.nonce, k, weights_.own.version(), weights_.own.block(k));
    }
  }

  Port& port_;
  seal seal_;
  job_terms terms_;
  time_point looked_{};
  rate_control rate_;
  fpga_nic_counters counted_;
  weight_exchange weights_;
  member_servers<Port> servers_;
  roll_call<Port> roll_call_;
  weight_requests<Port> requests_;
  member_lanes<Port> lanes_;
  std::optional<stand_in<address>> serving_;
};

}  // namespace tutti::detail::fpga_nic
