// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/elements.hpp>
#include <tutti/nn/cuda/detail/device/pooling.hpp>
#include <tutti/nn/cuda/detail/runtime/launch.hpp>

#include <cstddef>
#include <cstdint>

// Images and rows of numbers, each handled by a row of blocks. For sources compiled by nvcc.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// The grid for rows of work: blocks along a row, and rows up to the limit of a launch.
[[nodiscard]] inline dim3 blocks_of_rows(std::size_t pieces, std::size_t rows) {
  constexpr std::size_t limit = 65535;
  return {blocks_for(pieces), static_cast<unsigned>(rows < limit ? rows : limit)};
}

/// The arguments of a pooling kernel.
template <class T>
struct pooling_call {
  geometry::pooling l;
  std::size_t rows;
  T const* input;
  T* output;
  device::window_index* indices;
};
/// Calls f(r, s, c) for this thread's share of an image: the row, the column and the first channel of a pack.
template <std::size_t V, class F>
__device__ void for_packs(image_shape const& image, F const& f) {
  auto const packs = static_cast<unsigned>(image.channels / V);
  auto const columns = static_cast<unsigned>(image.columns);
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < image.rows * columns * packs;
       i += gridDim.x * blockDim.x) {
    unsigned const pixel = i / packs;
    unsigned const r = pixel / columns;
    f(r, pixel - r * columns, (i - pixel * packs) * V);
  }
}
template <std::size_t V, class T>
__global__ void __launch_bounds__(block_threads) pool_images(pooling_call<T> const call) {
  image_shape const& y = call.l.output;
  for (std::size_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    T const* const input = call.input + row * call.l.input.size();
    T* const output = call.output + row * y.size();
    for_packs<V>(y, [&](unsigned r, unsigned s, std::size_t c) {
      if (call.indices != nullptr) {
        device::pool_largest<V>(call.l, r, s, c, input, output, call.indices + row * y.size());
      } else {
        device::pool_mean<V>(call.l, r, s, c, input, output);
      }
    });
  }
}
template <std::size_t V, class T>
__global__ void __launch_bounds__(block_threads) differentiate_pool(pooling_call<T> const call) {
  image_shape const& x = call.l.input;
  for (std::size_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    std::size_t const offset = row * call.l.output.size();
    T* const output = call.output + row * x.size();
    for_packs<V>(x, [&](unsigned r, unsigned s, std::size_t c) {
      device::pool_backward<V>(call.l, r, s, c, call.input + offset,
                               call.indices == nullptr ? nullptr : call.indices + offset, output);
    });
  }
}

/// The arguments of a dropout kernel.
template <class T>
struct dropping_call {
  geometry::dropout l;
  std::size_t rows;
  std::uint64_t key;
  std::size_t first_row;
  T const* input;
  T* output;
};
template <std::size_t V, class T>
__global__ void __launch_bounds__(block_threads) drop_numbers(dropping_call<T> const call) {
  using namespace tutti::detail::device;
  using tutti::detail::device::pack;  // nn has a function named pack
  for (std::size_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    std::size_t const begin = row * call.l.numbers;
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < call.l.numbers / V; i += gridDim.x * blockDim.x) {
      device::dropout_factors factor(call.l, call.key, call.first_row + row, i * V);
      pack<T, V> x = load_pack<V>(call.input + begin + i * V);
      for (std::size_t k = 0; k != V; ++k) {
        x.at[k] = static_cast<T>(static_cast<float>(x.at[k]) * factor());
      }
      store_pack<V>(call.output + begin + i * V, x);
    }
  }
}

/// Transposes matrices with a short side: each thread moves one element, in the order of the output.
template <class To, class From>
__global__ void __launch_bounds__(block_threads)
    transpose_narrow(std::size_t count, unsigned rows, unsigned columns, From const* source, To* destination) {
  unsigned const size = rows * columns;
  for (std::size_t m = blockIdx.y; m < count; m += gridDim.y) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
      unsigned const column = i / rows;
      unsigned const row = i - column * rows;
      destination[m * size + i] = static_cast<To>(static_cast<float>(source[m * size + row * columns + column]));
    }
  }
}
inline constexpr unsigned tile = 32;
/// Transposes other matrices by tiles: both sides are accessed row by row.
template <class To, class From>
__global__ void __launch_bounds__(block_threads)
    transpose_tiles(std::size_t count, unsigned rows, unsigned columns, From const* source, To* destination) {
  __shared__ float elements[tile][tile + 1];
  unsigned const tile_columns = (columns + tile - 1) / tile;
  unsigned const tiles = tile_columns * ((rows + tile - 1) / tile);
  std::size_t const size = std::size_t{rows} * columns;
  for (std::size_t m = blockIdx.y; m < count; m += gridDim.y) {
    for (unsigned i = blockIdx.x; i < tiles; i += gridDim.x) {
      unsigned const top = i / tile_columns * tile;
      unsigned const left = i % tile_columns * tile;
      for (unsigned r = threadIdx.y; r < tile; r += blockDim.y) {
        if (top + r < rows && left + threadIdx.x < columns) {
          elements[r][threadIdx.x] =
              static_cast<float>(source[m * size + std::size_t{top + r} * columns + left + threadIdx.x]);
        }
      }
      __syncthreads();
      for (unsigned c = threadIdx.y; c < tile; c += blockDim.y) {
        if (left + c < columns && top + threadIdx.x < rows) {
          destination[m * size + std::size_t{left + c} * rows + top + threadIdx.x] =
              static_cast<To>(elements[threadIdx.x][c]);
        }
      }
      __syncthreads();
    }
  }
}
template <class To, class From>
void transpose_all(cudaStream_t stream, std::size_t count, std::size_t rows, std::size_t columns, From const* source,
                   To* destination) {
  constexpr std::size_t narrow_side = 16;
  constexpr std::size_t limit = 65535;
  auto const matrices = static_cast<unsigned>(count < limit ? count : limit);
  auto const r = static_cast<unsigned>(rows);
  auto const c = static_cast<unsigned>(columns);
  if (rows < narrow_side || columns < narrow_side) {
    transpose_narrow<<<blocks_of_rows(rows * columns, count), block_threads, 0, stream>>>(count, r, c, source,
                                                                                          destination);
  } else {
    std::size_t const tiles = ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile);
    transpose_tiles<<<dim3(static_cast<unsigned>(tiles < limit ? tiles : limit), matrices),
                      dim3(tile, block_threads / tile), 0, stream>>>(count, r, c, source, destination);
  }
  check_launch("transposing matrices");
}

}  // namespace tutti::nn::detail::runtime
