// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Requests about blocks of weights, one a block: some at a time, each repeated until it is answered.
class block_requests {
 public:
  /// Starts requests for this number of blocks.
  void begin(std::size_t blocks) {
    requests_.assign(blocks, {});
    front_ = 0;
    open_count_ = blocks;
  }
  void finish(std::uint32_t k) noexcept {
    if (k < requests_.size() && !requests_[k].is_over) {
      requests_[k].is_over = true;
      --open_count_;
    }
  }
  [[nodiscard]] std::size_t open_count() const noexcept { return open_count_; }
  /// Makes `push` repeat the request of block k at once.
  void repeat(std::uint32_t k) noexcept {
    if (k < requests_.size()) {
      requests_[k].send_time = {};
    }
  }
  [[nodiscard]] bool are_complete() noexcept {
    while (front_ != requests_.size() && requests_[front_].is_over) {
      ++front_;
    }
    return front_ == requests_.size();
  }

  /// Sends open requests that were not sent for this time: `send(k, tries)` returns false if the port is full.
  template <class Send>
  void push(time_point now, duration delay, Send const& send) {
    (void)are_complete();
    for (std::size_t i = front_; i < requests_.size() && i < front_ + max_in_flight; ++i) {
      request& x = requests_[i];
      if (x.is_over || now - x.send_time < delay) {
        continue;
      }
      if (!send(static_cast<std::uint32_t>(i), x.tries)) {
        return;
      }
      x.send_time = now;
      ++x.tries;
    }
  }

 private:
  static constexpr std::size_t max_in_flight = 64;  ///< requests in flight

  struct request {
    time_point send_time{};
    std::uint32_t tries = 0;
    bool is_over = false;
  };

  std::vector<request> requests_;
  std::size_t front_ = 0;
  std::size_t open_count_ = 0;
};

}  // namespace tutti::detail::fpga_nic
