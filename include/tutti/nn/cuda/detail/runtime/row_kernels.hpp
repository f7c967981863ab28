// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/softmax.hpp>
#include <tutti/nn/cuda/detail/runtime/column_kernels.hpp>
#include <tutti/nn/cuda/detail/runtime/launch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

// The loss, with a warp per row of scores, and weight normalisation. For sources compiled by nvcc.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// The threads of a warp; see device::softmax_of_row.
struct warp_lanes {
  static constexpr unsigned all_lanes = 0xffffffffU;

  [[nodiscard]] __device__ static std::size_t rank() { return threadIdx.x; }
  [[nodiscard]] __device__ static std::size_t size() { return warpSize; }
  [[nodiscard]] __device__ static device::largest_of_row largest(device::largest_of_row candidate) {
    for (int step = 16; step != 0; step /= 2) {
      device::largest_of_row const other{__shfl_xor_sync(all_lanes, candidate.value, step),
                                         __shfl_xor_sync(all_lanes, candidate.at, step)};
      candidate = device::largest_of_row::larger(candidate, other);
    }
    return candidate;
  }
  [[nodiscard]] __device__ static float sum(float value) {
    for (int step = 16; step != 0; step /= 2) {
      value += __shfl_xor_sync(all_lanes, value, step);
    }
    return value;
  }
};

inline constexpr unsigned loss_blocks = 128;
inline constexpr unsigned warps = block_threads / 32;

template <class T>
struct loss_call {
  std::size_t rows;
  std::size_t classes;
  T const* scores;
  std::uint8_t const* labels;
  device::loss_step step;
  T* derivatives;
  float* partial;  ///< two per block
};
/// Computes losses; a block takes rows in turn, one per warp.
template <class T>
__global__ void __launch_bounds__(block_threads) losses(loss_call<T> const call) {
  __shared__ float sums[2][warps];
  device::row_metrics thread_metrics{};
  for (std::size_t row = blockIdx.x * warps + threadIdx.y; row < call.rows; row += gridDim.x * warps) {
    T* const derivatives = call.derivatives == nullptr ? nullptr : call.derivatives + row * call.classes;
    device::row_metrics const metrics = device::softmax_of_row(
        warp_lanes{}, call.classes, call.scores + row * call.classes, call.labels[row], call.step, derivatives);
    thread_metrics.loss += metrics.loss;
    thread_metrics.correct += metrics.correct;
  }
  if (threadIdx.x == 0) {
    sums[0][threadIdx.y] = thread_metrics.loss;
    sums[1][threadIdx.y] = thread_metrics.correct;
  }
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.x < 2) {
    float sum = 0;
    for (unsigned w = 0; w != warps; ++w) {
      sum += sums[threadIdx.x][w];
    }
    call.partial[2 * blockIdx.x + threadIdx.x] = sum;
  }
}

/// Multiplies a sum by a share.
struct share_writer {
  float share;
  float* result;

  constexpr void operator()(std::size_t i, float sum) const { result[i] = sum * share; }
};

template <class T>
void add_losses(cudaStream_t stream, loss_call<T> const& call, float* result) {
  std::size_t const requested_blocks = (call.rows + warps - 1) / warps;
  auto const blocks = static_cast<unsigned>(requested_blocks < loss_blocks ? requested_blocks : loss_blocks);
  losses<<<blocks, dim3(32, warps), 0, stream>>>(call);
  check_launch("softmax");
  sum_parts<<<1, dim3(32, warps), 0, stream>>>(kernel_argument<share_writer>{2, {call.step.share, result}}, blocks,
                                               static_cast<float const*>(call.partial));
  check_launch("summing losses");
}

/// The arguments of weight normalisation: each block of weights has `length` rows of `units`.
struct weights_call {
  std::size_t length;
  std::size_t units;
  float const* v;
  float const* lengths;  ///< g
  float const* slopes;   ///< dw; null to compute w
  float* output;         ///< w, or dv
  float* length_slopes;  ///< dg
};
/// Normalises columns, 32 per block, each shared by several threads.
template <class Call>
__global__ void __launch_bounds__(block_threads) normalise_columns(Call const call) {
  std::size_t const first = blockIdx.y * call.length * call.units;
  std::size_t const unit = blockIdx.x * blockDim.x + threadIdx.x;
  bool const is_in_range = unit < call.units;
  float sum[2] = {};  // sum of squares, and of products with dw
  for (std::size_t i = threadIdx.y; is_in_range && i < call.length; i += blockDim.y) {
    std::size_t const at = first + i * call.units + unit;
    sum[0] += call.v[at] * call.v[at];
    sum[1] += call.slopes == nullptr ? 0.0F : call.slopes[at] * call.v[at];
  }
  __shared__ float unit_totals[2][32];
  float total[2];
  sum_of_block(sum, total);
  if (threadIdx.y == 0) {
    unit_totals[0][threadIdx.x] = total[0];
    unit_totals[1][threadIdx.x] = total[1];
  }
  __syncthreads();
  if (!is_in_range) {
    return;
  }
  float const square = unit_totals[0][threadIdx.x];
  float const product = unit_totals[1][threadIdx.x];
  float const factor = call.lengths[blockIdx.y * call.units + unit] / std::sqrt(square);
  if (call.slopes != nullptr && threadIdx.y == 0) {
    call.length_slopes[blockIdx.y * call.units + unit] = product / std::sqrt(square);
  }
  for (std::size_t i = threadIdx.y; i < call.length; i += blockDim.y) {
    std::size_t const at = first + i * call.units + unit;
    call.output[at] =
        call.slopes == nullptr ? call.v[at] * factor : factor * (call.slopes[at] - call.v[at] * product / square);
  }
}
inline void for_weights(cudaStream_t stream, geometry::weight_norm const& l, weights_call const& call) {
  normalise_columns<<<dim3(static_cast<unsigned>((l.units + 31) / 32), static_cast<unsigned>(l.blocks)),
                      dim3(32, block_threads / 32), 0, stream>>>(call);
  check_launch("normalising weights");
}

}  // namespace tutti::nn::detail::runtime
