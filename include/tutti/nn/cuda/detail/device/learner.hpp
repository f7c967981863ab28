// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/compute.hpp>
#include <tutti/nn/cuda/device_message.hpp>
#include <tutti/nn/cuda/device_model.hpp>
#include <tutti/nn/detail/learner.hpp>
#include <tutti/nn/layer_products.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::device {

/// A learner on a device. Its message is also in pinned host memory, where strategies sum it: parts of it go there as
/// they become final, in a stream of their own, while the gradients before them are computed.
///
/// With float16 the loss is scaled (loss_scale.hpp). Where that was too large, the derivatives are computed once more
/// with half of it before anyone is told that they are final, so other ranks, on hosts or devices, need not know.
template <device_math M>
class device_learner {
 public:
  using made_of = device_model;

  /// @throws what the math throws: there is no such device, or not enough memory
  device_learner(device_model what, nn::settings const& settings)
      : does_(std::make_unique<compute<M>>(std::move(what), settings)) {}

  [[nodiscard]] std::size_t inputs() const { return does_->layers().inputs(); }
  [[nodiscard]] std::size_t outputs() const { return does_->layers().outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const { return gradient_ranges<float>(does_->layers().layers()); }
  [[nodiscard]] std::vector<double> products() const { return layer_products<float>(does_->layers().layers()); }
  [[nodiscard]] std::span<float> parameters() { return does_->parameters().write(); }
  [[nodiscard]] std::span<float const> parameters() const { return does_->parameters().read(); }
  [[nodiscard]] std::span<float> message() { return does_->message(); }
  [[nodiscard]] device_message<typename M::stream_type> on_device() { return does_->message_there(); }
  [[nodiscard]] score<float> attached() { return does_->attached_numbers(); }
  [[nodiscard]] std::span<float> statistics() { return does_->statistics().write(); }
  [[nodiscard]] std::span<float> optimizer_state() { return does_->optimizer_state(); }
  /// None: accumulators are a host's.
  [[nodiscard]] static std::span<binned const> sums() noexcept { return {}; }

  void reserve(std::size_t rows) { does_->reserve(rows); }
  void initialise(std::uint64_t seed) { does_->initialise(seed); }
  void expect_pieces() { does_->expect_pieces(); }
  void begin() { does_->begin(); }
  void gradient(batch_loader::batch const& images, pass<float> const& how, float scale, bool last,
                gradient_listener& listener) {
    does_->gradient(images, how, scale, last, listener);
  }
  void nothing(gradient_listener& listener) {
    if (listener.is_on_device()) {
      does_->clear();
      listener.enqueued(std::size_t{0});
    } else {
      std::ranges::fill(does_->message(), 0.0F);
      listener.completed(std::size_t{0});
    }
  }
  void multiply(float factor) {
    std::ranges::for_each(does_->message(), [factor](float& number) { number *= factor; });
  }
  void update(float rate) { does_->update(rate); }
  [[nodiscard]] score<float> test(batch_loader::batch const& images) { return does_->test(images); }

 private:
  std::unique_ptr<compute<M>> does_;  // streams and stages know where it is
};

}  // namespace tutti::nn::detail::device
