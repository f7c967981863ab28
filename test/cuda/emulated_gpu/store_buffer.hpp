// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace emulated_gpu {

/// A block's writes that others need not see yet. They become visible at the block's next fence or release, or at its
/// end. CUDA does not promise it earlier.
class store_buffer {
 public:
  void add(void* address, std::uint64_t value, unsigned bytes) {
    if (stores_.size() == capacity) {
      drain();
    }
    stores_.push_back({address, value, bytes});
    std::size_t const b = bit(address);
    filter_[b / 64] |= std::uint64_t{1} << b % 64;
  }
  /// True if the buffer may hold a write to `address`. @param address aligned, of at most 16 bytes
  [[nodiscard]] bool may_have(void const* address) const {
    std::size_t const b = bit(address);
    return (filter_[b / 64] >> b % 64 & 1) != 0 &&
           std::any_of(stores_.begin(), stores_.end(),
                       [address](store const& s) { return unit_of(s.address) == unit_of(address); });
  }
  void drain() {
    for (store const& s : stores_) {
      write(s);
    }
    stores_.clear();
    filter_ = {};
  }

 private:
  struct store {
    void* address;
    std::uint64_t value;
    unsigned bytes;
  };
  static constexpr std::size_t capacity = 256;

  template <class T>
  static void write_as(store const& s) {
    std::atomic_ref(*static_cast<T*>(s.address)).store(static_cast<T>(s.value), std::memory_order_relaxed);
  }
  static void write(store const& s) {
    switch (s.bytes) {
      case 1:
        return write_as<std::uint8_t>(s);
      case 2:
        return write_as<std::uint16_t>(s);
      case 4:
        return write_as<std::uint32_t>(s);
      default:
        return write_as<std::uint64_t>(s);
    }
  }
  [[nodiscard]] static std::size_t bit(void const* address) { return unit_of(address) * 0x9E3779B97F4A7C15 >> 54; }
  /// The number of a 16-byte unit of memory.
  [[nodiscard]] static std::uint64_t unit_of(void const* address) {
    return reinterpret_cast<std::uint64_t>(address) / 16;
  }

  std::vector<store> stores_;
  std::array<std::uint64_t, 16> filter_{};  ///< 1024-bit filter of the 16-byte units that may have writes
};

}  // namespace emulated_gpu
