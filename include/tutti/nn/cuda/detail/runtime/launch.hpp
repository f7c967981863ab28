// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/cuda/error.hpp>
#include <tutti/extend/bfloat16.hpp>
#include <tutti/extend/half.hpp>
#include <tutti/nn/cuda/detail/runtime/kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// Shared parts of the kernels' definitions. For sources compiled by nvcc.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// Threads per block.
inline constexpr unsigned block_threads = 256;

/// The address of numbers in device memory.
template <class T>
[[nodiscard]] T const* numbers_at(std::byte const* p) {
  return reinterpret_cast<T const*>(p);
}
template <class T>
[[nodiscard]] T* numbers_at(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

/// Calls f with a number of that precision.
template <class F>
void with_numbers(precision p, F const& f) {
  switch (p) {
    case precision::float32:
      return f(float{});
    case precision::bfloat16:
      return f(bfloat16{});
    case precision::float16:
      return f(half{});
  }
}
/// Calls f with the width of packs: 16 bytes of numbers if that divides a row, else one number.
template <class T, class F>
void with_width(std::size_t row, F const& f) {
  constexpr std::size_t width = 16 / sizeof(T);
  if (row % width == 0) {
    f(std::integral_constant<std::size_t, width>{});
  } else {
    f(std::integral_constant<std::size_t, 1>{});
  }
}

/// The number of blocks for `pieces` pieces of work; each thread loops if there are more.
[[nodiscard]] inline unsigned blocks_for(std::size_t pieces, std::size_t limit = 4096) {
  std::size_t const blocks = (pieces + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks == 0 ? 1 : blocks < limit ? blocks : limit);
}

inline void check_launch(char const* description) {
  tutti::detail::runtime::examine(cudaGetLastError(),
                                  [=] { return "launching the kernel of " + std::string(description); });
}

/// All threads of a launch as one group that shares elements and never waits.
struct all_threads {
  [[nodiscard]] __device__ std::uint32_t rank() const { return blockIdx.x * blockDim.x + threadIdx.x; }
  [[nodiscard]] __device__ std::uint32_t size() const { return gridDim.x * blockDim.x; }
};

/// Arguments of a kernel, which takes no empty struct by itself; f is last for the reason in
/// cuda/detail/device/kernels.hpp.
template <class F>
struct kernel_argument {
  std::size_t n;
  F f;
};
/// Computes `destination = f(sources...)` element by element, in packs if all memories are aligned alike.
template <class F, class Places, class... From>
__global__ void __launch_bounds__(block_threads)
    elements(kernel_argument<F> const argument, Places const destination, From const*... sources) {
  using namespace tutti::detail::device;
  using To = typename Places::element_type;
  constexpr std::size_t width = pack_elements<To, From...>;
  all_threads const g;
  std::size_t packed_end = 0;
  if (destination.template begin_packs<width>(0) && (begins_pack<width>(sources) && ...)) {
    std::size_t const packs = argument.n / width;
    for (std::size_t i = g.rank(); i < packs; i += g.size()) {
      destination.store(i * width, map_packs<typename Places::result_type, width>(
                                       argument.f, load_pack<width>(sources + i * width)...));
    }
    packed_end = packs * width;
  }
  for (std::size_t i = packed_end + g.rank(); i < argument.n; i += g.size()) {
    destination.store(i, argument.f(sources[i]...));
  }
}
template <class F, class Places, class... From>
void for_elements(char const* description, cudaStream_t stream, std::size_t n, F const& f, Places const& destination,
                  From const*... sources) {
  constexpr std::size_t width = tutti::detail::device::pack_elements<typename Places::element_type, From...>;
  elements<<<blocks_for(n / width + 1), block_threads, 0, stream>>>(kernel_argument<F>{n, f}, destination, sources...);
  check_launch(description);
}
template <class T>
[[nodiscard]] tutti::detail::device::places<T> places_at(T* p) {
  return {{p}};
}
template <class T>
[[nodiscard]] tutti::detail::device::place_pair<T> places_at(T* p, T* q) {
  return {{p, q}};
}

}  // namespace tutti::nn::detail::runtime
