// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/stream.hpp>
#include <tutti/nn/cuda/detail/device/math.hpp>

#include <cstddef>
#include <cstdint>

/// The trainer's own kernels, as functions that enqueue them in a stream of the current device. They are defined in
/// `tutti/nn/cuda/cuda.cu`, which nvcc compiles and which does not include the trainer's headers, as nvcc cannot read
/// them.
///
/// `device_math` specifies the results. Numbers have the precision that is named; `partial` has room for
/// `partial_floats`. The division of work depends only on sizes, and so do the bits.
namespace tutti::inline v0_1_0::nn::detail::runtime {

/// The stream for the work, and the precision of its numbers.
struct launch_context {
  cudaStream_t stream;
  precision numbers;
};

/// The floats for partial sums over pixels, for any number of pixels.
[[nodiscard]] std::size_t partial_floats(std::size_t channels);
/// The floats for partial sums of a batch's loss.
[[nodiscard]] std::size_t loss_floats();

// Channel-wise operations.

/// y = activation(y + bias); bias may be null.
void add_bias(launch_context const& context, activation_kind kind, std::size_t pixels, std::size_t channels,
              float const* bias, std::byte* y);
/// Multiplies dy by the derivative at y, and writes the sums over pixels unless `sums` is null.
void take_slopes(launch_context const& context, activation_kind kind, std::size_t pixels, std::size_t channels,
                 std::byte const* y, std::byte* dy, float* sums, float* partial);
void add_norm_sums(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                   float const* statistics, float* sums, float* partial);
void normalise_batch(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* sums, float* statistics, float* cache, std::byte* y);
void normalise_by_statistics(launch_context const& context, geometry::batch_norm const& l, std::size_t rows,
                             std::byte const* x, float const* parameters, float const* statistics, std::byte* y);
void add_norm_slopes(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* cache, std::byte* dy, float* sums, float* gradients,
                     float* partial);
void differentiate_norm_input(launch_context const& context, geometry::batch_norm const& l, std::size_t rows,
                              std::byte const* x, float const* parameters, float const* cache, float const* sums,
                              std::byte const* dy, std::byte* dx);

// Images.

void pool(launch_context const& context, geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y,
          std::byte* cache);
void pool_backward(launch_context const& context, geometry::pooling const& l, std::size_t rows, std::byte const* cache,
                   std::byte const* dy, std::byte* dx);
/// Transposes each of `count` matrices of numbers.
void transpose(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
               std::byte const* source, std::byte* destination);
/// Transposes, from floats to numbers and back.
void transpose_narrowed(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
                        float const* source, std::byte* destination);
void transpose_widened(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
                       std::byte const* source, float* destination);

// Element-wise operations on numbers.

void drop(launch_context const& context, geometry::dropout const& l, std::size_t rows, std::uint64_t key,
          std::size_t first_row, std::byte const* input, std::byte* output);
void add_rectified(launch_context const& context, std::size_t count, std::byte const* a, std::byte const* b,
                   std::byte* y);
void split_slopes(launch_context const& context, std::size_t count, std::byte const* y, std::byte* dy, std::byte* copy);
void add(launch_context const& context, std::size_t count, std::byte const* addends, std::byte* sums);
void narrow(launch_context const& context, std::size_t count, float const* floats, std::byte* numbers);
void widen(launch_context const& context, std::size_t count, std::byte const* numbers, float* floats);

// Element-wise operations on floats.

void unscale(cudaStream_t stream, std::size_t count, float factor, float const* scaled_gradients, float* gradients,
             std::uint32_t* overflow);
void accumulate(cudaStream_t stream, std::size_t count, float const* addends, float* sums);
void multiply(cudaStream_t stream, std::size_t count, float factor, float* numbers);
void follow(cudaStream_t stream, std::size_t count, device::sgd_step const& step, float* weights,
            float const* gradients, float* velocity);
/// Writes the parameters of the inner layer; those other than v are copied.
void normalise_weights(cudaStream_t stream, geometry::weight_norm const& l, float const* parameters,
                       float* inner_parameters);
void differentiate_weight_norm(cudaStream_t stream, geometry::weight_norm const& l, float const* parameters,
                               float const* slopes, float* gradients);

/// Writes loss and count to `result`; `partial` has room for `loss_floats`.
void softmax_cross_entropy(launch_context const& context, std::size_t rows, std::size_t classes,
                           std::byte const* scores, std::uint8_t const* labels, device::loss_step const& step,
                           std::byte* derivatives, float* result, float* partial);

}  // namespace tutti::nn::detail::runtime
