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
class compared : public tutti::nn::strategy_adaptor {
 public:
  /// @param extra_scalars number of elements at the end of the gradient buffer that are no gradients
  /// @pre all references outlive this; `deviations` gets a number for each step
  compared(Communicator& world, tutti::nn::strategy& inner, std::size_t extra_scalars, std::vector<double>& deviations)
      : strategy_adaptor(inner),
        exact_(world, tutti::direct{}, tutti::sum<double>{}),
        extra_scalars_(extra_scalars),
        deviations_(deviations) {}

  void begin(std::span<float> message) override {
    gradients_ = message.first(message.size() - extra_scalars_);
    sums_.resize(gradients_.size());
    noted_ = gradients_.size();
    strategy_adaptor::begin(message);
  }
  void on_completion(std::size_t first) override {
    note(first);  // the strategy may change them from now on
    strategy_adaptor::on_completion(first);
  }
  tutti::nn::metrics_scope step(tutti::nn::training_step& step) override {
    note(0);
    compared_step watched(*this, step);
    return strategy_adaptor::step(watched);
  }

 private:
  class compared_step : public tutti::nn::step_adaptor {
   public:
    compared_step(compared& to, training_step& inner) : step_adaptor(inner), to_(to) {}

    void update() override {
      to_.compare();
      step_adaptor::update();
    }

   private:
    compared& to_;
  };

  void note(std::size_t first) {
    for (; noted_ > first; --noted_) {
      sums_[noted_ - 1] = double{gradients_[noted_ - 1]};
    }
  }
  void compare() {
    exact_(sums_);
    double most = 0;
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      most = std::max(most, std::abs(double{gradients_[i]} - sums_[i]));
    }
    deviations_.push_back(most);
  }

  tutti::allreduce<Communicator, tutti::direct, tutti::sum<double>> exact_;
  std::size_t extra_scalars_;
  std::vector<double>& deviations_;
  std::span<float> gradients_;
  std::size_t noted_ = 0;     // leading gradients that may still change
  std::vector<double> sums_;  // this rank's gradients until they are summed
};
