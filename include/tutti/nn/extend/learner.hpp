// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/binned.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/base/pass.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/loss/score.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

class any_device_message;  // nn/cuda/base/device_message.hpp

/// The part of a replica that computes: a model with its optimizer, on the host or on a device. It knows batches, but
/// neither ranks nor where images come from.
///
/// The numbers that it shows are host memory. They may be written until the learner computes again, which then reads
/// what was written; what it computed is to be asked for again.
class learner {
 public:
  learner() = default;
  learner(learner const&) = delete;
  learner& operator=(learner const&) = delete;
  virtual ~learner() = default;

  /// The numbers of an image.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// The number of classes.
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// The ranges of each layer's parameters, in their order.
  [[nodiscard]] virtual std::vector<parameter_range> ranges() const = 0;
  /// The multiplications of each of these layers, for an image.
  [[nodiscard]] virtual std::vector<double> products() const = 0;

  /// The weights.
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  /// The parameters that are learned.
  [[nodiscard]] virtual std::span<float const> parameters() const = 0;
  /// The gradients, and behind them the loss and the number of correct answers.
  [[nodiscard]] virtual std::span<float> message() = 0;
  /// The message on the device that computes it; null: it is computed in host memory, or not to be summed elsewhere.
  [[nodiscard]] virtual any_device_message const* on_device() { return nullptr; }
  /// The two numbers behind the gradients.
  [[nodiscard]] virtual score<float> attached() = 0;
  /// The numbers that layers keep without learning them.
  [[nodiscard]] virtual std::span<float> statistics() = 0;
  /// The numbers that the optimizer remembers between steps.
  [[nodiscard]] virtual std::span<float> optimizer_state() = 0;
  /// The accumulators of a reproducible learner, one for each number of the message.
  [[nodiscard]] virtual std::span<binned const> sums() const { return {}; }

  /// False if gradients are simulated: then a batch has labels, which tell how many images there are, and no numbers.
  [[nodiscard]] virtual bool reads_images() const { return true; }

  /// Makes room for batches of this many images.
  virtual void reserve(std::size_t rows) = 0;
  /// Draws the first weights: for the same layers and seed, those of a model on the host.
  virtual void initialise(std::uint64_t seed) = 0;
  /// From now on a message may be the sum over several pieces of a batch.
  virtual void expect_pieces() = 0;

  /// A batch begins, of one or more pieces.
  virtual void begin() = 0;
  /// Adds `scale` times the gradients, the loss and the number of correct answers of a piece to the message.
  /// @param last with the batch's last piece the listener is told of the message, as `message()` was when this was
  ///        called, or of `on_device()` if the listener is there
  virtual void gradient(image_batch const& images, pass<float> const& how, float scale, bool last,
                        gradient_listener& listener) = 0;
  /// Makes the message zeros, and tells the listener.
  virtual void nothing(gradient_listener& listener) = 0;
  /// Multiplies the message.
  virtual void multiply(float factor) = 0;
  /// The weights follow the message: as the host memory holds it, or as the device does, if it was summed there.
  virtual void update(float rate) = 0;
  /// The score of a batch, summed.
  [[nodiscard]] virtual score<float> test(image_batch const& images) = 0;
};

/// A learner that does what another one does, but for what a derived class overrides.
class learner_adaptor : public learner {
 public:
  /// Takes over the other learner.
  explicit learner_adaptor(std::unique_ptr<learner> inner) noexcept : inner_(std::move(inner)) {}

  [[nodiscard]] std::size_t inputs() const override { return inner_->inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return inner_->outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const override { return inner_->ranges(); }
  [[nodiscard]] std::vector<double> products() const override { return inner_->products(); }
  [[nodiscard]] std::span<float> parameters() override { return inner_->parameters(); }
  /// The parameters that are learned.
  [[nodiscard]] std::span<float const> parameters() const override { return std::as_const(*inner_).parameters(); }
  [[nodiscard]] std::span<float> message() override { return inner_->message(); }
  [[nodiscard]] any_device_message const* on_device() override { return inner_->on_device(); }
  [[nodiscard]] score<float> attached() override { return inner_->attached(); }
  [[nodiscard]] std::span<float> statistics() override { return inner_->statistics(); }
  [[nodiscard]] std::span<float> optimizer_state() override { return inner_->optimizer_state(); }
  [[nodiscard]] std::span<binned const> sums() const override { return inner_->sums(); }
  [[nodiscard]] bool reads_images() const override { return inner_->reads_images(); }
  void reserve(std::size_t rows) override { inner_->reserve(rows); }
  void initialise(std::uint64_t seed) override { inner_->initialise(seed); }
  void expect_pieces() override { inner_->expect_pieces(); }
  void begin() override { inner_->begin(); }
  void gradient(image_batch const& images, pass<float> const& how, float scale, bool last,
                gradient_listener& listener) override {
    inner_->gradient(images, how, scale, last, listener);
  }
  void nothing(gradient_listener& listener) override { inner_->nothing(listener); }
  void multiply(float factor) override { inner_->multiply(factor); }
  void update(float rate) override { inner_->update(rate); }
  [[nodiscard]] score<float> test(image_batch const& images) override { return inner_->test(images); }

 private:
  std::unique_ptr<learner> inner_;
};

}  // namespace tutti::nn
