// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/strategy/any_strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// A strategy that also sums the gradients of each step in double, and notes by how much its sums differ from those at
/// most: an experiment, which takes three times as long. It changes nothing else.
template <class Communicator>
class compared {
 public:
  /// @param attached how many numbers at a message's end are no gradients
  /// @pre both outlive this, and so does `deviations`, which gets a number for each step
  compared(Communicator& world, tutti::nn::any_strategy& inner, std::size_t attached, std::vector<double>& deviations)
      : exact_(world, tutti::direct{}, tutti::sum<double>{}),
        inner_(inner),
        attached_(attached),
        deviations_(deviations) {}

  [[nodiscard]] tutti::rank_type rank() const { return inner_.rank(); }
  [[nodiscard]] tutti::rank_type size() const { return inner_.size(); }
  [[nodiscard]] bool equal() const { return inner_.equal(); }
  [[nodiscard]] bool takes_part() const { return inner_.takes_part(); }
  void share(std::span<float> numbers) { inner_.share(numbers); }
  void sum(std::span<float> numbers) { inner_.sum(numbers); }

  void begin(std::span<float> message) {
    gradients_ = message.first(message.size() - attached_);
    sums_.resize(gradients_.size());
    noted_ = gradients_.size();
    inner_.begin(message);
  }
  void completed(std::size_t first) {
    for (; noted_ > first; --noted_) {  // from now on they are the strategy's
      sums_[noted_ - 1] = double{gradients_[noted_ - 1]};
    }
    inner_.completed(first);
  }
  template <tutti::nn::training_step Step>
  tutti::nn::score_of step(Step& step) {
    for (; noted_ != 0; --noted_) {
      sums_[noted_ - 1] = double{gradients_[noted_ - 1]};
    }
    compared_step<Step> watched{*this, step};
    return inner_.step(watched);
  }

  void unite(std::span<float> parameters) { inner_.unite(parameters); }
  void resume(std::span<float> parameters) { inner_.resume(parameters); }
  [[nodiscard]] tutti::nn::rank_memory remembers() const { return inner_.remembers(); }
  [[nodiscard]] float momentum() const { return inner_.momentum(); }
  void save(tutti::packer& to) { inner_.save(to); }
  [[nodiscard]] bool load(tutti::unpacker& from, std::size_t weights) { return inner_.load(from, weights); }

 private:
  template <class Step>
  struct compared_step {
    [[nodiscard]] std::span<float> parameters() { return inner.parameters(); }
    [[nodiscard]] std::span<float> message() { return inner.message(); }
    [[nodiscard]] std::size_t samples() const { return inner.samples(); }
    [[nodiscard]] float learning_rate() const { return inner.learning_rate(); }
    void update() {
      to.compare();
      inner.update();
    }
    void update_alone() { inner.update_alone(); }

    compared& to;
    Step& inner;
  };

  void compare() {
    exact_(sums_);
    double most = 0;
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      most = std::max(most, std::abs(double{gradients_[i]} - sums_[i]));
    }
    deviations_.push_back(most);
  }

  tutti::allreduce<Communicator, tutti::direct, tutti::sum<double>> exact_;
  tutti::nn::any_strategy& inner_;
  std::size_t attached_;
  std::vector<double>& deviations_;
  std::span<float> gradients_;
  std::size_t noted_ = 0;     // gradients in front that may still change
  std::vector<double> sums_;  // this rank's gradients until they are summed
};
