// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/tcp/frame.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// Compares the calls of the two ends of a connection.
class call_checker {
 public:
  call_checker(rank_type me, rank_type peer) noexcept : me_(me), peer_(peer) {}

  /// @throws error (failure::mismatch) unless the message belongs to this call and has this size
  void check_message(frame const& header, flow s, call const& own_call, std::size_t bytes) const {
    if (header.number != s.number || header.sender_call.fingerprint() != own_call.fingerprint() ||
        header.bytes != bytes) [[unlikely]] {
      throw_mismatch(header, s, own_call, bytes);
    }
  }

  /// True if a call_query for this lane must be sent; false while one has no reply.
  [[nodiscard]] bool begin_query(std::uint32_t lane) noexcept {
    bool const is_first = (open_queries_ >> lane & 1U) == 0;
    open_queries_ |= 1U << lane;
    return is_first;
  }
  /// @throws error (failure::mismatch) if the peer has replied that it is at this flow with another call
  void check_reply(flow s, call const& own_call) const {
    frame const& reply = replies_[s.lane];
    if (reply.bytes != 0 && reply.number == s.number && reply.sender_call.fingerprint() != own_call.fingerprint()) {
      throw_mismatch(reply, s, own_call);
    }
  }

  void receive(frame const& header) noexcept {
    if (header.kind == frame_kind::call_query) {
      queried_lanes_ |= 1U << header.lane;
    } else {
      open_queries_ &= ~(1U << header.lane);
      replies_[header.lane] = header;
    }
  }

  /// Returns the lanes that the peer has queried, as bits, and clears them.
  [[nodiscard]] std::uint32_t take_queries() noexcept { return std::exchange(queried_lanes_, 0U); }

 private:
  [[noreturn]] void throw_mismatch(frame const& header, flow s, call const& own_call) const;
  [[noreturn]] void throw_mismatch(frame const& header, flow s, call const& own_call, std::size_t bytes) const;

  rank_type me_;
  rank_type peer_;
  std::uint32_t queried_lanes_ = 0;
  std::uint32_t open_queries_ = 0;
  frame replies_[lane_count];
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/call_checker.ipp>
#endif
