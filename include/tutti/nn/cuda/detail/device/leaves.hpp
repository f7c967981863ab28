// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/cuda/detail/device/stage.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn::detail::device {

[[nodiscard]] constexpr extents extents_of(geometry::dense const& l) noexcept {
  return {l.inputs, l.outputs, (l.inputs + 1) * l.outputs, 0};
}
[[nodiscard]] constexpr extents extents_of(geometry::convolution const& l) noexcept {
  return {l.input.size(), l.output.size(), l.weights() + (l.bias ? l.output.channels : 0), 0};
}
[[nodiscard]] constexpr extents extents_of(geometry::pooling const& l) noexcept {
  return {l.input.size(), l.output.size(), 0, 0};
}
[[nodiscard]] constexpr extents extents_of(geometry::batch_norm const& l) noexcept {
  return {l.image.size(), l.image.size(), 2 * l.image.channels, 2 * l.image.channels};
}
[[nodiscard]] constexpr extents extents_of(geometry::dropout const& l) noexcept {
  return {l.numbers, l.numbers, 0, 0};
}
[[nodiscard]] constexpr extents extents_of(geometry::channels_last const& l) noexcept {
  return {l.image.size(), l.image.size(), 0, 0};
}

/// A layer with weights.
template <device_math M, class L>
class product_stage final : public stage<M> {
 public:
  product_stage(M& math, L const& l)
      : stage<M>(extents_of(l)), math_(math), l_(l), native_weights_(math, math.weight_bytes(l)) {}

  void bind(float const* parameters, float* gradients, float*) override {
    weights_ = {parameters, native_weights_.data()};
    gradients_ = gradients;
  }
  void reserve(std::size_t rows) override { math_.reserve(l_, rows); }
  void refresh() override { math_.convert_weights(l_, weights_.parameters, native_weights_.data()); }
  void forward(batch_context<float> const&, std::size_t rows, std::byte const* x, std::byte* y) override {
    math_.forward(l_, rows, weights_, x, y);
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    math_.differentiate_sums(l_, rows, y, dy, gradients_);
    math_.differentiate_weights(l_, rows, x, dy, gradients_);
    context.on_completion(gradients_);
    if (dx != nullptr) {
      math_.differentiate_input(l_, rows, weights_, dy, dx);
    }
  }

 private:
  M& math_;
  L l_;
  buffer<M> native_weights_;
  weights weights_;
  float* gradients_ = nullptr;
};

template <device_math M>
class pooling_stage final : public stage<M> {
 public:
  pooling_stage(M& math, geometry::pooling const& l) : stage<M>(extents_of(l)), math_(math), l_(l) {}

  void reserve(std::size_t rows) override {
    math_.reserve(l_, rows);
    cache_ = buffer<M>(math_, math_.cache_bytes(l_, rows));
  }
  void forward(batch_context<float> const&, std::size_t rows, std::byte const* x, std::byte* y) override {
    math_.forward(l_, rows, x, y, cache_.data());
  }
  void backward(batch_context<float> const&, std::size_t rows, std::byte const* x, std::byte const* y, std::byte* dy,
                std::byte* dx) override {
    if (dx != nullptr) {
      math_.backward(l_, rows, x, y, cache_.data(), dy, dx);
    }
  }

 private:
  M& math_;
  geometry::pooling l_;
  buffer<M> cache_;
};

/// Normalises over the batch of this rank or, if the pass sums over ranks, of all; then the host waits for the sums.
template <device_math M>
class norm_stage final : public stage<M> {
 public:
  norm_stage(M& math, geometry::batch_norm const& l)
      : stage<M>(extents_of(l)),
        math_(math),
        l_(l),
        sums_(math, numbers() * sizeof(float)),
        cache_(math, numbers() * sizeof(float)),
        host_sums_(math, numbers()) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    parameters_ = parameters;
    gradients_ = gradients;
    statistics_ = statistics;
  }
  void reserve(std::size_t rows) override { math_.reserve(l_, rows); }
  void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) override {
    if (!context.training) {
      math_.inference(l_, rows, x, parameters_, statistics_, y);
      return;
    }
    math_.sums(l_, rows, x, statistics_, sums_.floats());
    exchange(context, numbers());
    math_.forward(l_, rows, x, parameters_, sums_.floats(), statistics_, cache_.floats(), y);
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const*,
                std::byte* dy, std::byte* dx) override {
    math_.slopes(l_, rows, x, parameters_, cache_.floats(), dy, sums_.floats(), gradients_);
    if (dx != nullptr) {  // otherwise no rank waits for the sum
      exchange(context, numbers() - 1);
      math_.backward(l_, rows, x, parameters_, cache_.floats(), sums_.floats(), dy, dx);
    }
  }

 private:
  [[nodiscard]] std::size_t numbers() const noexcept { return 2 * l_.image.channels + 1; }

  void exchange(batch_context<float> const& context, std::size_t count) {
    if (context.sum) {
      download_now(math_, host_sums_.bytes(), sums_.data(), count * sizeof(float));
      context.sum(host_sums_.span().first(count));
      math_.upload(math_.stream(), sums_.data(), host_sums_.bytes(), count * sizeof(float));
    }
  }

  M& math_;
  geometry::batch_norm l_;
  buffer<M> sums_;
  buffer<M> cache_;
  pinned_buffer<M, float> host_sums_;
  float const* parameters_ = nullptr;
  float* gradients_ = nullptr;
  float* statistics_ = nullptr;
};

template <device_math M>
class dropout_stage final : public stage<M> {
 public:
  dropout_stage(M& math, geometry::dropout const& l) : stage<M>(extents_of(l)), math_(math), l_(l) {}

  void reserve(std::size_t) override {}
  void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) override {
    if (context.training) {
      key_ = random_sequence(l_.key, context.step)();
      math_.drop(l_, rows, key_, context.first_row, x, y);
    } else {
      math_.copy(y, x, rows * l_.numbers * bytes_of(math_.numbers()));
    }
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const*, std::byte const*,
                std::byte* dy, std::byte* dx) override {
    if (dx != nullptr) {
      math_.drop(l_, rows, key_, context.first_row, dy, dx);
    }
  }

 private:
  M& math_;
  geometry::dropout l_;
  std::uint64_t key_ = 0;  // key of the last batch
};

template <device_math M>
class order_stage final : public stage<M> {
 public:
  order_stage(M& math, geometry::channels_last const& l) : stage<M>(extents_of(l)), math_(math), l_(l) {}

  void reserve(std::size_t) override {}
  void forward(batch_context<float> const&, std::size_t rows, std::byte const* x, std::byte* y) override {
    math_.forward(l_, rows, x, y);
  }
  void backward(batch_context<float> const&, std::size_t rows, std::byte const*, std::byte const*, std::byte* dy,
                std::byte* dx) override {
    if (dx != nullptr) {
      math_.backward(l_, rows, dy, dx);
    }
  }

 private:
  M& math_;
  geometry::channels_last l_;
};

}  // namespace tutti::nn::detail::device
