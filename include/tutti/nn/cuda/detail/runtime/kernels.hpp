// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/stream.hpp>
#include <tutti/nn/cuda/detail/device/math.hpp>

#include <cstddef>
#include <cstdint>

/// The trainer's own kernels, as functions that put them into a stream of the current device. They are defined in
/// `tutti/nn/cuda/cuda.cu`, which nvcc compiles: the trainer's headers, which it cannot read, and kernels never meet.
///
/// What they compute `device_math` says. Numbers are of the precision that is named; `partial` has room for
/// `partial_floats`. How work is cut depends on sizes alone, so bits do, too.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// Where work goes, and of what precision its numbers are.
struct place {
  cudaStream_t in;
  precision numbers;
};

/// Floats for parts of sums over pixels of so many channels, whatever the number of pixels.
[[nodiscard]] std::size_t partial_floats(std::size_t channels);
/// Floats for parts of a batch's loss.
[[nodiscard]] std::size_t loss_floats();

// Batches, channel by channel.

/// y = activation(y + bias); bias may be null.
void add_bias(place const& p, activation_kind kind, std::size_t pixels, std::size_t channels, float const* bias,
              std::byte* y);
/// dy times the slope at y; their sums over pixels unless `sums` is null.
void take_slopes(place const& p, activation_kind kind, std::size_t pixels, std::size_t channels, std::byte const* y,
                 std::byte* dy, float* sums, float* partial);
void add_norm_sums(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                   float const* statistics, float* sums, float* partial);
void normalise_batch(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* sums, float* statistics, float* kept, std::byte* y);
void normalise_by_statistics(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                             float const* parameters, float const* statistics, std::byte* y);
void add_norm_slopes(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* kept, std::byte* dy, float* sums, float* gradients,
                     float* partial);
void differentiate_norm_input(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                              float const* parameters, float const* kept, float const* sums, std::byte const* dy,
                              std::byte* dx);

// Images.

void pool(place const& p, geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y,
          std::byte* kept);
void pool_backward(place const& p, geometry::pooling const& l, std::size_t rows, std::byte const* kept,
                   std::byte const* dy, std::byte* dx);
/// Each of `count` matrices of numbers, transposed.
void transpose(place const& p, std::size_t count, std::size_t rows, std::size_t columns, std::byte const* from,
               std::byte* to);
/// The same, from floats to numbers and back.
void transpose_narrowed(place const& p, std::size_t count, std::size_t rows, std::size_t columns, float const* from,
                        std::byte* to);
void transpose_widened(place const& p, std::size_t count, std::size_t rows, std::size_t columns, std::byte const* from,
                       float* to);

// Numbers one by one.

void drop(place const& p, geometry::dropout const& l, std::size_t rows, std::uint64_t key, std::size_t first_row,
          std::byte const* from, std::byte* to);
void add_rectified(place const& p, std::size_t count, std::byte const* a, std::byte const* b, std::byte* y);
void split_slopes(place const& p, std::size_t count, std::byte const* y, std::byte* dy, std::byte* more);
void add(place const& p, std::size_t count, std::byte const* from, std::byte* to);
void narrow(place const& p, std::size_t count, float const* from, std::byte* to);
void widen(place const& p, std::size_t count, std::byte const* from, float* to);

// Floats.

void unscale(cudaStream_t in, std::size_t count, float factor, float const* from, float* to, std::uint32_t* overflow);
void accumulate(cudaStream_t in, std::size_t count, float const* from, float* to);
void multiply(cudaStream_t in, std::size_t count, float factor, float* numbers);
void follow(cudaStream_t in, std::size_t count, device::sgd_step const& step, float* weights, float const* gradients,
            float* velocity);
/// The parameters of the layer inside; those that are no v are copied.
void normalise_weights(cudaStream_t in, geometry::weight_norm const& l, float const* parameters, float* made);
void differentiate_weight_norm(cudaStream_t in, geometry::weight_norm const& l, float const* parameters,
                               float const* slopes, float* gradients);

/// `result` gets loss and count; `partial` has room for `loss_floats`.
void softmax_cross_entropy(place const& p, std::size_t rows, std::size_t classes, std::byte const* scores,
                           std::uint8_t const* labels, float share, float scale, std::byte* derivatives, float* result,
                           float* partial);

}  // namespace tutti::nn::detail::runtime
