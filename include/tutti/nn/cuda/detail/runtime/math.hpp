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
  void convert_weights(geometry::dense const& l, float const* parameters, std::byte* native_weights) {
    current_device const guard(number());
    if (numbers_ != precision::float32) {
      runtime::narrow(context(), l.inputs * l.outputs, parameters, native_weights);
    }
  }
  void forward(geometry::dense const& l, std::size_t rows, device::weights const& w, std::byte const* x, std::byte* y) {
    current_device const guard(number());
    products_.multiply(rows, l.outputs, l.inputs, {x, l.inputs, false}, {weights_of(w), l.outputs, false}, y, false);
    add_bias(context(), l.activation, rows, l.outputs, w.parameters + l.inputs * l.outputs, y);
  }
  void differentiate_sums(geometry::dense const& l, std::size_t rows, std::byte const* y, std::byte* dy,
                          float* gradients) {
    current_device const guard(number());
    take_slopes(context(), l.activation, rows, l.outputs, y, dy, gradients + l.inputs * l.outputs, partial());
  }
  void differentiate_weights(geometry::dense const& l, std::size_t rows, std::byte const* x, std::byte const* dy,
                             float* gradients) {
    current_device const guard(number());
    products_.multiply(l.inputs, l.outputs, rows, {x, l.inputs, true}, {dy, l.outputs, false}, gradients, true);
  }
  void differentiate_input(geometry::dense const& l, std::size_t rows, device::weights const& w, std::byte const* dy,
                           std::byte* dx) {
    current_device const guard(number());
    products_.multiply(rows, l.inputs, l.outputs, {dy, l.outputs, false}, {weights_of(w), l.outputs, true}, dx, false);
  }

  // Convolutions.

  void reserve(geometry::convolution const& l, std::size_t rows) {
    current_device const guard(number());
    reserve_sums(l.output.channels);
    temporary_.reserve(weight_bytes(l) + convolutions_.plan_for(l, rows).workspace(), *this);
  }
  /// The math's form of weights is the transpose of each group's matrix.
  [[nodiscard]] std::size_t weight_bytes(geometry::convolution const& l) const {
    return whole(l.weights() * bytes_of(numbers_));
  }
  void convert_weights(geometry::convolution const& l, float const* parameters, std::byte* native_weights) {
    current_device const guard(number());
    transpose_narrowed(context(), l.groups, l.fan_in(), l.output.channels / l.groups, parameters, native_weights);
  }
  void forward(geometry::convolution const& l, std::size_t rows, device::weights const& w, std::byte const* x,
               std::byte* y) {
    current_device const guard(number());
    auto const& plan = prepare(l, rows);
    convolutions_.forward(plan, w.native_weights, x, y, temporary_.data());
    if (l.bias || l.activation != activation_kind::identity) {
      add_bias(context(), l.activation, rows * l.output.rows * l.output.columns, l.output.channels,
               l.bias ? w.parameters + l.weights() : nullptr, y);
    }
  }
  void differentiate_sums(geometry::convolution const& l, std::size_t rows, std::byte const* y, std::byte* dy,
                          float* gradients) {
    current_device const guard(number());
    if (l.bias || l.activation != activation_kind::identity) {
      take_slopes(context(), l.activation, rows * l.output.rows * l.output.columns, l.output.channels, y, dy,
                  l.bias ? gradients + l.weights() : nullptr, partial());
    }
  }
  void differentiate_weights(geometry::convolution const& l, std::size_t rows, std::byte const* x, std::byte const* dy,
                             float* gradients) {
    current_device const guard(number());
    auto const& plan = prepare(l, rows);
    std::byte* const number_gradients = temporary_.data();
    convolutions_.differentiate_weights(plan, x, dy, number_gradients, number_gradients + weight_bytes(l));
    transpose_widened(context(), l.groups, l.output.channels / l.groups, l.fan_in(), number_gradients, gradients);
  }
  void differentiate_input(geometry::convolution const& l, std::size_t rows, device::weights const& w,
                           std::byte const* dy, std::byte* dx) {
    current_device const guard(number());
    auto const& plan = prepare(l, rows);
    convolutions_.differentiate_input(plan, w.native_weights, dy, dx, temporary_.data());
  }

  // Pooling.

  void reserve(geometry::pooling const& l, std::size_t) {
    if (std::size_t const area = l.vertical.side * l.horizontal.side; area > most_pooled) {
      throw std::runtime_error("pooling on a GPU takes windows of up to " + std::to_string(most_pooled) +
                               " pixels, not " + std::to_string(area));
    }
  }
  [[nodiscard]] std::size_t cache_bytes(geometry::pooling const& l, std::size_t rows) const {
    return l.kind == geometry::pooling_kind::largest ? whole(rows * l.output.size() * sizeof(std::uint16_t)) : 0;
  }
  void forward(geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y, std::byte* cache) {
    current_device const guard(number());
    pool(context(), l, rows, x, y, l.kind == geometry::pooling_kind::largest ? cache : nullptr);
  }
  void backward(geometry::pooling const& l, std::size_t rows, std::byte const*, std::byte const*,
                std::byte const* cache, std::byte const* dy, std::byte* dx) {
    current_device const guard(number());
    pool_backward(context(), l, rows, l.kind == geometry::pooling_kind::largest ? cache : nullptr, dy, dx);
  }

  // Batch normalisation.

  void reserve(geometry::batch_norm const& l, std::size_t) { reserve_sums(l.image.channels); }
  void sums(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* statistics, float* sums) {
    current_device const guard(number());
    add_norm_sums(context(), l, rows, x, statistics, sums, partial());
  }
  void forward(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
               float const* sums, float* statistics, float* cache, std::byte* y) {
    current_device const guard(number());
    normalise_batch(context(), l, rows, x, parameters, sums, statistics, cache, y);
  }
  void inference(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
                 float const* statistics, std::byte* y) {
    current_device const guard(number());
    normalise_by_statistics(context(), l, rows, x, parameters, statistics, y);
  }
  void slopes(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
              float const* cache, std::byte* dy, float* sums, float* gradients) {
    current_device const guard(number());
    add_norm_slopes(context(), l, rows, x, parameters, cache, dy, sums, gradients, partial());
  }
  void backward(geometry::batch_norm const& l, std::size_t rows, std::byte const* x, float const* parameters,
                float const* cache, float const* sums, std::byte const* dy, std::byte* dx) {
    current_device const guard(number());
    differentiate_norm_input(context(), l, rows, x, parameters, cache, sums, dy, dx);
  }

  // Other layers.

  void drop(geometry::dropout const& l, std::size_t rows, std::uint64_t key, std::size_t first_row,
            std::byte const* input, std::byte* output) {
    current_device const guard(number());
    runtime::drop(context(), l, rows, key, first_row, input, output);
  }
  void forward(geometry::channels_last const& l, std::size_t rows, std::byte const* x, std::byte* y) {
    current_device const guard(number());
    transpose(context(), rows, l.image.channels, l.image.rows * l.image.columns, x, y);
  }
  void backward(geometry::channels_last const& l, std::size_t rows, std::byte const* dy, std::byte* dx) {
    current_device const guard(number());
    transpose(context(), rows, l.image.rows * l.image.columns, l.image.channels, dy, dx);
  }
  void add_rectified(std::size_t count, std::byte const* a, std::byte const* b, std::byte* y) {
    current_device const guard(number());
    runtime::add_rectified(context(), count, a, b, y);
  }
  void split_slopes(std::size_t count, std::byte const* y, std::byte* dy, std::byte* copy) {
    current_device const guard(number());
    runtime::split_slopes(context(), count, y, dy, copy);
  }
  void add(std::size_t count, std::byte const* addends, std::byte* sums) {
    current_device const guard(number());
    runtime::add(context(), count, addends, sums);
  }
  void normalise(geometry::weight_norm const& l, float const* parameters, float* inner_parameters) {
    current_device const guard(number());
    normalise_weights(native(), l, parameters, inner_parameters);
  }
  void differentiate_norm(geometry::weight_norm const& l, float const* parameters, float const* slopes,
                          float* gradients) {
    current_device const guard(number());
    differentiate_weight_norm(native(), l, parameters, slopes, gradients);
  }

  // A step.

  void narrow(std::size_t count, float const* floats, std::byte* numbers) {
    current_device const guard(number());
    runtime::narrow(context(), count, floats, numbers);
  }
  void widen(std::size_t count, std::byte const* numbers, float* floats) {
    current_device const guard(number());
    runtime::widen(context(), count, numbers, floats);
  }
  void softmax_cross_entropy(std::size_t rows, std::size_t classes, std::byte const* scores, std::uint8_t const* labels,
                             device::loss_step const& step, std::byte* derivatives, float* result) {
    current_device const guard(number());
    runtime::softmax_cross_entropy(context(), rows, classes, scores, labels, step, derivatives, result,
                                   reinterpret_cast<float*>(losses_.data()));
  }
  void unscale(std::size_t count, float factor, float const* scaled_gradients, float* gradients,
               std::uint32_t* overflow) {
    current_device const guard(number());
    runtime::unscale(native(), count, factor, scaled_gradients, gradients, overflow);
  }
  void accumulate(std::size_t count, float const* addends, float* sums) {
    current_device const guard(number());
    runtime::accumulate(native(), count, addends, sums);
  }
  void multiply(std::size_t count, float factor, float* floats) {
    current_device const guard(number());
    runtime::multiply(native(), count, factor, floats);
  }
  void follow(std::size_t count, device::sgd_step const& step, float* weights, float const* gradients,
              float* velocity) {
    current_device const guard(number());
    runtime::follow(native(), count, step, weights, gradients, velocity);
  }

 private:
  static constexpr std::size_t most_pooled = std::size_t{1} << 16;

  /// Rounds up to a multiple of 256, so that the memory after it is aligned, too.
  [[nodiscard]] static constexpr std::size_t whole(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }

  [[nodiscard]] launch_context context() const noexcept { return {native(), numbers_}; }
  [[nodiscard]] void const* weights_of(device::weights const& w) const noexcept {
    return numbers_ == precision::float32 ? static_cast<void const*>(w.parameters) : w.native_weights;
  }
  void reserve_sums(std::size_t channels) { partial_.reserve(partial_floats(channels) * sizeof(float), *this); }
  [[nodiscard]] float* partial() const noexcept { return reinterpret_cast<float*>(partial_.data()); }
  /// Grows the workspace: for batches smaller than reserved, cuDNN may choose another algorithm that needs more.
  [[nodiscard]] convolutions::plan const& prepare(geometry::convolution const& l, std::size_t rows) {
    auto const& plan = convolutions_.plan_for(l, rows);
    temporary_.reserve(weight_bytes(l) + plan.workspace(), *this);
    return plan;
  }

  precision numbers_;
  products products_;
  convolutions convolutions_;
  scratch temporary_;  // convolutions: gradients of weights as numbers, then cuDNN's workspace
  scratch partial_;    // partial sums over pixels
  scratch losses_;
};
static_assert(device::device_math<math>);

}  // namespace tutti::nn::detail::runtime
