// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// A strategy that also sums the gradients of each step in double, and notes the largest deviation of its own sums. An
/// experiment, which takes three times as long and changes nothing else.
template <class Communicator>
class shadow_sum : public tutti::nn::strategy_adaptor {
 public:
  /// @param extra_scalars number of elements at the end of the gradient buffer that are no gradients
  /// @pre all references outlive this; `deviations` gets a number for each step
  shadow_sum(Communicator& world, tutti::nn::strategy& inner, std::size_t extra_scalars,
             std::vector<double>& deviations)
      : strategy_adaptor(inner),
        exact_(world, tutti::direct{}, tutti::sum<double>{}),
        extra_scalars_(extra_scalars),
        deviations_(deviations) {}

  void begin(std::span<float> gradient_buffer) override {
    gradients_ = gradient_buffer.first(gradient_buffer.size() - extra_scalars_);
    sums_.resize(gradients_.size());
    open_count_ = gradients_.size();
    strategy_adaptor::begin(gradient_buffer);
  }
  void on_completion(std::size_t first) override {
    note(first);  // the strategy may change them from now on
    strategy_adaptor::on_completion(first);
  }
  tutti::nn::metrics_scope step(tutti::nn::training_step& step) override {
    note(0);
    shadow_sum_step compared_view(*this, step);
    return strategy_adaptor::step(compared_view);
  }

 private:
  class shadow_sum_step : public tutti::nn::step_adaptor {
   public:
    shadow_sum_step(shadow_sum& owner, training_step& inner) : step_adaptor(inner), owner_(owner) {}

    void update() override {
      owner_.compare();
      step_adaptor::update();
    }

   private:
    shadow_sum& owner_;
  };

  void note(std::size_t first) {
    for (; open_count_ > first; --open_count_) {
      sums_[open_count_ - 1] = double{gradients_[open_count_ - 1]};
    }
  }
  void compare() {
    exact_(sums_);
    double largest = 0;
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      largest = std::max(largest, std::abs(double{gradients_[i]} - sums_[i]));
    }
    deviations_.push_back(largest);
  }

  tutti::allreduce<Communicator, tutti::direct, tutti::sum<double>> exact_;
  std::size_t extra_scalars_;
  std::vector<double>& deviations_;
  std::span<float> gradients_;
  std::size_t open_count_ = 0;  // leading gradients that may still change
  std::vector<double> sums_;    // this rank's gradients until they are summed
};
