// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/columns.hpp>
#include <tutti/nn/cuda/detail/runtime/launch.hpp>

#include <cstddef>

// Channel-wise operations on batches, with one kernel for all. For sources compiled by nvcc.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// The distribution of pixels and channels over threads; depends only on sizes. A block has `width` packs of channels,
/// and `height` threads for each pack, which take pixels in turn.
struct columns_layout {
  unsigned width;
  unsigned height;
  unsigned parts;      ///< blocks along the pixels
  unsigned bands;      ///< blocks along the channels
  std::size_t pixels;  ///< pixels of a part

  columns_layout(std::size_t all_pixels, std::size_t packs, std::size_t channels, bool has_sums) {
    constexpr std::size_t widest = 64;
    constexpr std::size_t pixels_each = 8;
    bands = static_cast<unsigned>((packs + widest - 1) / widest);
    width = static_cast<unsigned>((packs + bands - 1) / bands);
    height = block_threads / width;
    std::size_t const requested_parts = (all_pixels + height * pixels_each - 1) / (height * pixels_each);
    std::size_t const limit = has_sums ? max_parts(channels) : std::size_t{1} << 30;
    std::size_t const part = requested_parts < limit ? requested_parts : limit;
    pixels = (all_pixels + part - 1) / part;
    parts = static_cast<unsigned>((all_pixels + pixels - 1) / pixels);
  }
  /// The most parts of a sum, which bounds its memory.
  [[nodiscard]] static std::size_t max_parts(std::size_t channels) {
    constexpr std::size_t room = std::size_t{1} << 18;
    std::size_t const parts_in_room = room / channels;
    return parts_in_room < 1 ? 1 : parts_in_room < 1024 ? parts_in_room : 1024;
  }
};

/// Sums over the threads of a block that handle the same channels, always in the same order.
template <std::size_t N>
__device__ void sum_of_block(float const (&thread_sums)[N], float (&sums)[N]) {
  __shared__ float block_sums[N][block_threads];
  unsigned const me = threadIdx.y * blockDim.x + threadIdx.x;
  for (std::size_t k = 0; k != N; ++k) {
    block_sums[k][me] = thread_sums[k];
  }
  __syncthreads();
  for (unsigned remaining = blockDim.y; remaining > 1;) {
    unsigned const half = (remaining + 1) / 2;
    if (threadIdx.y + half < remaining) {
      for (std::size_t k = 0; k != N; ++k) {
        block_sums[k][me] += block_sums[k][me + half * blockDim.x];
      }
    }
    __syncthreads();
    remaining = half;
  }
  for (std::size_t k = 0; k != N; ++k) {
    sums[k] = block_sums[k][me];
  }
}

/// The arguments of a channel-wise kernel.
template <class Operation, class T>
struct columns_call {
  Operation operation;
  T const* first;
  T const* second;  ///< null if the operation has one input
  T* output;        ///< may be one of the inputs
  std::size_t pixels;
  std::size_t part_pixels;
  unsigned channels;
  float* partial;  ///< parts x sums x channels
};
template <std::size_t V, class Operation, class T>
__global__ void __launch_bounds__(block_threads) columns(columns_call<Operation, T> const call) {
  using namespace tutti::detail::device;
  using tutti::detail::device::pack;  // nn has a function named pack
  constexpr std::size_t sums = Operation::sums;
  constexpr std::size_t room = sums == 0 ? 1 : V * sums;
  unsigned const pack_number = blockIdx.y * blockDim.x + threadIdx.x;
  std::size_t const c = pack_number * V;
  float sum[room] = {};
  if (c < call.channels) {
    typename Operation::channel channel[V];
    for (std::size_t k = 0; k != V; ++k) {
      channel[k] = call.operation.at(c + k);
    }
    std::size_t const begin = blockIdx.x * call.part_pixels;
    std::size_t const end = begin + call.part_pixels < call.pixels ? begin + call.part_pixels : call.pixels;
    for (std::size_t p = begin + threadIdx.y; p < end; p += blockDim.y) {
      std::size_t const i = p * call.channels + c;
      pack<T, V> const x = load_pack<V>(call.first + i);
      pack<T, V> second = x;
      if constexpr (Operation::inputs == 2) {
        second = load_pack<V>(call.second + i);
      }
      pack<T, V> result;
      for (std::size_t k = 0; k != V; ++k) {
        result.at[k] = static_cast<T>(
            call.operation(channel[k], static_cast<float>(x.at[k]), static_cast<float>(second.at[k]), sum + k * sums));
      }
      if constexpr (Operation::writes) {
        store_pack<V>(call.output + i, result);
      }
    }
  }
  if constexpr (sums != 0) {
    float block_sums[room];
    sum_of_block(sum, block_sums);
    if (threadIdx.y == 0 && c < call.channels) {
      for (std::size_t k = 0; k != V; ++k) {
        for (std::size_t s = 0; s != sums; ++s) {
          call.partial[(blockIdx.x * sums + s) * call.channels + c + k] = block_sums[k * sums + s];
        }
      }
    }
  }
}

