// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/call_board.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/verbs/detail/queue_pair.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace tutti::inline v0_1_0::detail::verbs {

/// A peer's current calls, for errors. They are read from the peer's memory when an error needs them.
class peer_calls {
 public:
  /// @param answer registered memory for one call board
  peer_calls(std::byte* answer, std::uint32_t key) noexcept : answer_(answer), key_(key) {}
  void set_source(endpoint_info const& peer) noexcept {
    address_ = peer.calls_address;
    peer_key_ = peer.calls_key;
  }

  /// True if the calls of this lane are known; otherwise queries them.
  [[nodiscard]] bool has_answer(queue_pair& queue, std::uint32_t lane) noexcept {
    if (!query_pending_ && lane_ != lane) {
      query(queue, lane);
    }
    return !query_pending_ && lane_ == lane;
  }
  /// Handles the completion of a query.
  void complete(std::uint32_t lane, bool good) noexcept {
    query_pending_ = false;
    lane_ = good ? lane : lane_count;
  }
  /// Describes the call with this checksum.
  [[nodiscard]] std::string describe(std::uint32_t lane, std::uint32_t check) const {
    auto const& board = *std::launder(reinterpret_cast<call_board const*>(answer_));
    return lane_ == lane ? board.describe(check) : "a call that has ended since";
  }
  [[nodiscard]] static std::string text(call const& c, flow s) {
    return message({tutti::describe(c), " (number ", s.number, ")"});
  }

 private:
  void query(queue_pair& queue, std::uint32_t lane) noexcept {
    ibv_sge target{reinterpret_cast<std::uintptr_t>(answer_), sizeof(call_board), key_};
    ibv_send_wr work_request{};
    work_request.opcode = IBV_WR_RDMA_READ;
    work_request.sg_list = &target;
    work_request.num_sge = 1;
    work_request.wr.rdma.remote_addr = address_ + lane * sizeof(call_board);
    work_request.wr.rdma.rkey = peer_key_;
    query_pending_ = queue.post(work_request, work::question, lane);
    lane_ = lane_count;
  }

  std::byte* answer_;
  std::uint32_t key_;
  std::uint64_t address_ = 0;
  std::uint32_t peer_key_ = 0;
  std::uint32_t lane_ = lane_count;  ///< the lane of the answer
  bool query_pending_ = false;
};

}  // namespace tutti::detail::verbs
