// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

/// The times and batch metrics of one epoch, in a vector that is summed over all ranks: each rank fills its own
/// places and leaves zeros elsewhere.
class epoch_message {
 public:
  epoch_message(std::size_t steps, rank_type rank, rank_type size)
      : rank_(rank), size_(size), numbers_(head + (2 + steps) * size) {}

  void clear() noexcept { std::ranges::fill(numbers_, 0.0F); }
  void add_compute(double s) noexcept { numbers_[head + rank_] += static_cast<float>(s); }
  void add_update(double s) noexcept { numbers_[head + size_ + rank_] += static_cast<float>(s); }
  void set_exchange(std::size_t step, double s) noexcept {
    numbers_[head + (2 + step) * size_ + rank_] = static_cast<float>(s);
  }
  void set_test(batch_metrics<float> const& local_score) noexcept {
    numbers_[0] = local_score.loss;
    numbers_[1] = local_score.correct;
  }
  /// Sets the number of images that this rank trained on, and the sum of the losses that it reports.
  void set_training(std::size_t images, double loss) noexcept {
    numbers_[2] = static_cast<float>(images);
    numbers_[3] = static_cast<float>(loss);
  }
  [[nodiscard]] std::span<float> numbers() noexcept { return numbers_; }
  [[nodiscard]] batch_metrics<float> test() const noexcept { return {numbers_[0], numbers_[1]}; }
  /// The number of images; exact below 2^24.
  [[nodiscard]] std::size_t images() const noexcept { return static_cast<std::size_t>(numbers_[2]); }
  /// The loss, summed over all images.
  [[nodiscard]] float loss() const noexcept { return numbers_[3]; }

  /// Splits the times of exchanges into transfer and waiting. The last rank to arrive in a collective waits for no
  /// other: the duration of its call is the transfer, and the excess of the other calls is waiting.
  [[nodiscard]] std::vector<rank_time> split() const {
    std::vector<rank_time> result(size_);
    auto row = std::span(numbers_).subspan(head);
    for (std::size_t r = 0; r != size_; ++r) {
      result[r].compute = row[r];
      result[r].update = row[size_ + r];
    }
    for (row = row.subspan(2 * size_); !row.empty(); row = row.subspan(size_)) {
      float const transfer = *std::ranges::min_element(row.first(size_));
      for (std::size_t r = 0; r != size_; ++r) {
        result[r].transfer += double{transfer};
        result[r].waiting += double{row[r] - transfer};
      }
    }
    return result;
  }

 private:
  static constexpr std::size_t head = 4;  // number of values before the times

  std::size_t rank_;
  std::size_t size_;
  std::vector<float> numbers_;
};

}  // namespace tutti::nn::detail::report
