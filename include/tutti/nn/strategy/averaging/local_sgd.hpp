// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Local SGD: every rank follows the mean gradient of its own images, and every few steps all weights become their
/// mean. (McDonald, Hall, Mann, "Distributed training strategies for the structured perceptron", NAACL 2010; Stich,
/// "Local SGD converges fast and communicates little", ICLR 2019; Lin, Stich, Patel, Jaggi, "Don't use large
/// mini-batches, use local SGD", ICLR 2020)
///
/// A rank's weight in the mean is the number of images that it has trained on since the last one, so unequal parts of
/// a batch count as in synchronous training. With a mean after every step and an optimizer without momentum, the two
/// are equal up to rounding.
///
/// The optimizer's state stays on its rank: velocities are not averaged. Loss and accuracy are those of all ranks at
/// steps that end with a mean, else this rank's.
///
/// Memory: two more vectors of the weights' size. Cost: one allreduce of the weights every few steps.
template <class Communicator, offers<op::allreduce> Topology>
class local_sgd : public strategy {
 public:
  /// @param interval number of steps between means, equal on all ranks
  /// @pre the communicator outlives the strategy
  explicit local_sgd(Communicator& world, Topology topology = {}, std::size_t interval = 1)
      : collectives_(world, topology), interval_(interval) {
    expects(interval > 0, "local_sgd: weights must be averaged after 1 step or more, not 0");
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return collectives_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return collectives_.size(); }
  [[nodiscard]] bool has_equal_weights() const noexcept override { return interval_ == 1; }
  /// The number of steps since the weights were last equal on all ranks.
  [[nodiscard]] std::size_t steps_apart() const noexcept { return steps_; }

  void broadcast(std::span<float> numbers) override {
    collectives_.broadcast(numbers);
    steps_ = 0;
    images_ = 0;
  }
  void sum(std::span<float> numbers) override { collectives_.sum(numbers); }

  metrics_scope step(training_step& step) override {
    step.update_local();
    images_ += step.samples();
    if (++steps_ != interval_) {
      return metrics_scope::this_rank;
    }
    auto const weights = step.parameters();
    bool const has_metrics = average(weights, step.gradient_buffer().subspan(weights.size()), step.samples());
    steps_ = 0;
    images_ = 0;
    return has_metrics ? metrics_scope::all_ranks : metrics_scope::this_rank;
  }

  /// Cost: one allreduce of the weights, unless they are equal.
  void average_weights(std::span<float> weights) override {
    if (steps_ != 0) {
      saved_weights_.assign(weights.begin(), weights.end());
      average(weights, {}, 0);
    }
  }
  void restore_weights(std::span<float> weights) override {
    if (steps_ != 0) {
      std::ranges::copy(saved_weights_, weights.begin());
    }
  }

  [[nodiscard]] rank_memory local_memory() const noexcept override { return rank_memory::replica; }
  void save(packer& output) override { output.number(steps_).number(images_); }
  [[nodiscard]] bool load(unpacker& input, std::size_t /*weights*/) override {
    steps_ = input.number_as<std::size_t>();
    images_ = input.number_as<std::size_t>();
    return input.good() && steps_ < interval_;
  }

 private:
  /// Replaces the weights by their mean, weighted by images since the last one, and the score by its mean, weighted
  /// by the images of this step.
  /// @returns true if this step had images
  bool average(std::span<float> weights, std::span<float> metrics, std::size_t step_images) {
    mean_.resize(weights.size() + metrics.size() + 2);
    auto const sums = std::span(mean_).first(weights.size());
    auto const metric_sums = std::span(mean_).subspan(weights.size(), metrics.size());
    float& images = mean_[mean_.size() - 2];
    float& step_weight = mean_.back();
    images = static_cast<float>(images_);
    step_weight = static_cast<float>(step_images);
    weigh(weights, images, sums);
    weigh(metrics, step_weight, metric_sums);
    collectives_.sum(mean_);
    if (images > 0) {
      divide(sums, images, weights);
    }
    if (step_weight > 0) {
      divide(metric_sums, step_weight, metrics);
    }
    return step_weight > 0;
  }

  /// Multiplies by the weight. Values without weight may be NaN and give 0.
  static void weigh(std::span<float const> values, float weight, std::span<float> products) noexcept {
    std::ranges::transform(values, products.begin(),
                           [weight](float value) { return weight > 0 ? weight * value : 0.0F; });
  }
  static void divide(std::span<float const> sums, float weight, std::span<float> means) noexcept {
    std::ranges::transform(sums, means.begin(), [weight](float sum) { return sum / weight; });
  }

  detail::group_operations<Communicator, Topology> collectives_;
  std::size_t interval_;
  std::size_t steps_ = 0;             // steps since the last mean
  std::size_t images_ = 0;            // images of this rank since the last mean
  std::vector<float> mean_;           // sum of the weighted weights and metrics, and of their weights
  std::vector<float> saved_weights_;  // this rank's weights while they are averaged
};

}  // namespace tutti::nn
