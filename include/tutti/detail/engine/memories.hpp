// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The three memories of an operation on one rank. Each may be absent, and any two may be the same. `input` and
/// `output` may hold only this rank's own block: then their element 0 is element `input_origin` or `output_origin` of
/// the vector.
struct memories {
  std::byte const* input = nullptr;
  std::byte* work = nullptr;
  std::byte* output = nullptr;
  std::size_t input_origin = 0;
  std::size_t output_origin = 0;

  [[nodiscard]] constexpr std::byte const* base(tutti::memory memory) const noexcept {
    return memory == memory::input ? input : memory == memory::work ? work : output;
  }

  [[nodiscard]] constexpr std::size_t origin(tutti::memory memory) const noexcept {
    return memory == memory::input ? input_origin : memory == memory::output ? output_origin : 0;
  }

  /// The byte address of element `element` of the vector.
  [[nodiscard]] constexpr std::byte const* read(tutti::memory memory, std::size_t element,
                                                std::size_t size) const noexcept {
    return base(memory) + (element - origin(memory)) * size;
  }
  [[nodiscard]] constexpr std::byte* write(tutti::memory memory, std::size_t element, std::size_t size) const noexcept {
    return memory == memory::work ? work + element * size : output + (element - output_origin) * size;
  }

  /// True if the two name one memory, so that a block of one is that block of the other.
  [[nodiscard]] constexpr bool are_same(memory a, memory b) const noexcept { return a == b || base(a) == base(b); }
};

}  // namespace tutti::detail::engine
