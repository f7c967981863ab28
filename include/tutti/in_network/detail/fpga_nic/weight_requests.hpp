// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/udp/pace.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What a member asks servers about weights, beside updates, and what they answer.
template <port Port>
class weight_requests {
 public:
  weight_requests(member_servers<Port>& to, weight_exchange& of, rate_control const& by, rank_type me,
                  std::size_t members)
      : to_(to), of_(of), rate_(by), me_(me), members_(members) {}

  /// Rank 0 is to store the weights that the device lacks.
  void begin_stores() {
    if (me_ == 0) {
      of_.begin_stores();
      stored_to_ = to_.device_life();
    }
  }
  /// Whether this member stores weights, and there is a device that takes them.
  [[nodiscard]] bool can_store() const noexcept { return me_ == 0 && !to_.has_no_device(); }
  /// @pre can_store
  void push_stores(time_point now) {
    server<Port>& device = to_.device();
    if (!device.joined()) {
      device.ask_to_join(now);
      return;
    }
    if (stored_to_ != to_.device_life()) {
      begin_stores();
    }
    of_.requests.push(now, rate_.retry_after(), [&](std::uint32_t k, std::uint32_t) {
      device.question(now);
      return device.send(about(kind::supply, k), of_.own.block(k));
    });
  }
  /// Asks the device and the stand-in in turns for what is to come.
  void push_pulls(time_point now) {
    of_.requests.push(now, rate_.retry_after(), [&](std::uint32_t k, std::uint32_t tries) {
      bool const by_device = to_.device().joined() && !to_.has_no_device() && tries % 2 == 0;
      server<Port>& from = by_device ? to_.device() : to_.stand_in();
      if (!from.joined()) {
        from.ask_to_join(now);
        return true;
      }
      from.question(now);
      return from.send(about(kind::query, k), {});
    });
  }

  /// What a server says about a block of weights. @pre not that it does not know this member
  void take(given_to by, packet const& p) {
    std::uint32_t const k = p.head.sequence;
    if (p.head.kind == kind::result) {
      take_result(by, p);
    } else if (p.head.kind == kind::refuse && by == given_to::device && me_ == 0) {  // of a block that it was to store
      of_.know_no_room(k);
      of_.requests.finish(k);
    } else if (p.head.kind == kind::refuse && by == given_to::device) {
      of_.requests.again(k);
    }
  }

 private:
  void take_result(given_to by, packet const& p) {
    std::uint32_t const k = p.head.sequence;
    bool const is_of_a_store_before = static_cast<std::int32_t>(p.head.fingerprint - of_.own.version()) < 0;
    if (!p.payload.empty()) {
      of_.take(k, p.head.fingerprint, p.payload);
    } else if (by == given_to::device && !is_of_a_store_before) {
      of_.know(k, p.head.fingerprint);
      of_.requests.finish(k);
    }
  }
  [[nodiscard]] header about(kind what, std::uint32_t k) const noexcept {
    return {.kind = what,
            .sequence = k,
            .fingerprint = of_.own.version(),
            .worker = static_cast<std::uint8_t>(me_),
            .workers = static_cast<std::uint8_t>(members_),
            .flags = flag::keyed};
  }

  member_servers<Port>& to_;
  weight_exchange& of_;
  rate_control const& rate_;
  rank_type me_;
  std::size_t members_;
  std::uint8_t stored_to_ = 0;  ///< the life of the device that is to have the weights
};

}  // namespace tutti::detail::fpga_nic
