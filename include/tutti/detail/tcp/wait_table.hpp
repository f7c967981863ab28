// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>
#include <tutti/extend/message.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// Wait states: the queries and replies of both ends of a connection about which rank waits for which.
class wait_table {
 public:
  void receive(frame const& header) noexcept {
    if (header.kind == frame_kind::wait_query) {
      peer_query_ = header.number;
      replied_lanes_ = replied_blocking_ = 0;
    } else {
      replies_[header.lane] = header;
    }
  }

  /// Makes a new query for the rank that the peer waits for.
  [[nodiscard]] frame make_query() noexcept { return {.kind = frame_kind::wait_query, .number = ++own_query_}; }

  /// True if the peer's last query has no reply yet for this lane.
  [[nodiscard]] bool needs_reply(wait_report const& report) const noexcept {
    return peer_query_ != 0 &&
           ((report.blocks_program ? replied_blocking_ : replied_lanes_) >> report.flow.lane & 1U) == 0;
  }
  /// Makes the reply to the peer's last query.
  [[nodiscard]] frame make_reply(wait_report const& report) noexcept {
    replied_lanes_ |= 1U << report.flow.lane;
    replied_blocking_ |= report.blocks_program ? 1U << report.flow.lane : 0U;
    return {.kind = frame_kind::wait_reply,
            .lane = static_cast<std::uint8_t>(report.flow.lane),
            .blocks = report.blocks_program,
            .number = report.flow.number,
            .part = report.peer,
            .bytes = std::uint64_t{report.progress} << 32 | peer_query_,
            .sender_call = report.call};
  }

  /// The last report of the peer about a lane.
  [[nodiscard]] wait_report last_report(std::uint32_t lane) const noexcept {
    frame const& header = replies_[lane];
    if (header.kind != frame_kind::wait_reply) {
      return {};
    }
    return {.peer = header.part,
            .flow = {lane, header.number},
            .progress = static_cast<std::uint32_t>(header.bytes >> 32),
            .blocks_program = header.blocks != 0,
            .is_fresh = static_cast<std::uint32_t>(header.bytes) == own_query_,
            .call = header.sender_call};
  }

 private:
  std::uint32_t peer_query_ = 0;        ///< number of the peer's last query
  std::uint32_t replied_lanes_ = 0;     ///< lanes with a reply to it, as bits
  std::uint32_t replied_blocking_ = 0;  ///< lanes with a reply that the program blocks, as bits
  std::uint32_t own_query_ = 0;         ///< number of the last query to the peer
  frame replies_[lane_count];
};

}  // namespace tutti::detail::tcp
