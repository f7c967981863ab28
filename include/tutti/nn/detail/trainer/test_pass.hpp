// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/detail/batches/batch_loader.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

/// Tests a model: computes its metrics on the test images, some images at a time.
class test_pass {
 public:
  /// @param piece largest number of images at a time
  /// @param reproducible true: pieces do not depend on the parts, and their metrics are kept in accumulators
  test_pass(image_source images, std::size_t piece, bool reproducible);

  [[nodiscard]] std::size_t size() const noexcept { return images_.set().size(); }
  [[nodiscard]] std::size_t piece() const noexcept { return order_.size(); }
  /// The accumulators of the last metrics, loss and number of correct answers.
  [[nodiscard]] std::span<binned_sum const> sums() const noexcept { return sums_; }

  /// Loss and number of correct answers, summed over part `part_index` of the test images, divided into `parts` parts.
  batch_metrics<float> run(learner& scorer, std::size_t part_index, std::size_t parts);

 private:
  batch_loader images_;
  std::vector<std::uint32_t> order_;
  bool reproducible_;
  std::array<binned_sum, 2> sums_{};
};

}  // namespace tutti::nn::detail::trainer

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/trainer/test_pass.ipp>
#endif
