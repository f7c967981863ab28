// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/udp/endpoint.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// Answers that are sent later, all after one delay. The queue grows as needed and is reused.
class late_answers {
 public:
  struct answer {
    tutti::time_point time{};
    tutti::detail::udp::endpoint destination{};
    tutti::detail::udp::header head{};
    std::array<std::byte, tutti::detail::udp::max_payload> bytes{};

    [[nodiscard]] std::span<std::byte const> payload() const noexcept { return std::span(bytes).first(head.length); }
  };

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// @pre not empty()
  [[nodiscard]] answer const& first() const noexcept { return ring_[begin_]; }
  void drop_first() noexcept {
    begin_ = (begin_ + 1) % ring_.size();
    --count_;
  }

  void add(tutti::time_point time, tutti::detail::udp::endpoint const& destination,
           tutti::detail::udp::header const& head, std::span<std::byte const> payload) {
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(begin_), ring_.end());
      begin_ = 0;
      ring_.resize(std::max<std::size_t>(64, 2 * count_));
    }
    answer& a = ring_[(begin_ + count_) % ring_.size()];
    a.time = time;
    a.destination = destination;
    a.head = head;
    std::copy(payload.begin(), payload.end(), a.bytes.begin());
    ++count_;
  }

 private:
  std::vector<answer> ring_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};
