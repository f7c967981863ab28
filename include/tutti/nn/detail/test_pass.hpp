// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/reduction/deposit.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/detail/data/batch_loader.hpp>
#include <tutti/nn/loss/score.hpp>
#include <tutti/reduction/binned.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// Scores a model on the test images, a piece of them at a time.
class test_pass {
 public:
  /// @param piece most images at a time
  /// @param reproducible whether pieces are the same whatever the parts, and their scores kept in accumulators
  test_pass(image_source images, std::size_t piece, bool reproducible);

  [[nodiscard]] std::size_t size() const noexcept { return images_.set().size(); }
  [[nodiscard]] std::size_t piece() const noexcept { return order_.size(); }
  /// The accumulators of the last score, loss and number of correct answers.
  [[nodiscard]] std::span<binned const> sums() const noexcept { return sums_; }

  /// Loss and number of correct answers, summed over one of this many parts of the images.
  template <class Learner>
  score<float> run(Learner& by, std::size_t which, std::size_t parts) {
    portion const own(size(), static_cast<rank_type>(which), static_cast<rank_type>(parts),
                      reproducible_ ? piece() : 1);
    std::size_t next = own.first;
    std::size_t const end = next + own.length;
    score<float> sum;
    sums_.fill(binned{});
    while (next != end) {
      auto const part = std::span(order_).first((std::min)(piece(), end - next));
      std::iota(part.begin(), part.end(), static_cast<std::uint32_t>(next));
      auto const more = by.test(images_.load(part, 0));
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

 private:
  batch_loader images_;
  std::vector<std::uint32_t> order_;
  bool reproducible_;
  std::array<binned, 2> sums_{};
};

}  // namespace tutti::nn::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/test_pass.ipp>
#endif
