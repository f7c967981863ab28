// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer.hpp>

namespace tutti::inline v0_1_0::nn::detail {

/// What a layer inherits that has nothing to learn and nothing to remember.
template <class T>
struct stateless {
  using value_type = T;

  [[nodiscard]] static constexpr std::size_t parameters() noexcept { return 0; }
  [[nodiscard]] static constexpr std::size_t statistics() noexcept { return 0; }
  [[nodiscard]] static constexpr weight_blocks weights() noexcept { return {}; }
  static constexpr void bind(std::span<T>, std::span<T>, std::span<T>) noexcept {}
  static constexpr void initialise(random_sequence&) noexcept {}
  static constexpr void reserve(std::size_t) noexcept {}
};

}  // namespace tutti::nn::detail
