// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/cut.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// A message that comes to this rank through a group, put together where it is wanted.
class incoming {
 public:
  /// @param window packets that are ever under way; called once, before all else
  void open(std::uint32_t window) { has_.resize(std::bit_ceil(window)); }
  void begin(std::size_t bytes) {
    cut_ = {bytes};
    place_ = nullptr;
    front_ = highest_ = 0;
    taken_ = held_ = 0;
    std::ranges::fill(has_, std::uint8_t{0});
  }
  void want(std::byte* place) noexcept { place_ = place; }

  [[nodiscard]] bool is_wanted() const noexcept { return place_ != nullptr; }
  /// Packets that have come without a gap.
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] bool over() const noexcept { return front_ == cut_.count(); }
  /// Whether packets are missing that have been sent, as far as is known.
  [[nodiscard]] bool lacks() const noexcept { return front_ < highest_; }
  /// As many packets have been sent.
  void hear_of(std::uint32_t count) noexcept {
    highest_ = (std::max)(highest_, (std::min)({count, cut_.count(), front_ + window()}));
  }

  enum class taking { stored, beyond_gap, ignored };
  /// Packet i. `beyond_gap`: stored, and some before it have not come.
  taking put(std::uint32_t i, std::span<std::byte const> bytes) noexcept {
    if (i < front_ || i >= cut_.count() || i - front_ >= window() || bytes.size() != cut_.length(i) || has(i) != 0) {
      return taking::ignored;
    }
    std::memcpy(place_ + cut::offset(i), bytes.data(), bytes.size());
    has(i) = 1;
    bool const skips = i > highest_;
    highest_ = (std::max)(highest_, i + 1);
    while (front_ != highest_ && has(front_) != 0) {
      has(front_++) = 0;  // its place serves a later one
    }
    return skips ? taking::beyond_gap : taking::stored;
  }

  /// Writes a bitmap of the packets from `front` on: those that are set have been sent, and have not come. Returns its
  /// length; 0: there are none.
  [[nodiscard]] std::size_t write_lacking(std::span<std::byte, udp::most_payload> to) const noexcept {
    std::size_t const count = (std::min)(std::size_t{highest_ - front_}, to.size() * 8);
    std::size_t const bytes = (count + 7) / 8;
    std::ranges::fill(to.first(bytes), std::byte{0});
    for (std::size_t k = 0; k < count; ++k) {
      if (has_[(front_ + k) & (window() - 1)] == 0) {
        to[k / 8] |= std::byte{1} << k % 8;
      }
    }
    return bytes;
  }

  /// What may be taken now, of whole granules.
  [[nodiscard]] chunk view(std::size_t granule) noexcept {
    std::size_t there = over() ? cut_.bytes : cut::offset(front_);
    there -= over() ? 0 : there % granule;
    if (there <= taken_) {
      return {};
    }
    held_ = there - taken_;
    return {place_ + taken_, held_};
  }
  void release() noexcept {
    taken_ += held_;
    held_ = 0;
  }

 private:
  [[nodiscard]] std::uint32_t window() const noexcept { return static_cast<std::uint32_t>(has_.size()); }
  [[nodiscard]] std::uint8_t& has(std::uint32_t i) noexcept { return has_[i & (window() - 1)]; }

  cut cut_{};
  std::byte* place_ = nullptr;
  std::uint32_t front_ = 0;
  std::uint32_t highest_ = 0;  ///< one more than the last that is known to have been sent
  std::size_t taken_ = 0;
  std::size_t held_ = 0;
  std::vector<std::uint8_t> has_;  ///< of the packets from `front` on
};

}  // namespace tutti::detail::multicast
