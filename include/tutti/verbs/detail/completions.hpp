// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <algorithm>
#include <cstdint>
#include <fcntl.h>

namespace tutti::inline v0_1_0::detail::verbs {

/// What a work request was for.
enum class work : std::uint8_t {
  receive,
  send,      ///< nothing of it is waited for
  flush,     ///< what was posted before it has arrived: waited for before this rank leaves
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
  completions(device const& d, std::uint64_t entries) {
    standard_numbers const occupied;
    channel_ = decltype(channel_)(ibv_create_comp_channel(d.context.get()));
    if (!channel_ || ::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) {
      throw device_error(d.at, "cannot make a completion channel", errno);
    }
    inheritance::refuse(channel_->fd);
    make_room(d, entries);
  }

  /// Sees to it that so many can come before this rank looks.
  void make_room(device const& d, std::uint64_t entries) {
    if (entries <= room_) {
      return;
    }
    auto const most = static_cast<std::uint64_t>(d.limits.max_cqe);
    if (entries > most) {
      throw error(failure::join, message({d.at.text(), " has completion queues of ", most,
                                          " entries, and the peers of this rank need ", entries,
                                          ": take a topology with fewer edges, fewer ranks, or tcp"}));
    }
    std::uint64_t const next = (std::min)((std::max)(entries, 2 * room_), most);
    int code = 0;
    if (queue_) {
      code = ibv_resize_cq(queue_.get(), static_cast<int>(next));
    } else {
      queue_ = handle<ibv_cq, ibv_destroy_cq>(
          ibv_create_cq(d.context.get(), static_cast<int>(next), nullptr, channel_.get(), 0));
      code = queue_ ? 0 : errno;
    }
    if (code != 0) {
      throw device_error(d.at, message({"cannot make a completion queue of ", next, " entries"}), code);
    }
    room_ = next;
    armed_ = armed_ && ibv_req_notify_cq(queue_.get(), 0) == 0;
  }

  completions(completions const&) = delete;
  completions& operator=(completions const&) = delete;
  ~completions() {
    if (queue_) {
      ibv_ack_cq_events(queue_.get(), events_);  // or it would be waited for
    }
  }

  [[nodiscard]] ibv_cq* queue() const noexcept { return queue_.get(); }
  [[nodiscard]] int descriptor_number() const noexcept { return channel_->fd; }

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
  void arm() noexcept {
    if (!armed_) {
      armed_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
    }
  }
  /// True: something has completed.
  bool disarm() noexcept {
    ibv_cq* of = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &of, &context) != 0) {
      return false;
    }
    ++events_;
    armed_ = false;
    return true;
  }

 private:
  handle<ibv_comp_channel, close_channel> channel_;
  handle<ibv_cq, ibv_destroy_cq> queue_;
  std::uint64_t room_ = 0;
  std::uint32_t events_ = 0;  ///< taken; they are acknowledged together, for that takes a lock
  bool armed_ = false;
};

}  // namespace tutti::detail::verbs
