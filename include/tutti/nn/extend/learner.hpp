// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/binned_sum.hpp>
#include <tutti/nn/base/batch_context.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

class any_device_gradient_buffer;  // nn/cuda/base/device_gradient_buffer.hpp

/// The part of a replica that computes: a model with its optimizer, on the host or on a device. It knows batches, but
/// neither ranks nor the source of the images.
///
/// Its spans are host memory. They may be written until the learner computes again, which then reads the written
/// values; after that they must be requested again.
class learner {
 public:
  learner() = default;
  learner(learner const&) = delete;
  learner& operator=(learner const&) = delete;
  virtual ~learner() = default;

  /// The number of values of an image.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// The number of classes.
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// The ranges of each layer's parameters, in their order.
  [[nodiscard]] virtual std::vector<parameter_range> ranges() const = 0;
  /// The multiplications of each of these layers for an image.
  [[nodiscard]] virtual std::vector<double> multiply_adds() const = 0;

  /// The weights.
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  /// The weights, for reading.
  [[nodiscard]] virtual std::span<float const> parameters() const = 0;
  /// The gradient buffer: the gradients, and behind them the loss and the number of correct answers.
  [[nodiscard]] virtual std::span<float> gradient_buffer() = 0;
  /// The gradient buffer on the device that computes it; null if it is computed in host memory, or must not be summed
  /// elsewhere.
  [[nodiscard]] virtual any_device_gradient_buffer const* on_device() { return nullptr; }
  /// The two extra scalars behind the gradients.
  [[nodiscard]] virtual batch_metrics<float> metrics() = 0;
  /// The statistics that layers keep without learning them.
  [[nodiscard]] virtual std::span<float> statistics() = 0;
  /// The values that the optimizer remembers between steps.
  [[nodiscard]] virtual std::span<float> optimizer_state() = 0;
  /// The accumulators of a reproducible learner, one for each element of the gradient buffer.
  [[nodiscard]] virtual std::span<binned_sum const> sums() const { return {}; }

  /// False if gradients are simulated: a batch then has labels, whose number is that of the images, and no pixels.
  [[nodiscard]] virtual bool reads_images() const { return true; }

  /// Allocates memory for batches of this many images.
  virtual void reserve(std::size_t rows) = 0;
  /// Draws the first weights: the same as a model on the host for the same layers and seed.
  virtual void initialise(std::uint64_t seed) = 0;
  /// Announces that a batch may consist of several pieces, whose gradients are added.
  virtual void expect_pieces() = 0;

  /// Begins a batch, of one or more pieces.
  virtual void begin() = 0;
  /// Adds `scale` times the gradients, the loss and the number of correct answers of a piece to the gradient buffer.
  /// @param last true for the batch's last piece: the listener is then told the final parts of the buffer that
  /// `gradient_buffer()` returned before this call, or of `on_device()` if it sums there
  virtual void gradient(image_batch const& images, batch_context<float> const& context, float scale, bool last,
                        gradient_listener& listener) = 0;
  /// Sets the gradient buffer to zeros, and tells the listener.
  virtual void clear_gradients(gradient_listener& listener) = 0;
  /// Multiplies the gradient buffer.
  virtual void multiply(float factor) = 0;
  /// Updates the weights with the gradient buffer in host memory, or with that on the device if it was summed there.
  virtual void update(float rate) = 0;
  /// The summed metrics of a batch.
  [[nodiscard]] virtual batch_metrics<float> test(image_batch const& images) = 0;
};

/// A learner that forwards all calls to another one, unless a derived class overrides them.
class learner_adaptor : public learner {
 public:
  /// Takes over the other learner.
  explicit learner_adaptor(std::unique_ptr<learner> inner) noexcept : inner_(std::move(inner)) {}

  [[nodiscard]] std::size_t inputs() const override { return inner_->inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return inner_->outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const override { return inner_->ranges(); }
  [[nodiscard]] std::vector<double> multiply_adds() const override { return inner_->multiply_adds(); }
  [[nodiscard]] std::span<float> parameters() override { return inner_->parameters(); }
  /// The weights, for reading.
  [[nodiscard]] std::span<float const> parameters() const override { return std::as_const(*inner_).parameters(); }
  [[nodiscard]] std::span<float> gradient_buffer() override { return inner_->gradient_buffer(); }
  [[nodiscard]] any_device_gradient_buffer const* on_device() override { return inner_->on_device(); }
  [[nodiscard]] batch_metrics<float> metrics() override { return inner_->metrics(); }
  [[nodiscard]] std::span<float> statistics() override { return inner_->statistics(); }
  [[nodiscard]] std::span<float> optimizer_state() override { return inner_->optimizer_state(); }
  [[nodiscard]] std::span<binned_sum const> sums() const override { return inner_->sums(); }
  [[nodiscard]] bool reads_images() const override { return inner_->reads_images(); }
  void reserve(std::size_t rows) override { inner_->reserve(rows); }
  void initialise(std::uint64_t seed) override { inner_->initialise(seed); }
  void expect_pieces() override { inner_->expect_pieces(); }
  void begin() override { inner_->begin(); }
  void gradient(image_batch const& images, batch_context<float> const& context, float scale, bool last,
                gradient_listener& listener) override {
    inner_->gradient(images, context, scale, last, listener);
  }
  void clear_gradients(gradient_listener& listener) override { inner_->clear_gradients(listener); }
  void multiply(float factor) override { inner_->multiply(factor); }
  void update(float rate) override { inner_->update(rate); }
  [[nodiscard]] batch_metrics<float> test(image_batch const& images) override { return inner_->test(images); }

 private:
  std::unique_ptr<learner> inner_;
};

}  // namespace tutti::nn
