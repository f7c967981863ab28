// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <algorithm>
#include <cstdint>
#include <fcntl.h>

namespace tutti::inline v0_1_0::detail::verbs {

/// Purpose of a work request.
enum class work : std::uint8_t {
  receive,
  send,      ///< no rank waits for its completion
  flush,     ///< all earlier requests have arrived; a leaving rank waits for it
  read,      ///< a part of a long message
  question,  ///< the peer's call boards
};

/// Identifies a work request in its completion: purpose, peer, lane and number.
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
  fork_guard::remove(c->fd);
  ibv_destroy_comp_channel(c);
}

/// The completion queue of all work requests of a rank, and its descriptor to sleep on.
class completions {
 public:
  completions(device const& rdma_device, std::uint64_t entries) {
    standard_numbers const reserved_numbers;
    channel_ = decltype(channel_)(ibv_create_comp_channel(rdma_device.context.get()));
    if (!channel_ || ::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) {
      throw device_error(rdma_device.address, "cannot make a completion channel", errno);
    }
    fork_guard::add(channel_->fd);
    reserve(rdma_device, entries);
  }

  /// Grows the queue to hold this many completions between two polls.
  void reserve(device const& rdma_device, std::uint64_t entries) {
    if (entries <= capacity_) {
      return;
    }
    auto const limit = static_cast<std::uint64_t>(rdma_device.limits.max_cqe);
    if (entries > limit) {
      throw error(failure::join, message({rdma_device.address.text(), " has completion queues of ", limit,
                                          " entries, and the peers of this rank need ", entries,
                                          ": take a topology with fewer edges, fewer ranks, or tcp"}));
    }
    std::uint64_t const next = (std::min)((std::max)(entries, 2 * capacity_), limit);
    int code = 0;
    if (queue_) {
      code = ibv_resize_cq(queue_.get(), static_cast<int>(next));
    } else {
      queue_ = handle<ibv_cq, ibv_destroy_cq>(
          ibv_create_cq(rdma_device.context.get(), static_cast<int>(next), nullptr, channel_.get(), 0));
      code = queue_ ? 0 : errno;
    }
    if (code != 0) {
      throw device_error(rdma_device.address, message({"cannot make a completion queue of ", next, " entries"}), code);
    }
    capacity_ = next;
    is_armed_ = is_armed_ && ibv_req_notify_cq(queue_.get(), 0) == 0;
  }

  completions(completions const&) = delete;
  completions& operator=(completions const&) = delete;
  ~completions() {
    if (queue_) {
      ibv_ack_cq_events(queue_.get(),
                        unacknowledged_events_);  // the destructor of the queue waits for unacknowledged events
    }
  }

  [[nodiscard]] ibv_cq* queue() const noexcept { return queue_.get(); }
  [[nodiscard]] int descriptor_number() const noexcept { return channel_->fd; }

  /// Calls f(completion) for each new completion.
  template <class F>
  void drain(F f) {
    constexpr int batch = 16;
    ibv_wc batch_completions[batch];
    for (;;) {
      int const n = ibv_poll_cq(queue_.get(), batch, batch_completions);
      for (int i = 0; i < n; ++i) {
        f(batch_completions[i]);
      }
      if (n < batch) {
        return;
      }
    }
  }

  /// Makes the descriptor readable from the next completion on. Call `drain` afterwards: earlier completions do not
  /// signal.
  void arm() noexcept {
    if (!is_armed_) {
      is_armed_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
    }
  }
  /// Returns true if a completion has signalled.
  bool disarm() noexcept {
    ibv_cq* signalling_queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &signalling_queue, &context) != 0) {
      return false;
    }
    ++unacknowledged_events_;
    is_armed_ = false;
    return true;
  }

 private:
  handle<ibv_comp_channel, close_channel> channel_;
  handle<ibv_cq, ibv_destroy_cq> queue_;
  std::uint64_t capacity_ = 0;
  std::uint32_t unacknowledged_events_ =
      0;  ///< events not yet acknowledged; one call acknowledges all, because it takes a lock
  bool is_armed_ = false;
};

}  // namespace tutti::detail::verbs
