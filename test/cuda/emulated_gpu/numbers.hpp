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
decltype(auto) with_one(number type, Function const& f) {
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
  return with_one(type, [](auto one) { return sizeof one; });
}

/// True if the address is aligned for the type.
[[nodiscard]] inline bool aligned(void const* at, number type) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes_of(type) == 0;
}

/// Contiguous numbers in device memory.
struct numbers {
  number type;
  void const* first;
  std::size_t count;

  [[nodiscard]] std::size_t bytes() const { return count * bytes_of(type); }
};

/// Converts numbers to floats.
[[nodiscard]] inline std::vector<float> floats(numbers const& from) {
  std::vector<float> to(from.count);
  if (to.empty()) {
    return to;  // empty arrays may have no memory
  }
  with_one(from.type, [&](auto one) {
    auto const* const in = reinterpret_cast<decltype(one) const*>(emulated_gpu_memory(from.first, from.bytes()));
    for (std::size_t i = 0; i < from.count; ++i) {
      to[i] = in[i];
    }
  });
  return to;
}

/// Factors of the computed values and of the previous values.
struct blend {
  float alpha;
  float beta;  ///< 0: the previous values are not read
};

/// Sets the numbers to alpha x + beta times their previous values, rounded to nearest, ties to even.
inline void store(float const* x, numbers const& to, blend by) {
  with_one(to.type, [&](auto one) {
    using type = decltype(one);
    auto* const out = reinterpret_cast<type*>(emulated_gpu_memory(to.first, to.bytes()));
    for (std::size_t i = 0; by.beta == 0 && i < to.count; ++i) {
      out[i] = static_cast<type>(by.alpha * x[i]);
    }
    for (std::size_t i = 0; by.beta != 0 && i < to.count; ++i) {
      out[i] = static_cast<type>(by.alpha * x[i] + by.beta * static_cast<float>(out[i]));
    }
  });
}

/// Overwrites device memory with NaNs of every type, to reveal memory that was read or kept by mistake.
inline void spoil(void const* first, std::size_t bytes) {
  if (bytes != 0) {
    std::memset(emulated_gpu_memory(first, bytes), 0xff, bytes);
  }
}

}  // namespace tutti::emulated_gpu
