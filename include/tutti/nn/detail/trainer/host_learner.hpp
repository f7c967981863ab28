// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/detail/numbers/accumulator.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/loss/score.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

/// A learner on the host: a model, and the optimizer that follows its gradients.
class host_learner final : public learner {
 public:
  /// @pre the model was made with two attached numbers, loss and number of correct answers
  host_learner(model<float> m, settings const& settings);

  [[nodiscard]] std::size_t inputs() const override { return model_.inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return model_.outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const override { return model_.ranges(); }
  [[nodiscard]] std::vector<double> products() const override { return model_.products(); }
  [[nodiscard]] std::span<float> parameters() noexcept override { return model_.parameters(); }
  [[nodiscard]] std::span<float const> parameters() const noexcept override { return model_.parameters(); }
  [[nodiscard]] std::span<float> message() noexcept override { return model_.message(); }
  [[nodiscard]] score<float> attached() noexcept override { return {model_.attached()[0], model_.attached()[1]}; }
  [[nodiscard]] std::span<float> statistics() noexcept override { return model_.statistics(); }
  [[nodiscard]] std::span<float> optimizer_state() override { return optimizer_->state(); }
  [[nodiscard]] std::span<binned const> sums() const noexcept override { return sums_; }

  void reserve(std::size_t rows) override { model_.reserve(rows); }
  void initialise(std::uint64_t seed) override { model_.initialise(seed); }
  void expect_pieces() override;

  void begin() noexcept override;
  void gradient(image_batch const& images, pass<float> const& how, float scale, bool last,
                gradient_listener& listener) override;
  void nothing(gradient_listener& listener) override;
  void multiply(float factor) noexcept override;
  void update(float rate) override { optimizer_->step(model_.parameters(), model_.gradients(), rate); }
  [[nodiscard]] score<float> test(image_batch const& images) override;

 private:
  /// Keeps the message of a piece that is not the last.
  void keep();
  /// Adds what was kept to the last piece's message, in a part of it that begins with its number `first`; or that part
  /// to what was kept.
  void complete(std::span<float> part, std::size_t first);

  [[nodiscard]] matrix_view<float const> rows_of(image_batch const& images) const {
    return view<float const>(images.numbers.data(), images.labels.size(), model_.inputs());
  }

  model<float> model_;
  std::unique_ptr<nn::optimizer<float>> optimizer_;
  bool reproducible_;
  accumulator pieces_{0};
  std::vector<binned> sums_;
};

}  // namespace tutti::nn::detail::trainer

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/trainer/host_learner.ipp>
#endif
