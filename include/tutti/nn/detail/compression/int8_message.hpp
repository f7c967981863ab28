// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/compression/selection.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

namespace tutti::inline v0_1_0::nn::detail::inline compression {

/// An encoding of numbers in 8 bits: integers from -127 to 127, times a scale for each block of 256, the block's
/// largest magnitude over 127 (Dettmers, "8-bit approximations for parallelism in deep learning", ICLR 2016; with a
/// scale for each block, as in QSGD's buckets, Alistarh et al., NeurIPS 2017). Rounded to nearest: a number changes
/// by at most half a scale, 1/254 of its block's largest. Rounding to nearest has half the error of random rounding;
/// error feedback removes its bias.
///
/// A block with an infinite number or a NaN becomes NaN; a block of numbers below 127 x 2^-126 becomes zero.
///
/// A message consists of words of 32 bits: the scales of all blocks, then the numbers, four to a word.
namespace int8_message {

inline constexpr std::size_t block = 256;

/// The number of words for n numbers: 1.016 bytes a number.
[[nodiscard]] constexpr std::size_t words(std::size_t n) noexcept {
  return (n + block - 1) / block + (n + 3) / 4;
}

/// Encodes up to a block of numbers, and replaces them by the rounding errors.
/// @returns the scale
template <class Count>
float encode_block(Count count, float* numbers, std::int8_t* destination) {
  std::size_t const n = count;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t const m = magnitude(numbers[i]);
    largest = largest < m ? m : largest;
  }
  float const largest_value = std::bit_cast<float>(largest);
  if (largest >= magnitude(std::numeric_limits<float>::infinity())) {
    std::memset(destination, 0, n);
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (largest_value < 127 * (std::numeric_limits<float>::min)()) {
    std::memset(destination, 0, n);
    return 0;
  }
  float const scale = largest_value / 127;
  float const per_unit = 127 / largest_value;
  // Adding this constant rounds a small number to an integer, which is in the last bits of the sum.
  constexpr float whole = 0x1.8p23F;
  constexpr auto zero = std::bit_cast<std::int32_t>(whole);
  for (std::size_t i = 0; i < n; ++i) {
    auto const q = std::bit_cast<std::int32_t>(numbers[i] * per_unit + whole) - zero;
    destination[i] = static_cast<std::int8_t>(q);
    numbers[i] -= static_cast<float>(q) * scale;
  }
  return scale;
}

template <class Count>
bool decode_block(Count count, float scale, std::int8_t const* source, float* numbers) {
  std::size_t const n = count;
  std::int8_t least = 0;
  for (std::size_t i = 0; i < n; ++i) {
    least = source[i] < least ? source[i] : least;
    numbers[i] = static_cast<float>(source[i]) * scale;
  }
  return least >= -127 && (scale >= 0 || scale != scale);
}

using whole_block = std::integral_constant<std::size_t, block>;

/// Encodes numbers, and replaces them by the rounding errors; blocks with a NaN or an infinity are unchanged.
/// @pre the message has words(numbers.size()) words
inline void encode(std::span<float> numbers, std::span<std::uint32_t> message) {
  std::size_t const n = numbers.size();
  expects(message.size() == words(n), "int8_message: ", n, " numbers take ", words(n), " words, not ", message.size());
  if (n == 0) {
    return;
  }
  message.back() = 0;  // the last bytes may belong to no number
  auto* const values = reinterpret_cast<std::byte*>(message.data() + (n + block - 1) / block);
  std::int8_t buffer[block];
  for (std::size_t first = 0; first < n; first += block) {
    std::size_t const count = (std::min)(block, n - first);
    float const scale = count == block ? encode_block(whole_block{}, numbers.data() + first, buffer)
                                       : encode_block(count, numbers.data() + first, buffer);
    std::memcpy(values + first, buffer, count);
    message[first / block] = std::bit_cast<std::uint32_t>(scale);
  }
}

/// Decodes numbers.size() numbers.
/// @throws error (failure::protocol) if the words are not a message of this size
inline void decode(std::span<std::uint32_t const> message, std::span<float> numbers) {
  std::size_t const n = numbers.size();
  if (message.size() != words(n)) {
    throw error(failure::protocol, "not a message of " + std::to_string(n) +
                                       " numbers in 8 bits: " + std::to_string(message.size()) + " words, not the " +
                                       std::to_string(words(n)) + " expected");
  }
  auto const* const values = reinterpret_cast<std::byte const*>(message.data() + (n + block - 1) / block);
  std::int8_t buffer[block];
  for (std::size_t first = 0; first < n; first += block) {
    auto const scale = std::bit_cast<float>(message[first / block]);
    std::size_t const count = (std::min)(block, n - first);
    std::memcpy(buffer, values + first, count);
    bool const is_valid = count == block ? decode_block(whole_block{}, scale, buffer, numbers.data() + first)
                                         : decode_block(count, scale, buffer, numbers.data() + first);
    if (!is_valid) {
      throw error(failure::protocol,
                  "not a message of numbers in 8 bits: a negative scale, or a number of -128, in block " +
                      std::to_string(first / block));
    }
  }
}

}  // namespace int8_message

}  // namespace tutti::nn::detail::compression
