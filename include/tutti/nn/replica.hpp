// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/core/types.hpp>
#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/settings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tutti::nn {

/// One rank's copy of the model, with its optimizer and its part of the data. Knows its rank, but
/// nothing of how ranks talk: between `gradient` and `update` the message is to be added up over all
/// ranks.
class replica {
 public:
  /// Loss and accuracy of the batch travel behind the gradients.
  static constexpr std::size_t attached = 2;

  /// @pre the model was made with that many attached numbers and fits the data, which outlive this
  replica(model<float> m, dataset const& training, dataset const& test, settings const& asked, rank_type rank,
          rank_type size)
      : model_(std::move(m)),
        training_(training),
        test_(test),
        asked_(asked),
        rank_(rank),
        size_(size),
        optimizer_(model_.parameters().size(), asked.momentum),
        sampler_(training.size(), asked.batch, asked.seed) {
    expects(model_.attached().size() == attached, "replica: the model leaves room for the attached numbers");
    expects(model_.inputs() == training.features() && model_.inputs() == test.features() &&
                model_.outputs() == training.classes,
            "replica: the model takes an image of the data and gives a number for each of its classes");
    expects(test.size() > 0, "replica: at least one test image");
    std::size_t const rows = std::max((std::min(asked.batch, training.size()) + size - 1) / size, test_rows);
    images_.resize({rows, training.features()});
    labels_.resize(rows);
    model_.reserve(rows);
    model_.initialise(asked.seed);
  }

  [[nodiscard]] settings const& asked() const noexcept { return asked_; }
  [[nodiscard]] std::span<float> parameters() noexcept { return model_.parameters(); }
  [[nodiscard]] std::span<float const> parameters() const noexcept { return model_.parameters(); }
  [[nodiscard]] std::size_t batches() const noexcept { return sampler_.batches(); }
  [[nodiscard]] std::size_t batch_size(std::size_t b) const noexcept { return sampler_.batch(b).size(); }
  [[nodiscard]] std::size_t training_size() const noexcept { return training_.size(); }
  [[nodiscard]] std::size_t test_size() const noexcept { return test_.size(); }

  void start(std::size_t epoch) noexcept { sampler_.start(epoch); }

  /// This rank's share of global batch b: of the gradients of the mean loss, of the mean loss, of the
  /// accuracy. The sum over ranks is the whole; a rank without samples contributes zeros.
  /// @returns the message, to be added up in place
  std::span<float> gradient(std::size_t b) {
    auto const chosen = sampler_.shard(b, rank_, size_);
    float const scale = 1.0F / static_cast<float>(sampler_.batch(b).size());
    if (chosen.empty()) {
      std::ranges::fill(model_.message(), 0.0F);
      return model_.message();
    }
    auto const x = load(training_, chosen);
    auto const predictions = model_.forward(x);
    auto const sum =
        softmax_cross_entropy::differentiate<float>(predictions, labels(chosen.size()), scale, model_.derivatives());
    model_.backward(x);
    model_.attached()[0] = sum.loss * scale;
    model_.attached()[1] = sum.correct * scale;
    return model_.message();
  }

  /// Follows the gradients that the message now holds.
  /// @returns loss and accuracy of the whole batch, before this step
  score<float> update(float rate) {
    optimizer_.step(model_.parameters(), model_.gradients(), rate);
    return {model_.attached()[0], model_.attached()[1]};
  }

  /// Loss and number of correct answers, summed over this rank's part of the test images.
  score<float> test() {
    std::size_t next = block_begin(test_.size(), size_, rank_);
    std::size_t const end = next + block_size(test_.size(), size_, rank_);
    std::array<std::uint32_t, test_rows> chosen;
    score<float> sum;
    while (next != end) {
      auto const part = std::span(chosen).first(std::min(test_rows, end - next));
      std::iota(part.begin(), part.end(), static_cast<std::uint32_t>(next));
      auto const x = load(test_, part);
      auto const more = softmax_cross_entropy::measure<float>(model_.forward(x), labels(part.size()));
      sum.loss += more.loss;
      sum.correct += more.correct;
      next += part.size();
    }
    return sum;
  }

 private:
  static constexpr std::size_t test_rows = 256;

  matrix_view<float const> load(dataset const& from, std::span<std::uint32_t const> chosen) {
    auto const x = first_rows(images_, chosen.size());
    gather<float>(from, chosen, x, labels(chosen.size()));
    return read_only<float>(x);
  }
  std::span<std::uint8_t> labels(std::size_t count) noexcept { return std::span(labels_).first(count); }

  model<float> model_;
  dataset const& training_;
  dataset const& test_;
  settings asked_;
  rank_type rank_;
  rank_type size_;
  sgd<float> optimizer_;
  sampler sampler_;
  matrix<float> images_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace tutti::nn
