// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/verbs/device.hpp>
#include <tutti/message.hpp>

#include <cstdint>
#include <fcntl.h>

namespace tutti::detail::rdma {

/// What a work request was for.
enum class work : std::uint8_t {
  receive,
  send,      ///< nothing of it is waited for
  news,      ///< a fault or a goodbye: waited for before this rank leaves
  read,      ///< a part of a message
  question,  ///< the peer's calls
};

/// Says in a completion which work request it is of: what for, of which peer, on which lane, and a number.
struct work_id {
  work kind;
  rank_type peer;
  std::uint32_t lane;
  std::uint32_t number;

  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 60 | (std::uint64_t{peer} & 0xffffffU) << 36 |
           std::uint64_t{lane} << 32 | number;
  }
  [[nodiscard]] static constexpr work_id unpack(std::uint64_t id) noexcept {
    return {static_cast<work>(id >> 60), static_cast<rank_type>(id >> 36 & 0xffffffU),
            static_cast<std::uint32_t>(id >> 32 & 0xfU), static_cast<std::uint32_t>(id)};
  }
};
static_assert(lane_count <= 16);

inline void close_channel(ibv_comp_channel* c) noexcept {
  inheritance::allow(c->fd);
  ibv_destroy_comp_channel(c);
}

/// The completions of all of a rank's work requests, and what to sleep on for them.
class completions {
 public:
  completions(device const& d, std::uint64_t most) : channel_(ibv_create_comp_channel(d.context.get())) {
    if (!channel_ || ::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) {
      throw device_error(d.at, "cannot make a completion channel", errno);
    }
    inheritance::refuse(channel_->fd);
    if (most > static_cast<std::uint64_t>(d.limits.max_cqe)) {
      throw error(failure::join,
                  message({d.at.text(), " has completion queues of ", d.limits.max_cqe,
                           " entries, and the ranks of this world need ", most, ": take fewer ranks, or tcp"}));
    }
    int const entries = static_cast<int>(most);
    queue_ = handle<ibv_cq, ibv_destroy_cq>(
        ibv_create_cq(d.context.get(), entries < 1 ? 1 : entries, nullptr, channel_.get(), 0));
    if (!queue_) {
      throw device_error(d.at, message({"cannot make a completion queue of ", entries, " entries"}), errno);
    }
  }

  [[nodiscard]] ibv_cq* queue() const noexcept { return queue_.get(); }

  /// Calls f(completion) for each that has come.
  template <class F>
  void take(F f) {
    constexpr int batch = 16;
    ibv_wc some[batch];
    for (;;) {
      int const n = ibv_poll_cq(queue_.get(), batch, some);
      for (int i = 0; i < n; ++i) {
        f(some[i]);
      }
      if (n < batch) {
        return;
      }
    }
  }

  /// The descriptor is readable from the next completion on. What is there already is to be taken after this.
  [[nodiscard]] int arm() noexcept {
    if (!armed_) {
      armed_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
    }
    return channel_->fd;
  }
  void disarm() noexcept {
    ibv_cq* of = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &of, &context) == 0) {
      ibv_ack_cq_events(of, 1);
      armed_ = false;
    }
  }

 private:
  handle<ibv_comp_channel, close_channel> channel_;
  handle<ibv_cq, ibv_destroy_cq> queue_;
  bool armed_ = false;
};

}  // namespace tutti::detail::rdma
