// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/server.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The servers of a member: its device, which may be given up until it answers again, and the stand-in at rank 0.
template <port Port>
class member_servers {
 public:
  using address = typename Port::address;

  /// @param addresses the addresses of the members, in rank order
  member_servers(Port& port, job_terms const& terms, rank_type me, std::vector<address> const& addresses,
                 std::optional<address> device)
      : port_(port),
        silence_(terms.silence),
        device_(port, terms, terms.has_racks() ? terms.racks.local(me) : me,
                terms.has_racks() ? terms.racks.members(terms.racks.host(me)).size() : addresses.size(), device,
                position_of(terms, me)),
        stand_in_(port, terms, me, addresses.size(), addresses[0]) {}

  [[nodiscard]] server<Port>& device() noexcept { return device_; }
  [[nodiscard]] server<Port> const& device() const noexcept { return device_; }
  [[nodiscard]] server<Port>& stand_in() noexcept { return stand_in_; }
  [[nodiscard]] server<Port>& at(server_kind kind) noexcept {
    return kind == server_kind::device ? device_ : stand_in_;
  }
  [[nodiscard]] server_kind kind_of(address const& source) const noexcept {
    return device_.has_address(source)     ? server_kind::device
           : stand_in_.has_address(source) ? server_kind::stand_in
                                           : server_kind::no_server;
  }
  /// True if no device can be used now.
  [[nodiscard]] bool has_no_device() const noexcept { return !device_.exists() || device_given_up_; }
  /// Counts lost devices: a new device has no state of the previous one.
  [[nodiscard]] std::uint8_t device_life() const noexcept { return device_life_; }
  [[nodiscard]] bool device_is_silent(time_point now) const noexcept { return device_.is_silent(now, silence_); }

  /// Repeats joins that were not answered, and gives up a device that answers none.
  void repeat_joins(time_point now) {
    device_.repeat_join(now);
    stand_in_.repeat_join(now);
    device_given_up_ = device_given_up_ || device_.answers_no_join(now, silence_);
  }
  /// Handles the answer to a join. True if this member has joined by it.
  bool take_joined(server_kind server, fpga_nic::terms const& granted_terms) noexcept {
    bool const is_new = at(server).grant(granted_terms);
    if (server == server_kind::device) {
      device_given_up_ = !device_.has_joined();
    }
    return is_new;
  }
  /// Handles the refusal of a join.
  void take_refused_join(server_kind server) noexcept {
    device_given_up_ = device_given_up_ || server == server_kind::device;
  }
  /// Joins again, after the device has forgotten this member or was replaced.
  void lose_device(time_point now) {
    device_.forget();
    ++device_life_;
    device_.join(now);
  }
  /// Stops using the device until it answers again.
  void give_up_device() noexcept { device_given_up_ = true; }
  void leave() {
    if (device_.has_joined()) {
      device_.leave();
    }
    stand_in_.leave();
  }
  void flush() { port_.flush(); }

 private:
  [[nodiscard]] static rack_position position_of(job_terms const& terms, rank_type me) noexcept {
    return terms.has_racks() ? rack_position{static_cast<std::uint8_t>(terms.racks.host(me)),
                                             static_cast<std::uint8_t>(terms.racks.hosts())}
                             : rack_position{};
  }

  Port& port_;
  duration silence_;
  server<Port> device_;
  server<Port> stand_in_;
  bool device_given_up_ = false;  ///< the device is not used until it answers again
  std::uint8_t device_life_ = 0;
};

}  // namespace tutti::detail::fpga_nic