/// Sums all parts in order, and calls `finish(i, sum)` for each of `count` sums.
template <class Finish>
__global__ void __launch_bounds__(block_threads)
    sum_parts(kernel_argument<Finish> const argument, unsigned parts, float const* partial) {
  std::size_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  float thread_sum[1] = {};
  if (i < argument.n) {
    for (unsigned p = threadIdx.y; p < parts; p += blockDim.y) {
      thread_sum[0] += partial[p * argument.n + i];
    }
  }
  float total[1];
  sum_of_block(thread_sum, total);
  if (threadIdx.y == 0 && i < argument.n) {
    argument.f(i, total[0]);
  }
}

/// The finish of an operation without sums.
struct no_finish {};

template <class T, class Operation, class Finish = no_finish>
void for_columns(char const* description, cudaStream_t stream, std::size_t pixels, std::size_t channels,
                 Operation const& operation, std::byte const* first, std::byte const* second, std::byte* output,
                 float* partial = nullptr, Finish const& finish = {}) {
  with_width<T>(channels, [&](auto width) {
    constexpr std::size_t v = decltype(width)::value;
    constexpr std::size_t sums = Operation::sums;
    columns_layout const layout(pixels, channels / v, channels, sums != 0);
    columns_call<Operation, T> const call{
        operation, numbers_at<T>(first), numbers_at<T>(second),           numbers_at<T>(output),
        pixels,    layout.pixels,        static_cast<unsigned>(channels), partial};
    columns<v><<<dim3(layout.parts, layout.bands), dim3(layout.width, layout.height), 0, stream>>>(call);
    check_launch(description);
    if constexpr (sums != 0) {
      std::size_t const count = sums * channels;
      sum_parts<<<static_cast<unsigned>((count + 31) / 32), dim3(32, block_threads / 32), 0, stream>>>(
          kernel_argument<Finish>{count, finish}, layout.parts, static_cast<float const*>(partial));
      check_launch(description);
    }
  });
}

/// Calls f with the activation as a type, if it is one of `Kinds`.
template <activation_kind... Kinds, class F>
void with_activation(activation_kind kind, F const& f) {
  static_cast<void>(((kind == Kinds && (f(std::integral_constant<activation_kind, Kinds>{}), true)) || ...));
}
template <class F>
void with_any_activation(activation_kind kind, F const& f) {
  using enum activation_kind;
  with_activation<identity, relu, nn::activation_kind::tanh, sigmoid>(kind, f);
}
/// Calls f with one of the two activations of batch normalisation.
template <class F>
void with_norm_activation(activation_kind kind, F const& f) {
  with_activation<activation_kind::identity, activation_kind::relu>(kind, f);
}

}  // namespace tutti::nn::detail::runtime
