// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A set of workers, as in the bitmap of `missing`.
class worker_set {
 public:
  [[nodiscard]] constexpr bool has(unsigned w) const noexcept { return (words_[w / 64] >> (w % 64) & 1U) != 0; }
  constexpr void add(unsigned w) noexcept { words_[w / 64] |= std::uint64_t{1} << (w % 64); }

  /// The first worker not below `first`, or at least `udp::max_workers` if there is none.
  [[nodiscard]] constexpr unsigned next(unsigned first) const noexcept {
    for (unsigned i = first / 64; i < words_.size(); ++i) {
      std::uint64_t const left = i == first / 64 ? words_[i] >> (first % 64) << (first % 64) : words_[i];
      if (left != 0) {
        return i * 64 + static_cast<unsigned>(std::countr_zero(left));
      }
    }
    return udp::max_workers;
  }
  /// Calls f for each worker, in order.
  template <class F>
  constexpr void for_each(F const& f) const {
    for (unsigned w = next(0); w < udp::max_workers; w = next(w + 1)) {
      f(static_cast<std::uint8_t>(w));
    }
  }

  /// Writes the first bits as bytes.
  constexpr void write(std::span<std::byte> bytes) const noexcept {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(words_[i / 8] >> (i % 8 * 8));
    }
  }
  /// @pre at most 32 bytes; bits of workers that do not exist are ignored
  [[nodiscard]] static constexpr worker_set read(std::span<std::byte const> bytes, unsigned workers) noexcept {
    worker_set result;
    for (unsigned w = 0; w < workers && w / 8 < bytes.size(); ++w) {
      if ((static_cast<unsigned>(bytes[w / 8]) >> (w % 8) & 1U) != 0) {
        result.add(w);
      }
    }
    return result;
  }

  friend constexpr bool operator==(worker_set const&, worker_set const&) = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace tutti::detail::fpga_nic
