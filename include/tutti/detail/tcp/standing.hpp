// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>
#include <tutti/extend/message.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// Which rank waits for which: what the two ends of a connection have asked each other, and answered.
class standing {
 public:
  void receive(frame const& header) noexcept {
    if (header.kind == frame_kind::wait_query) {
      peer_query_ = header.number;
      replied_lanes_ = replied_blocking_ = 0;
    } else {
      replies_[header.lane] = header;
    }
  }

  /// Asks the peer once more which rank it waits for.
  [[nodiscard]] frame make_query() noexcept { return {.kind = frame_kind::wait_query, .number = ++own_query_}; }

  /// Whether the peer has asked, and not been told of this.
  [[nodiscard]] bool needs_reply(wait_report const& report) const noexcept {
    return peer_query_ != 0 && ((report.blocks ? replied_blocking_ : replied_lanes_) >> report.on.lane & 1U) == 0;
  }
  /// The answer that it is owed.
  [[nodiscard]] frame make_reply(wait_report const& report) noexcept {
    replied_lanes_ |= 1U << report.on.lane;
    replied_blocking_ |= report.blocks ? 1U << report.on.lane : 0U;
    return {.kind = frame_kind::wait_reply,
            .lane = static_cast<std::uint8_t>(report.on.lane),
            .blocks = report.blocks,
            .number = report.on.number,
            .part = report.peer,
            .bytes = std::uint64_t{report.moved} << 32 | peer_query_,
            .sender_call = report.what};
  }

  /// What the peer has said last about a lane.
  [[nodiscard]] wait_report last_report(std::uint32_t lane) const noexcept {
    frame const& header = replies_[lane];
    if (header.kind != frame_kind::wait_reply) {
      return {};
    }
    return {.peer = header.part,
            .on = {lane, header.number},
            .moved = static_cast<std::uint32_t>(header.bytes >> 32),
            .blocks = header.blocks != 0,
            .fresh = static_cast<std::uint32_t>(header.bytes) == own_query_,
            .what = header.sender_call};
  }

 private:
  std::uint32_t peer_query_ = 0;        ///< the number of the peer's last question
  std::uint32_t replied_lanes_ = 0;     ///< the lanes that it has been told about since, as bits
  std::uint32_t replied_blocking_ = 0;  ///< and that its program waits there
  std::uint32_t own_query_ = 0;         ///< the last one to the peer
  frame replies_[lane_count];
};

}  // namespace tutti::detail::tcp
