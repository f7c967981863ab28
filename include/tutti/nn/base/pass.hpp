// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Adds numbers up over all ranks, in place: how layers whose value depends on the whole batch reach
/// the samples of other ranks, without knowing ranks. The default leaves them to this rank alone.
template <class T>
class rank_sum {
 public:
  constexpr rank_sum() noexcept = default;

  /// @param adder has `sum(std::span<T>)`, as a strategy does, and outlives this
  template <class Adder>
  constexpr explicit rank_sum(Adder& adder) noexcept
      : adder_(&adder), sum_([](void* at, std::span<T> numbers) { static_cast<Adder*>(at)->sum(numbers); }) {}

  /// Whether there is something to add to.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return sum_ != nullptr; }
  /// Adds them over all ranks, in place; by default it does nothing.
  void operator()(std::span<T> numbers) const {
    if (sum_ != nullptr) {
      sum_(adder_, numbers);
    }
  }

 private:
  void* adder_ = nullptr;
  void (*sum_)(void*, std::span<T>) = nullptr;
};

/// Called during backward with how much of the vector of all gradients is final already. The default
/// does nothing.
template <class T>
class completion {
 public:
  constexpr completion() noexcept = default;

  /// @param listener has `completed(T const* first)`, and outlives this: all gradients from that one to the
  ///        last are final. It is called again and again, not always with more.
  template <class Listener>
  constexpr explicit completion(Listener& listener) noexcept
      : listener_(&listener), tell_([](void* at, T const* first) { static_cast<Listener*>(at)->completed(first); }) {}

  /// Says that all gradients from that one to the last are final; by default it does nothing.
  void operator()(T const* first) const {
    if (tell_ != nullptr) {
      tell_(listener_, first);
    }
  }

 private:
  void* listener_ = nullptr;
  void (*tell_)(void*, T const*) = nullptr;
};

/// What a model's layers are to know about a batch besides its numbers.
template <class T>
struct pass {
  bool training = false;         ///< if not, dropout drops nothing, batch normalisation uses its running statistics
  std::uint64_t step = 0;        ///< of the training: random masks differ from step to step
  std::size_t first_row = 0;     ///< place of the batch's first row in the batch of all ranks
  rank_sum<T> sum = {};          ///< for statistics over the batch of all ranks
  completion<T> completed = {};  ///< in backward
};

}  // namespace tutti::nn
