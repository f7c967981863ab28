// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/base/device_gradient_buffer.hpp>
#include <tutti/nn/cuda/base/device_model.hpp>
#include <tutti/nn/cuda/detail/device/learner_state.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/layer_multiply_adds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::device {

/// A learner on a device. Its gradient buffer has a copy in pinned host memory, where strategies sum it: parts are
/// copied as they become final, in a stream of their own, while earlier gradients are computed.
///
/// With float16 the loss is scaled (loss_scale.hpp). After an overflow the derivatives are computed again with half
/// the scale before they are reported as final, so other ranks, on hosts or devices, need not know.
template <device_math M>
class device_learner final : public learner {
 public:
  /// @throws the math's error if the device does not exist or has not enough memory
  device_learner(device_model model, nn::settings const& settings) : state_(std::move(model), settings) {}

  [[nodiscard]] std::size_t inputs() const override { return state_.layers().inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return state_.layers().outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const override {
    return gradient_ranges<float>(state_.layers().layers());
  }
  [[nodiscard]] std::vector<double> multiply_adds() const override {
    return layer_multiply_adds<float>(state_.layers().layers());
  }
  [[nodiscard]] std::span<float> parameters() override { return state_.parameters().write(); }
  [[nodiscard]] std::span<float const> parameters() const override { return state_.parameters().read(); }
  [[nodiscard]] std::span<float> gradient_buffer() override { return state_.gradient_buffer(); }
  [[nodiscard]] any_device_gradient_buffer const* on_device() override {
    return &message_on_device_.emplace(state_.message_on_device());
  }
  [[nodiscard]] batch_metrics<float> metrics() override { return state_.metrics(); }
  [[nodiscard]] std::span<float> statistics() override { return state_.statistics().write(); }
  [[nodiscard]] std::span<float> optimizer_state() override { return state_.optimizer_state(); }

  void reserve(std::size_t rows) override { state_.reserve(rows); }
  void initialise(std::uint64_t seed) override { state_.initialise(seed); }
  void expect_pieces() override { state_.expect_pieces(); }
  void begin() override { state_.begin(); }
  void gradient(image_batch const& images, batch_context<float> const& context, float scale, bool last,
                gradient_listener& listener) override {
    state_.gradient(images, context, scale, last, listener);
  }
  void clear_gradients(gradient_listener& listener) override {
    if (listener.is_on_device()) {
      state_.clear();
      listener.on_enqueue(0);
    } else {
      std::ranges::fill(state_.gradient_buffer(), 0.0F);
      listener.on_completion(0);
    }
  }
  void multiply(float factor) override {
    std::ranges::for_each(state_.gradient_buffer(), [factor](float& number) { number *= factor; });
  }
  void update(float rate) override { state_.update(rate); }
  [[nodiscard]] batch_metrics<float> test(image_batch const& images) override { return state_.test(images); }

 private:
  mutable learner_state<M> state_;  // mutable because reading parameters may copy them to the host
  std::optional<device_gradient_buffer<typename M::stream_type>> message_on_device_;
};

}  // namespace tutti::nn::detail::device
