// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/trainer/host_learner.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <algorithm>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

TUTTI_DECL host_learner::host_learner(model<float> m, settings const& settings)
    : model_(std::move(m)),
      optimizer_(make_optimizer(settings, model_.ranges())),
      reproducible_(settings.reproducible),
      sums_(reproducible_ ? model_.message().size() : 0) {
  constexpr std::size_t attached = 2;
  expects(model_.attached().size() == attached, "replica: the model must be made with ", attached,
          " attached numbers, not ", model_.attached().size(), "; pass replica::attached to its constructor");
}

TUTTI_DECL void host_learner::expect_pieces() {
  if (!reproducible_) {
    pieces_ = accumulator(model_.message().size());
  }
}

TUTTI_DECL void host_learner::begin() noexcept {
  pieces_.clear();
  std::ranges::fill(sums_, binned{});
}

TUTTI_DECL void host_learner::gradient(image_batch const& images, pass<float> const& how, float scale, bool last,
                                       gradient_listener& listener) {
  auto const x = rows_of(images);
  auto const predictions = model_.forward(x, how);
  auto const sum = softmax_cross_entropy::differentiate<float>(predictions, images.labels, scale, model_.derivatives());
  model_.attached()[0] = sum.loss * scale;
  model_.attached()[1] = sum.correct * scale;
  if (!last) {
    model_.backward(x);
    keep();
    return;
  }
  /// Makes the final part of the last piece's message final of the batch's, and passes it on.
  struct last_piece {
    void completed(float const* gradient) {
      auto const first = static_cast<std::size_t>(gradient - message.data());
      owner.complete(message.subspan(first, end - first), first);
      end = first;
      listener.completed(first);
    }

    host_learner& owner;
    std::span<float> message;
    std::size_t end;  // final from here on
    gradient_listener& listener;
  } piece{*this, model_.message(), model_.message().size(), listener};
  model_.backward(x, completion<float>(piece));
}

TUTTI_DECL void host_learner::nothing(gradient_listener& listener) {
  std::ranges::fill(model_.message(), 0.0F);
  listener.completed(0);
}

TUTTI_DECL void host_learner::keep() {
  if (reproducible_) {
    tutti::detail::deposit(std::span<float const>(model_.message()), sums_);
  } else {
    pieces_.add(model_.message());
  }
}

TUTTI_DECL void host_learner::complete(std::span<float> part, std::size_t first) {
  if (reproducible_) {
    tutti::detail::deposit(part, std::span(sums_).subspan(first, part.size()));
  } else {
    pieces_.add_to(part, first);
  }
}

TUTTI_DECL void host_learner::multiply(float factor) noexcept {
  std::ranges::for_each(model_.message(), [factor](float& number) { number *= factor; });
}

TUTTI_DECL score<float> host_learner::test(image_batch const& images) {
  return softmax_cross_entropy::measure<float>(model_.forward(rows_of(images)), images.labels);
}

}  // namespace tutti::nn::detail::trainer
