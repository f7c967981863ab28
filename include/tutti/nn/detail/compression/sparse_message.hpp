// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/compression/feedback.hpp>
#include <tutti/nn/compression/selection.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline compression {

/// A selection of a vector's elements, in words of 32 bits: their number, all indices, then all values; or, if that
/// would be longer, all elements, with zeros for those not selected.
///
/// Any words may follow a message, so that all ranks' messages can have one length.
namespace sparse_message {

/// Replaces the number of indices in a message with all elements.
inline constexpr std::uint32_t dense = 0xffffffffU;

/// The number of words for k of n elements.
[[nodiscard]] constexpr std::size_t words(std::size_t k, std::size_t n) noexcept {
  return 1 + (2 * k < n ? 2 * k : n);
}

/// Writes the chosen elements of the error feedback to a message, and removes them from the feedback.
/// @pre fewer than 2^32 - 1 elements
/// Cost: one pass over the elements; no allocation once the message has been as long
inline void encode(magnitude_cut selection, feedback& debt, std::vector<std::uint32_t>& message) {
  auto const numbers = debt.residual();
  expects(numbers.size() < dense, "sparse_message: a message can be of fewer than 2^32 - 1 numbers, not of ",
          numbers.size());
  message.assign(1, 0);
  auto const for_each_selected = [&](auto send) {
    std::size_t ties = selection.ties;
    for (std::size_t i = 0; i != numbers.size(); ++i) {
      std::uint32_t const m = magnitude(numbers[i]);
      if (m >= selection.at && (m > selection.at || ties != 0)) {
        ties -= m == selection.at ? 1U : 0U;
        send(i);
      }
    }
  };
  for_each_selected([&](std::size_t i) { message.push_back(static_cast<std::uint32_t>(i)); });
  std::size_t const k = message.size() - 1;
  if (2 * k < numbers.size()) {
    message[0] = static_cast<std::uint32_t>(k);
    for (std::size_t at = 1; at <= k; ++at) {
      std::size_t const i = message[at];
      message.push_back(std::bit_cast<std::uint32_t>(numbers[i]));
      debt.settle(i);
    }
  } else {
    message.assign(1 + numbers.size(), 0);
    message[0] = dense;
    for_each_selected([&](std::size_t i) {
      message[1 + i] = std::bit_cast<std::uint32_t>(numbers[i]);
      debt.settle(i);
    });
  }
}

/// Adds the elements of a message.
/// @throws error (failure::protocol) if the words are no message for this size; some elements may have been added
inline void add(std::span<std::uint32_t const> message, std::span<float> sum) {
  auto const refuse = [](std::string const& reason) {
    throw error(failure::protocol, "not a sparse message: " + reason);
  };
  if (message.empty()) {
    refuse("it has no words");
  }
  auto const body = message.subspan(1);
  if (message[0] == dense) {
    if (body.size() < sum.size()) {
      refuse(std::to_string(body.size()) + " numbers of " + std::to_string(sum.size()));
    }
    for (std::size_t i = 0; i != sum.size(); ++i) {
      sum[i] += std::bit_cast<float>(body[i]);
    }
    return;
  }
  std::size_t const k = message[0];
  if (k > sum.size() || body.size() < 2 * k) {
    refuse("it says that it holds " + std::to_string(k) + " of " + std::to_string(sum.size()) + " numbers, in " +
           std::to_string(body.size()) + " words");
  }
  std::size_t least = 0;
  for (std::size_t at = 0; at != k; ++at) {
    std::size_t const i = body[at];
    if (i < least || i >= sum.size()) {
      refuse("place " + std::to_string(i) + ", not one from " + std::to_string(least) + " to below " +
             std::to_string(sum.size()));
    }
    least = i + 1;
    sum[i] += std::bit_cast<float>(body[k + at]);
  }
}

}  // namespace sparse_message

}  // namespace tutti::nn::detail::compression
