// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/detail/numbers/micro_batch_sum.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// A learner on the host: a model with its optimizer.
class host_learner final : public learner {
 public:
  /// @pre the model was constructed with two extra scalars, loss and number of correct answers
  host_learner(model<float> model, settings const& settings);

  [[nodiscard]] std::size_t inputs() const override { return model_.inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return model_.outputs(); }
  [[nodiscard]] std::vector<parameter_range> ranges() const override { return model_.ranges(); }
  [[nodiscard]] std::vector<double> multiply_adds() const override { return model_.multiply_adds(); }
  [[nodiscard]] std::span<float> parameters() noexcept override { return model_.parameters(); }
  [[nodiscard]] std::span<float const> parameters() const noexcept override { return model_.parameters(); }
  [[nodiscard]] std::span<float> gradient_buffer() noexcept override { return model_.gradient_buffer(); }
  [[nodiscard]] batch_metrics<float> metrics() noexcept override {
    return {model_.extra_scalars()[0], model_.extra_scalars()[1]};
  }
  [[nodiscard]] std::span<float> statistics() noexcept override { return model_.statistics(); }
  [[nodiscard]] std::span<float> optimizer_state() override { return optimizer_->state(); }
  [[nodiscard]] std::span<binned_sum const> sums() const noexcept override { return sums_; }

  void reserve(std::size_t rows) override { model_.reserve(rows); }
  void initialise(std::uint64_t seed) override { model_.initialise(seed); }
  void expect_pieces() override;

  void begin() noexcept override;
  void gradient(image_batch const& images, batch_context<float> const& context, float scale, bool last,
                gradient_listener& listener) override;
  void clear_gradients(gradient_listener& listener) override;
  void multiply(float factor) noexcept override;
  void update(float rate) override;
  [[nodiscard]] batch_metrics<float> test(image_batch const& images) override;

 private:
  /// Accumulates the gradient buffer of a piece that is not the last.
  void add_piece();
  /// Adds the earlier pieces to this part of the last piece's gradient buffer, which begins at element `first`; for
  /// reproducible learners adds the part to the accumulators.
  void complete(std::span<float> part, std::size_t first);

  [[nodiscard]] matrix_view<float const> rows_of(image_batch const& images) const {
    return view<float const>(images.numbers.data(), images.labels.size(), model_.inputs());
  }

  model<float> model_;
  std::unique_ptr<nn::optimizer<float>> optimizer_;
  bool reproducible_;
  float clip_norm_;
  float label_smoothing_;
  micro_batch_sum earlier_sum_{0};
  std::vector<binned_sum> sums_;
};

TUTTI_DECL host_learner::host_learner(model<float> model, settings const& settings)
    : model_(std::move(model)),
      optimizer_(make_optimizer(settings, model_.ranges())),
      reproducible_(settings.reproducible),
      clip_norm_(settings.clip_norm),
      label_smoothing_(settings.label_smoothing),
      sums_(reproducible_ ? model_.gradient_buffer().size() : 0) {
  constexpr std::size_t extra_scalars = 2;
  expects(model_.extra_scalars().size() == extra_scalars, "replica: the model must be made with ", extra_scalars,
          " extra scalars, not ", model_.extra_scalars().size(), "; pass replica::extra_scalars to its constructor");
}

TUTTI_DECL void host_learner::expect_pieces() {
  if (!reproducible_) {
    earlier_sum_ = micro_batch_sum(model_.gradient_buffer().size());
  }
}

TUTTI_DECL void host_learner::begin() noexcept {
  earlier_sum_.clear();
  std::ranges::fill(sums_, binned_sum{});
}

TUTTI_DECL void host_learner::gradient(image_batch const& images, batch_context<float> const& context, float scale,
                                       bool last, gradient_listener& listener) {
  auto const x = rows_of(images);
  auto const predictions = model_.forward(x, context);
  auto const sum = softmax_cross_entropy::differentiate<float>(predictions, images.labels, scale, model_.derivatives(),
                                                               label_smoothing_);
  model_.extra_scalars()[0] = sum.loss * scale;
  model_.extra_scalars()[1] = sum.correct * scale;
  if (!last) {
    model_.backward(x);
    add_piece();
    return;
  }
  /// Completes each final part of the last piece with the earlier pieces, and passes it to the listener.
  struct last_piece {
    void on_completion(float const* gradient) {
      auto const first = static_cast<std::size_t>(gradient - buffer.data());
      owner.complete(buffer.subspan(first, end - first), first);
      end = first;
      listener.on_completion(first);
    }

    host_learner& owner;
    std::span<float> buffer;
    std::size_t end;  // elements from here on are final
    gradient_listener& listener;
  } piece{*this, model_.gradient_buffer(), model_.gradient_buffer().size(), listener};
  model_.backward(x, completion<float>(piece));
}

TUTTI_DECL void host_learner::clear_gradients(gradient_listener& listener) {
  std::ranges::fill(model_.gradient_buffer(), 0.0F);
  listener.on_completion(0);
}

TUTTI_DECL void host_learner::add_piece() {
  if (reproducible_) {
    tutti::detail::deposit(std::span<float const>(model_.gradient_buffer()), sums_);
  } else {
    earlier_sum_.add(model_.gradient_buffer());
  }
}

TUTTI_DECL void host_learner::complete(std::span<float> part, std::size_t first) {
  if (reproducible_) {
    tutti::detail::deposit(part, std::span(sums_).subspan(first, part.size()));
  } else {
    earlier_sum_.add_to(part, first);
  }
}

TUTTI_DECL void host_learner::multiply(float factor) noexcept {
  std::ranges::for_each(model_.gradient_buffer(), [factor](float& number) { number *= factor; });
}

TUTTI_DECL void host_learner::update(float rate) {
  if (clip_norm_ != 0) {
    clip_to_norm(model_.gradients(), double{clip_norm_});
  }
  optimizer_->step(model_.parameters(), model_.gradients(), rate);
}

TUTTI_DECL batch_metrics<float> host_learner::test(image_batch const& images) {
  return softmax_cross_entropy::measure<float>(model_.forward(rows_of(images)), images.labels);
}

}  // namespace tutti::nn::detail

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::unique_ptr<learner> make_learner(model<float> model, settings const& settings) {
  return std::make_unique<detail::host_learner>(std::move(model), settings);
}

}  // namespace tutti::nn
