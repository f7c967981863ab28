// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/math.hpp>
#include <tutti/nn/cuda/detail/runtime/cublas.hpp>
#include <tutti/nn/cuda/detail/runtime/cudnn.hpp>
#include <tutti/nn/cuda/detail/runtime/kernels.hpp>
#include <tutti/nn/cuda/detail/runtime/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::nn::detail::runtime {

/// An NVIDIA GPU for the trainer: a `device_math`. Products are computed by cuBLAS and cuDNN, everything else by
/// kernels of this library. The host's compiler reads this header; programs link `tutti/nn/cuda/cuda.cu` with the
/// kernels.
class math : public memory_and_order {
 public:
  static constexpr std::string_view name = "cuda";

  math(int number, precision numbers)
      : memory_and_order(number),
        numbers_(numbers),
        products_(*this, native(), numbers),
        convolutions_(*this, native(), numbers) {
    losses_.reserve(loss_floats() * sizeof(float), *this);
  }

  [[nodiscard]] precision numbers() const noexcept { return numbers_; }

  // Dense layers.

  void reserve(geometry::dense const& l, std::size_t) { reserve_sums(l.outputs); }
  [[nodiscard]] std::size_t weight_bytes(geometry::dense const& l) const {
    return numbers_ == precision::float32 ? 0 : whole(l.inputs * l.outputs * bytes_of(numbers_));
  }
  void take_weights(geometry::dense const& l, float const* parameters, std::byte* kept) {
    current_device const on(number());
    if (numbers_ != precision::float32) {
      runtime::narrow(here(), l.inputs * l.outputs, parameters, kept);
    }
  }
  void forward(geometry::dense const& l, std::size_t rows, device::weights const& w, std::byte const* x, std::byte* y) {
    current_device const on(number());
    products_.multiply(rows, l.outputs, l.inputs, {x, l.inputs, false}, {weights_of(w), l.outputs, false}, y, false);
    add_bias(here(), l.activation, rows, l.outputs, w.parameters + l.inputs * l.outputs, y);
  }
  void differentiate_sums(geometry::dense const& l, std::size_t rows, std::byte const* y, std::byte* dy,
                          float* gradients) {
    current_device const on(number());
    take_slopes(here(), l.activation, rows, l.outputs, y, dy, gradients + l.inputs * l.outputs, partial());
  }
  void differentiate_weights(geometry::dense const& l, std::size_t rows, std::byte const* x, std::byte const* dy,
                             float* gradients) {
    current_device const on(number());
    products_.multiply(l.inputs, l.outputs, rows, {x, l.inputs, true}, {dy, l.outputs, false}, gradients, true);
  }
  void differentiate_input(geometry::dense const& l, std::size_t rows, device::weights const& w, std::byte const* dy,
                           std::byte* dx) {
    current_device const on(number());
    products_.multiply(rows, l.inputs, l.outputs, {dy, l.outputs, false}, {weights_of(w), l.outputs, true}, dx, false);
  }

  // Convolutions.

