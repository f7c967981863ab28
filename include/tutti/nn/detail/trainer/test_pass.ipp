// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/detail/trainer/test_pass.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

TUTTI_DECL test_pass::test_pass(image_source images, std::size_t piece, bool reproducible)
    : images_(std::move(images), piece, loading_time::when_asked), order_(piece), reproducible_(reproducible) {}

TUTTI_DECL batch_metrics<float> test_pass::run(learner& scorer, std::size_t part_index, std::size_t parts) {
  portion const range(size(), static_cast<rank_type>(part_index), static_cast<rank_type>(parts),
                      reproducible_ ? piece() : 1);
  std::size_t next = range.first;
  std::size_t const end = next + range.length;
  batch_metrics<float> sum;
  sums_.fill(binned_sum{});
  while (next != end) {
    auto const part = std::span(order_).first((std::min)(piece(), end - next));
    std::iota(part.begin(), part.end(), static_cast<std::uint32_t>(next));
    auto const more = scorer.test(images_.load(part, 0));
    sum.loss += more.loss;
    sum.correct += more.correct;
    if (reproducible_) {
      float const numbers[] = {more.loss, more.correct};
      tutti::detail::deposit(std::span(numbers), sums_);
    }
    next += part.size();
  }
  return sum;
}

}  // namespace tutti::nn::detail::trainer
