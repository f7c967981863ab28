// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/batch_context.hpp>
#include <tutti/nn/cuda/detail/device/memory.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::device {

/// The numbers of inputs, outputs, parameters and statistics of a stage.
struct extents {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t parameters = 0;
  std::size_t statistics = 0;
};

/// A layer on a device. All addresses are in device memory: of numbers, but parameters, gradients and statistics are
/// floats. `forward` and `backward` compute like those of a layer on the host (nn/extend/layer.hpp), in the math's
/// stream; dx is null if it is not wanted. A virtual call per layer costs nothing beside a launch.
template <device_math M>
class stage {
 public:
  explicit stage(extents const& shape) noexcept : shape_(shape) {}
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;
  virtual ~stage() = default;

  [[nodiscard]] extents const& shape() const noexcept { return shape_; }

  /// Sets the places of this layer's parameters, gradients and statistics.
  virtual void bind(float const* /*parameters*/, float* /*gradients*/, float* /*statistics*/) {}
  /// Allocates memory for batches of `rows` rows. @pre nothing is enqueued
  virtual void reserve(std::size_t rows) = 0;
  /// Notes that the parameters have changed.
  virtual void refresh() {}
  virtual void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) = 0;
  virtual void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const* y,
                        std::byte* dy, std::byte* dx) = 0;

 private:
  extents shape_;
};

}  // namespace tutti::nn::detail::device
