// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/packetization.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// A message that this rank receives through a group, assembled at its target.
class incoming {
 public:
  /// @param window packets that may be in flight; called once, before all else
  void open(std::uint32_t window) { arrivals_.resize(std::bit_ceil(window)); }
  void begin(std::size_t bytes) {
    layout_ = {bytes};
    target_ = nullptr;
    front_ = known_count_ = 0;
    consumed_bytes_ = viewed_bytes_ = 0;
    std::ranges::fill(arrivals_, std::uint8_t{0});
  }
  void set_target(std::byte* target) noexcept { target_ = target; }

  [[nodiscard]] bool has_target() const noexcept { return target_ != nullptr; }
  /// Number of packets received without a gap.
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] bool is_complete() const noexcept { return front_ == layout_.count(); }
  /// True if packets are missing that were sent, as far as this rank knows.
  [[nodiscard]] bool is_missing_packets() const noexcept { return front_ < known_count_; }
  /// Learns that the root has sent this many packets.
  void learn_sent_count(std::uint32_t count) noexcept {
    known_count_ = (std::max)(known_count_, (std::min)({count, layout_.count(), front_ + window()}));
  }

  enum class store_result { success, beyond_gap, rejection };
  /// Stores packet i. Returns `beyond_gap` if packets before it are missing.
  store_result store(std::uint32_t i, std::span<std::byte const> bytes) noexcept {
    if (i < front_ || i >= layout_.count() || i - front_ >= window() || bytes.size() != layout_.length(i) ||
        arrival(i) != 0) {
      return store_result::rejection;
    }
    std::memcpy(target_ + packetization::offset(i), bytes.data(), bytes.size());
    arrival(i) = 1;
    bool const skips = i > known_count_;
    known_count_ = (std::max)(known_count_, i + 1);
    while (front_ != known_count_ && arrival(front_) != 0) {
      arrival(front_++) = 0;  // the entry serves a later packet
    }
    return skips ? store_result::beyond_gap : store_result::success;
  }

  /// Writes a bitmap of the missing packets, from `front` on. Returns its length, 0 if nothing is missing.
  [[nodiscard]] std::size_t write_missing(std::span<std::byte, udp::max_payload> bitmap) const noexcept {
    std::size_t const count = (std::min)(std::size_t{known_count_ - front_}, bitmap.size() * 8);
    std::size_t const bytes = (count + 7) / 8;
    std::ranges::fill(bitmap.first(bytes), std::byte{0});
    for (std::size_t k = 0; k < count; ++k) {
      if (arrivals_[(front_ + k) & (window() - 1)] == 0) {
        bitmap[k / 8] |= std::byte{1} << k % 8;
      }
    }
    return bytes;
  }

  /// The bytes that may be consumed now, in whole granules.
  [[nodiscard]] chunk view(std::size_t granule) noexcept {
    std::size_t available = is_complete() ? layout_.bytes : packetization::offset(front_);
    available -= is_complete() ? 0 : available % granule;
    if (available <= consumed_bytes_) {
      return {};
    }
    viewed_bytes_ = available - consumed_bytes_;
    return {target_ + consumed_bytes_, viewed_bytes_};
  }
  void release() noexcept {
    consumed_bytes_ += viewed_bytes_;
    viewed_bytes_ = 0;
  }

 private:
  [[nodiscard]] std::uint32_t window() const noexcept { return static_cast<std::uint32_t>(arrivals_.size()); }
  [[nodiscard]] std::uint8_t& arrival(std::uint32_t i) noexcept { return arrivals_[i & (window() - 1)]; }

  packetization layout_{};
  std::byte* target_ = nullptr;
  std::uint32_t front_ = 0;
  std::uint32_t known_count_ = 0;  ///< number of packets that are known to have been sent
  std::size_t consumed_bytes_ = 0;
  std::size_t viewed_bytes_ = 0;
  std::vector<std::uint8_t> arrivals_;  ///< by packet, from `front` on: 1 if it has arrived
};

}  // namespace tutti::detail::multicast
