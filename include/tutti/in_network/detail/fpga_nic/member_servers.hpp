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

/// The servers of a member: its device, which is given up until it answers again, and the stand-in at rank 0.
template <port Port>
class member_servers {
 public:
  using address = typename Port::address;

  /// @param all the addresses of the members, in rank order
  member_servers(Port& at, job_terms const& terms, rank_type me, std::vector<address> const& all,
                 std::optional<address> device)
      : port_(at),
        silence_(terms.silence),
        device_(at, terms, terms.has_racks() ? terms.racks.local(me) : me,
                terms.has_racks() ? terms.racks.members(terms.racks.host(me)).size() : all.size(), device,
                place_of(terms, me)),
        stand_in_(at, terms, me, all.size(), all[0]) {}

  [[nodiscard]] server<Port>& device() noexcept { return device_; }
  [[nodiscard]] server<Port> const& device() const noexcept { return device_; }
  [[nodiscard]] server<Port>& stand_in() noexcept { return stand_in_; }
  [[nodiscard]] server<Port>& at(given_to which) noexcept { return which == given_to::device ? device_ : stand_in_; }
  /// The one at this address, or none.
  [[nodiscard]] given_to which(address const& from) const noexcept {
    return device_.is(from) ? given_to::device : stand_in_.is(from) ? given_to::stand_in : given_to::none;
  }
  /// Whether there is no device to give anything to now.
  [[nodiscard]] bool has_no_device() const noexcept { return !device_.exists() || gave_up_; }
  /// Counts devices that were lost: a new one knows nothing of what they had.
  [[nodiscard]] std::uint8_t device_life() const noexcept { return device_life_; }
  [[nodiscard]] bool device_is_silent(time_point now) const noexcept { return device_.is_silent(now, silence_); }

  /// Goes on with joins that were not answered, and gives up a device that answers none.
  void go_on_asking(time_point now) {
    device_.go_on_asking(now);
    stand_in_.go_on_asking(now);
    gave_up_ = gave_up_ || device_.answers_no_join(now, silence_);
  }
  /// A server has answered a join. True if this member has joined by that.
  bool take_joined(given_to by, fpga_nic::terms const& given) noexcept {
    bool const is_new = at(by).grant(given);
    if (by == given_to::device) {
      gave_up_ = !device_.joined();
    }
    return is_new;
  }
  /// A server has refused a join.
  void take_no_join(given_to by) noexcept { gave_up_ = gave_up_ || by == given_to::device; }
  /// The device has forgotten this member, or another has taken its place.
  void lose_device(time_point now) {
    device_.forget();
    ++device_life_;
    device_.ask_to_join(now);
  }
  /// Nothing is given to the device, until it answers again.
  void give_up_device() noexcept { gave_up_ = true; }
  void leave() {
    if (device_.joined()) {
      device_.leave();
    }
    stand_in_.leave();
  }
  void flush() { port_.flush(); }

 private:
  [[nodiscard]] static rack_place place_of(job_terms const& terms, rank_type me) noexcept {
    return terms.has_racks() ? rack_place{static_cast<std::uint8_t>(terms.racks.host(me)),
                                          static_cast<std::uint8_t>(terms.racks.hosts())}
                             : rack_place{};
  }

  Port& port_;
  duration silence_;
  server<Port> device_;
  server<Port> stand_in_;
  bool gave_up_ = false;  ///< the device, until it answers again
  std::uint8_t device_life_ = 0;
};

}  // namespace tutti::detail::fpga_nic
