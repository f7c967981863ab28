// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/deposit.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/host_learner.hpp>

#include <algorithm>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL host_learner::host_learner(model<float> m, settings const& settings)
    : model_(std::move(m)),
      optimizer_(settings, model_.ranges()),
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

}  // namespace tutti::nn::detail