  void reserve(geometry::convolution const& l, std::size_t rows) {
    current_device const on(number());
    reserve_sums(l.output.channels);
    meantime_.reserve(weight_bytes(l) + convolutions_.of(l, rows).workspace(), *this);
  }
  /// The math's form of weights is the transpose of each group's matrix.
  [[nodiscard]] std::size_t weight_bytes(geometry::convolution const& l) const {
    return whole(l.weights() * bytes_of(numbers_));
  }
  void take_weights(geometry::convolution const& l, float const* parameters, std::byte* kept) {
    current_device const on(number());
    transpose_narrowed(here(), l.groups, l.fan_in(), l.output.channels / l.groups, parameters, kept);
  }
  void forward(geometry::convolution const& l, std::size_t rows, device::weights const& w, std::byte const* x,
               std::byte* y) {
    current_device const on(number());
    auto const& plan = prepared(l, rows);
    convolutions_.forward(plan, w.kept, x, y, meantime_.data());
    if (l.bias || l.activation != activation_kind::identity) {
      add_bias(here(), l.activation, rows * l.output.rows * l.output.columns, l.output.channels,
               l.bias ? w.parameters + l.weights() : nullptr, y);
    }
  }
  void differentiate_sums(geometry::convolution const& l, std::size_t rows, std::byte const* y, std::byte* dy,
                          float* gradients) {
    current_device const on(number());
    if (l.bias || l.activation != activation_kind::identity) {
      take_slopes(here(), l.activation, rows * l.output.rows * l.output.columns, l.output.channels, y, dy,
                  l.bias ? gradients + l.weights() : nullptr, partial());
    }
  }
  void differentiate_weights(geometry::convolution const& l, std::size_t rows, std::byte const* x, std::byte const* dy,
                             float* gradients) {
    current_device const on(number());
    auto const& plan = prepared(l, rows);
    std::byte* const made = meantime_.data();
    convolutions_.differentiate_weights(plan, x, dy, made, made + weight_bytes(l));
    transpose_widened(here(), l.groups, l.output.channels / l.groups, l.fan_in(), made, gradients);
  }
  void differentiate_input(geometry::convolution const& l, std::size_t rows, device::weights const& w,
                           std::byte const* dy, std::byte* dx) {
    current_device const on(number());
    auto const& plan = prepared(l, rows);
    convolutions_.differentiate_input(plan, w.kept, dy, dx, meantime_.data());
  }

  // Pooling.

  void reserve(geometry::pooling const& l, std::size_t) {
    if (std::size_t const area = l.vertical.side * l.horizontal.side; area > most_pooled) {
      throw std::runtime_error("pooling on a GPU takes windows of up to " + std::to_string(most_pooled) +
                               " pixels, not " + std::to_string(area));
    }
  }
  [[nodiscard]] std::size_t kept_bytes(geometry::pooling const& l, std::size_t rows) const {
    return l.kind == geometry::pooling_kind::largest ? whole(rows * l.output.size() * sizeof(std::uint16_t)) : 0;
  }
  void forward(geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y, std::byte* kept) {
    current_device const on(number());
    pool(here(), l, rows, x, y, l.kind == geometry::pooling_kind::largest ? kept : nullptr);
  }
  void backward(geometry::pooling const& l, std::size_t rows, std::byte const*, std::byte const*, std::byte const* kept,
                std::byte const* dy, std::byte* dx) {
    current_device const on(number());
    pool_backward(here(), l, rows, l.kind == geometry::pooling_kind::largest ? kept : nullptr, dy, dx);
  }

  // Batch normalisation.

  void reserve(geometry::batch_norm const& l, std::size_t) { reserve_sums(l.image.channels); }
  void sums(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* statistics, float* to) {
    current_device const on(number());
    add_norm_sums(here(), l, rows, x, statistics, to, partial());
  }
  void forward(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
               float const* all, float* statistics, float* kept, std::byte* y) {
    current_device const on(number());
    normalise_batch(here(), l, rows, x, parameters, all, statistics, kept, y);
  }
  void inference(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
                 float const* statistics, std::byte* y) {
    current_device const on(number());
    normalise_by_statistics(here(), l, rows, x, parameters, statistics, y);
  }
  void slopes(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
              float const* kept, std::byte* dy, float* to, float* gradients) {
    current_device const on(number());
    add_norm_slopes(here(), l, rows, x, parameters, kept, dy, to, gradients, partial());
  }
  void backward(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
                float const* kept, float const* all, std::byte const* dy, std::byte* dx) {
    current_device const on(number());
    differentiate_norm_input(here(), l, rows, x, parameters, kept, all, dy, dx);
  }

  // Other layers.

