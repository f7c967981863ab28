// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Sums values over all ranks, in place. Layers whose value depends on the whole batch reach the samples of other
/// ranks with it, without knowing ranks. By default values are this rank's only.
template <class T>
class rank_sum {
 public:
  constexpr rank_sum() noexcept = default;

  /// @param adder has `sum(std::span<T>)`, as a strategy does, and outlives this
  template <class Adder>
  constexpr explicit rank_sum(Adder& adder) noexcept
      : adder_(&adder), sum_([](void* at, std::span<T> numbers) { static_cast<Adder*>(at)->sum(numbers); }) {}

  /// True if there is an adder.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return sum_ != nullptr; }
  /// Sums over all ranks, in place; without an adder does nothing.
  void operator()(std::span<T> numbers) const {
    if (sum_ != nullptr) {
      sum_(adder_, numbers);
    }
  }

 private:
  void* adder_ = nullptr;
  void (*sum_)(void*, std::span<T>) = nullptr;
};

/// Called during backward with the part of the gradient vector that is final. The default does nothing.
template <class T>
class completion {
 public:
  constexpr completion() noexcept = default;

  /// @param listener has `on_completion(T const* first)`, called when all gradients from `first` to the last are final,
  /// and outlives this. It is called repeatedly, not always with a larger part.
  template <class Listener>
  constexpr explicit completion(Listener& listener) noexcept
      : listener_(&listener),
        tell_([](void* at, T const* first) { static_cast<Listener*>(at)->on_completion(first); }) {}

  /// Announces that all gradients from `first` to the last are final; without a listener does nothing.
  void operator()(T const* first) const {
    if (tell_ != nullptr) {
      tell_(listener_, first);
    }
  }

 private:
  void* listener_ = nullptr;
  void (*tell_)(void*, T const*) = nullptr;
};

/// The context of a batch: all that a model's layers know about it besides its values.
template <class T>
struct batch_context {
  /// True in training. If false, dropout drops nothing and batch normalisation uses its running statistics.
  bool training = false;
  std::uint64_t step = 0;            ///< index of the step in the training; random masks differ from step to step
  std::size_t first_row = 0;         ///< index of the batch's first row in the batch of all ranks
  rank_sum<T> sum = {};              ///< sum for statistics over the batch of all ranks
  completion<T> on_completion = {};  ///< listener of backward
};

}  // namespace tutti::nn
