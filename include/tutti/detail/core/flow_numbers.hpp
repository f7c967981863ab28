// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline core {

/// Assigns flows to the operations of a communicator. Every rank starts the same operations in one order, so all ranks
/// number them alike. Flow s runs on lane s modulo collective_lanes, after flow s - collective_lanes has ended there.
class flow_numbers {
 public:
  /// Reserves `count` consecutive flows; returns the first.
  std::uint64_t reserve(std::uint64_t count) noexcept {
    const std::uint64_t first = next_;
    next_ += count;
    return first;
  }

  /// Counts an operation; returns the number of earlier ones, which users see. Segments do not count.
  std::uint64_t count_operation() noexcept { return operations_++; }
  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  [[nodiscard]] static constexpr flow flow_of(std::uint64_t number) noexcept {
    return {static_cast<std::uint32_t>(number % collective_lanes), static_cast<std::uint32_t>(number)};
  }

  /// True if all earlier flows on the lane of flow `number` have ended.
  [[nodiscard]] bool may_begin(std::uint64_t number) const noexcept {
    return end_counts_[number % collective_lanes] == number / collective_lanes;
  }
  void end(std::uint64_t number) noexcept { ++end_counts_[number % collective_lanes]; }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t operations_ = 0;
  std::array<std::uint64_t, collective_lanes> end_counts_{};
};

/// Numbers the messages of `send`, or of `recv`: those of one peer begin in order of starting.
class transfer_numbers {
 public:
  explicit transfer_numbers(rank_type peers) : start_counts_(peers), end_counts_(peers) {}

  std::uint64_t reserve(rank_type peer) { return start_counts_[peer]++; }
  [[nodiscard]] bool may_begin(rank_type peer, std::uint64_t number) const { return end_counts_[peer] == number; }
  void end(rank_type peer) { ++end_counts_[peer]; }
  /// True if all messages that were numbered have ended.
  [[nodiscard]] bool is_idle(rank_type peer) const { return start_counts_[peer] == end_counts_[peer]; }

 private:
  std::vector<std::uint64_t> start_counts_;
  std::vector<std::uint64_t> end_counts_;
};

}  // namespace tutti::detail::core
