// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory_of_device.hpp"
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tutti::emulated_gpu {

/// A type of numbers in device memory.
enum class number { float32, float16, bfloat16 };

/// Calls f with a number of that type and returns the result.
template <class Function>
decltype(auto) with_sample(number type, Function const& f) {
  switch (type) {
    case number::float16:
      return f(half{});
    case number::bfloat16:
      return f(bfloat16{});
    default:
      return f(float{});
  }
}

[[nodiscard]] inline std::size_t bytes_of(number type) {
  return with_sample(type, [](auto sample) { return sizeof sample; });
}

/// True if the address is aligned for the type.
[[nodiscard]] inline bool is_aligned(void const* address, number type) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes_of(type) == 0;
}

/// Contiguous numbers in device memory.
struct numbers {
  number type;
  void const* first;
  std::size_t count;

  [[nodiscard]] std::size_t bytes() const { return count * bytes_of(type); }
};

/// Converts numbers to floats.
[[nodiscard]] inline std::vector<float> floats(numbers const& source) {
  std::vector<float> result(source.count);
  if (result.empty()) {
    return result;  // empty arrays may have no memory
  }
  with_sample(source.type, [&](auto sample) {
    auto const* const input =
        reinterpret_cast<decltype(sample) const*>(emulated_gpu_memory(source.first, source.bytes()));
    for (std::size_t i = 0; i < source.count; ++i) {
      result[i] = input[i];
    }
  });
  return result;
}

/// Factors of the computed values and of the previous values.
struct blend {
  float alpha;
  float beta;  ///< 0: the previous values are not read
};

/// Sets the numbers to alpha x + beta times their previous values, rounded to nearest, ties to even.
inline void store(float const* x, numbers const& destination, blend factors) {
  with_sample(destination.type, [&](auto sample) {
    using type = decltype(sample);
    auto* const output = reinterpret_cast<type*>(emulated_gpu_memory(destination.first, destination.bytes()));
    for (std::size_t i = 0; factors.beta == 0 && i < destination.count; ++i) {
      output[i] = static_cast<type>(factors.alpha * x[i]);
    }
    for (std::size_t i = 0; factors.beta != 0 && i < destination.count; ++i) {
      output[i] = static_cast<type>(factors.alpha * x[i] + factors.beta * static_cast<float>(output[i]));
    }
  });
}

/// Overwrites device memory with NaNs of every type, to reveal memory that was read or kept by mistake.
inline void poison(void const* first, std::size_t bytes) {
  if (bytes != 0) {
    std::memset(emulated_gpu_memory(first, bytes), 0xff, bytes);
  }
}

}  // namespace tutti::emulated_gpu