  void drop(geometry::dropout const& l, std::size_t rows, std::uint64_t key, std::size_t first_row,
            std::byte const* from, std::byte* to) {
    current_device const on(number());
    runtime::drop(here(), l, rows, key, first_row, from, to);
  }
  void forward(geometry::channels_last const& l, std::size_t rows, std::byte const* x, std::byte* y) {
    current_device const on(number());
    transpose(here(), rows, l.image.channels, l.image.rows * l.image.columns, x, y);
  }
  void backward(geometry::channels_last const& l, std::size_t rows, std::byte const* dy, std::byte* dx) {
    current_device const on(number());
    transpose(here(), rows, l.image.rows * l.image.columns, l.image.channels, dy, dx);
  }
  void add_rectified(std::size_t count, std::byte const* a, std::byte const* b, std::byte* y) {
    current_device const on(number());
    runtime::add_rectified(here(), count, a, b, y);
  }
  void split_slopes(std::size_t count, std::byte const* y, std::byte* dy, std::byte* more) {
    current_device const on(number());
    runtime::split_slopes(here(), count, y, dy, more);
  }
  void add(std::size_t count, std::byte const* from, std::byte* to) {
    current_device const on(number());
    runtime::add(here(), count, from, to);
  }
  void normalise(geometry::weight_norm const& l, float const* parameters, float* made) {
    current_device const on(number());
    normalise_weights(native(), l, parameters, made);
  }
  void differentiate_norm(geometry::weight_norm const& l, float const* parameters, float const* made,
                          float* gradients) {
    current_device const on(number());
    differentiate_weight_norm(native(), l, parameters, made, gradients);
  }

  // A step.

  void narrow(std::size_t count, float const* floats, std::byte* numbers) {
    current_device const on(number());
    runtime::narrow(here(), count, floats, numbers);
  }
  void widen(std::size_t count, std::byte const* numbers, float* floats) {
    current_device const on(number());
    runtime::widen(here(), count, numbers, floats);
  }
  void softmax_cross_entropy(std::size_t rows, std::size_t classes, std::byte const* scores, std::uint8_t const* labels,
                             float share, float scale, std::byte* derivatives, float* result) {
    current_device const on(number());
    runtime::softmax_cross_entropy(here(), rows, classes, scores, labels, share, scale, derivatives, result,
                                   reinterpret_cast<float*>(losses_.data()));
  }
  void unscale(std::size_t count, float factor, float const* from, float* to, std::uint32_t* overflow) {
    current_device const on(number());
    runtime::unscale(native(), count, factor, from, to, overflow);
  }
  void accumulate(std::size_t count, float const* from, float* to) {
    current_device const on(number());
    runtime::accumulate(native(), count, from, to);
  }
  void multiply(std::size_t count, float factor, float* floats) {
    current_device const on(number());
    runtime::multiply(native(), count, factor, floats);
  }
  void follow(std::size_t count, device::sgd_step const& step, float* weights, float const* gradients,
              float* velocity) {
    current_device const on(number());
    runtime::follow(native(), count, step, weights, gradients, velocity);
  }

 private:
  static constexpr std::size_t most_pooled = std::size_t{1} << 16;

  /// Rounds up to a multiple of 256, so that the memory after it is aligned, too.
  [[nodiscard]] static constexpr std::size_t whole(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }

  [[nodiscard]] place here() const noexcept { return {native(), numbers_}; }
  [[nodiscard]] void const* weights_of(device::weights const& w) const noexcept {
    return numbers_ == precision::float32 ? static_cast<void const*>(w.parameters) : w.kept;
  }
  void reserve_sums(std::size_t channels) { partial_.reserve(partial_floats(channels) * sizeof(float), *this); }
  [[nodiscard]] float* partial() const noexcept { return reinterpret_cast<float*>(partial_.data()); }
  /// Grows the workspace: for batches smaller than reserved, cuDNN may choose another algorithm that needs more.
  [[nodiscard]] convolutions::plan const& prepared(geometry::convolution const& l, std::size_t rows) {
    auto const& plan = convolutions_.of(l, rows);
    meantime_.reserve(weight_bytes(l) + plan.workspace(), *this);
    return plan;
  }

  precision numbers_;
  products products_;
  convolutions convolutions_;
  scratch meantime_;  // convolutions: gradients of weights as numbers, then cuDNN's workspace
  scratch partial_;   // partial sums over pixels
  scratch losses_;
};
static_assert(device::device_math<math>);

}  // namespace tutti::nn::detail::runtime
