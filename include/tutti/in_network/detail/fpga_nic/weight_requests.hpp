// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/udp/rate_control.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A member's requests to servers about weights, apart from updates, and the answers.
template <port Port>
class weight_requests {
 public:
  weight_requests(member_servers<Port>& servers, weight_exchange& exchange, rate_control const& rate, rank_type me,
                  std::size_t members)
      : servers_(servers), exchange_(exchange), rate_(rate), me_(me), members_(members) {}

  /// Starts stores of the weights that the device lacks; rank 0 only.
  void begin_stores() {
    if (me_ == 0) {
      exchange_.begin_stores();
      stored_to_ = servers_.device_life();
    }
  }
  /// True if this member stores weights, and a device accepts them.
  [[nodiscard]] bool can_store() const noexcept { return me_ == 0 && !servers_.has_no_device(); }
  /// @pre can_store
  void push_stores(time_point now) {
    server<Port>& device = servers_.device();
    if (!device.has_joined()) {
      device.join(now);
      return;
    }
    if (stored_to_ != servers_.device_life()) {
      begin_stores();
    }
    exchange_.requests.push(now, rate_.retry_after(), [&](std::uint32_t k, std::uint32_t) {
      device.note_query(now);
      return device.send(header_for(kind::supply, k), exchange_.rank_weights.block(k));
    });
  }
  /// Queries the device and the stand-in in turn for pulled blocks.
  void push_pulls(time_point now) {
    exchange_.requests.push(now, rate_.retry_after(), [&](std::uint32_t k, std::uint32_t tries) {
      bool const by_device = servers_.device().has_joined() && !servers_.has_no_device() && tries % 2 == 0;
      server<Port>& source = by_device ? servers_.device() : servers_.stand_in();
      if (!source.has_joined()) {
        source.join(now);
        return true;
      }
      source.note_query(now);
      return source.send(header_for(kind::query, k), {});
    });
  }

  /// Handles an answer about a block of weights. @pre it is not that the server does not know this member
  void take(server_kind server, packet const& p) {
    std::uint32_t const k = p.head.sequence;
    if (p.head.kind == kind::result) {
      take_result(server, p);
    } else if (p.head.kind == kind::refuse && server == server_kind::device && me_ == 0) {  // refused store
      exchange_.note_no_room(k);
      exchange_.requests.finish(k);
    } else if (p.head.kind == kind::refuse && server == server_kind::device) {
      exchange_.requests.repeat(k);
    }
  }

 private:
  void take_result(server_kind server, packet const& p) {
    std::uint32_t const k = p.head.sequence;
    bool const is_earlier_store = static_cast<std::int32_t>(p.head.fingerprint - exchange_.rank_weights.version()) < 0;
    if (!p.payload.empty()) {
      exchange_.take(k, p.head.fingerprint, p.payload);
    } else if (server == server_kind::device && !is_earlier_store) {
      exchange_.note_version(k, p.head.fingerprint);
      exchange_.requests.finish(k);
    }
  }
  [[nodiscard]] header header_for(kind packet_kind, std::uint32_t k) const noexcept {
    return {.kind = packet_kind,
            .sequence = k,
            .fingerprint = exchange_.rank_weights.version(),
            .worker = static_cast<std::uint8_t>(me_),
            .workers = static_cast<std::uint8_t>(members_),
            .flags = flag::weights};
  }

  member_servers<Port>& servers_;
  weight_exchange& exchange_;
  rate_control const& rate_;
  rank_type me_;
  std::size_t members_;
  std::uint8_t stored_to_ = 0;  ///< `device_life` of the device that the weights are stored to
};

}  // namespace tutti::detail::fpga_nic
