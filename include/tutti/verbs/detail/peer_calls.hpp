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

/// What a peer has called on a lane, for errors: read out of its memory when it is asked for.
class peer_calls {
 public:
  /// @param answer where it comes to: registered, with room for a call board
  peer_calls(std::byte* answer, std::uint32_t key) noexcept : answer_(answer), key_(key) {}
  void lie_at(card const& peer) noexcept {
    address_ = peer.calls;
    their_key_ = peer.calls_key;
  }

  /// Whether the answer about this lane is here; it is asked for if it is not.
  [[nodiscard]] bool are_known(queue_pair& q, std::uint32_t lane) noexcept {
    if (!asking_ && lane_ != lane) {
      ask(q, lane);
    }
    return !asking_ && lane_ == lane;
  }
  /// A question has been answered.
  void complete(std::uint32_t lane, bool good) noexcept {
    asking_ = false;
    lane_ = good ? lane : lane_count;
  }
  /// The call whose check this is.
  [[nodiscard]] std::string describe(std::uint32_t lane, std::uint32_t check) const {
    auto const& board = *std::launder(reinterpret_cast<call_board const*>(answer_));
    return lane_ == lane ? board.describe(check) : "a call that it has left since";
  }
  [[nodiscard]] static std::string text(call const& c, flow s) {
    return message({tutti::describe(c), " in flow ", s.number});
  }

 private:
  void ask(queue_pair& q, std::uint32_t lane) noexcept {
    ibv_sge to{reinterpret_cast<std::uintptr_t>(answer_), sizeof(call_board), key_};
    ibv_send_wr w{};
    w.opcode = IBV_WR_RDMA_READ;
    w.sg_list = &to;
    w.num_sge = 1;
    w.wr.rdma.remote_addr = address_ + lane * sizeof(call_board);
    w.wr.rdma.rkey = their_key_;
    asking_ = q.post(w, work::question, lane);
    lane_ = lane_count;
  }

  std::byte* answer_;
  std::uint32_t key_;
  std::uint64_t address_ = 0;
  std::uint32_t their_key_ = 0;
  std::uint32_t lane_ = lane_count;  ///< whose answer is here
  bool asking_ = false;
};

}  // namespace tutti::detail::verbs
