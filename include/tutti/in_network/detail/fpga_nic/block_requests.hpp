// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Something that is to be asked of each block of weights, of some at a time, until it has been answered.
class block_requests {
 public:
  /// Begins anew, for this number of blocks.
  void begin(std::size_t blocks) {
    all_.assign(blocks, {});
    front_ = 0;
    left_ = blocks;
  }
  /// That of block k is over.
  void finish(std::uint32_t k) noexcept {
    if (k < all_.size() && !all_[k].is_over) {
      all_[k].is_over = true;
      --left_;
    }
  }
  /// The operations that are not over.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  /// That of block k is to be sent again at once.
  void again(std::uint32_t k) noexcept {
    if (k < all_.size()) {
      all_[k].sent = {};
    }
  }
  [[nodiscard]] bool over() noexcept {
    while (front_ != all_.size() && all_[front_].is_over) {
      ++front_;
    }
    return front_ == all_.size();
  }

  /// Sends those that may be under way, and that were not sent for that long: `send(k, tries)` is false if no more can
  /// be.
  template <class Send>
  void push(time_point now, duration patience, Send const& send) {
    (void)over();
    for (std::size_t i = front_; i < all_.size() && i < front_ + most; ++i) {
      one& x = all_[i];
      if (x.is_over || now - x.sent < patience) {
        continue;
      }
      if (!send(static_cast<std::uint32_t>(i), x.tries)) {
        return;
      }
      x.sent = now;
      ++x.tries;
    }
  }

 private:
  static constexpr std::size_t most = 64;  ///< under way

  struct one {
    time_point sent{};
    std::uint32_t tries = 0;
    bool is_over = false;
  };

  std::vector<one> all_;
  std::size_t front_ = 0;
  std::size_t left_ = 0;
};

}  // namespace tutti::detail::fpga_nic
