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

/// What a block has written that others need not see yet: they have to when a fence or a release of the block comes
/// after it, and when the block has ended. Nothing says that they see it before.
class store_buffer {
 public:
  void put(void* at, std::uint64_t value, unsigned bytes) {
    if (stores_.size() == most) {
      drain();
    }
    stores_.push_back({at, value, bytes});
    std::size_t const b = bit(at);
    known_[b / 64] |= std::uint64_t{1} << b % 64;
  }
  /// Whether something may be there. @param at of at most 16 bytes, aligned to their number
  [[nodiscard]] bool may_have(void const* at) const {
    std::size_t const b = bit(at);
    return (known_[b / 64] >> b % 64 & 1) != 0 &&
           std::any_of(stores_.begin(), stores_.end(), [at](store const& s) { return room(s.at) == room(at); });
  }
  void drain() {
    for (store const& s : stores_) {
      write(s);
    }
    stores_.clear();
    known_ = {};
  }

 private:
  struct store {
    void* at;
    std::uint64_t value;
    unsigned bytes;
  };
  static constexpr std::size_t most = 256;

  template <class T>
  static void write_as(store const& s) {
    std::atomic_ref(*static_cast<T*>(s.at)).store(static_cast<T>(s.value), std::memory_order_relaxed);
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
  [[nodiscard]] static std::size_t bit(void const* at) { return room(at) * 0x9E3779B97F4A7C15 >> 54; }
  /// Which 16 bytes of memory.
  [[nodiscard]] static std::uint64_t room(void const* at) { return reinterpret_cast<std::uint64_t>(at) / 16; }

  std::vector<store> stores_;
  std::array<std::uint64_t, 16> known_{};  ///< one of 1024 bits for each 16 bytes in which something may be
};

}  // namespace emulated_gpu
