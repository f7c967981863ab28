// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/binned.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/gradient_listener.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

class any_device_message;  // nn/cuda/base/device_message.hpp

/// The part of a training that is a rank's own between steps, so that no other rank's can stand for it.
enum class rank_memory {
  none,      ///< nothing but what its layers remember: weights and optimizers of all ranks are alike
  strategy,  ///< what its strategy remembers, such as gradients that it owes
  replica    ///< and its weights and its optimizer
};

/// The ranks whose loss and accuracy are behind the gradients after a step.
enum class score_of { all_ranks, this_rank };

/// One step of a replica, from its gradient to its next weights, as a strategy sees it.
///
/// `message()` holds this rank's share of the gradient of the mean loss over the batch of all ranks, and
/// behind it the same share of that loss and of the accuracy; `samples()` is the number of images behind it, which may
/// be none; `learning_rate()` is the step's. `update()` lets the weights follow the message as it is: it is meant to be
/// the sum over ranks. `update_alone()` makes the message the mean over this rank's own images first; without any it
/// does nothing. Both are computing, and timed as such; what else a strategy does is exchange.
class training_step {
 public:
  training_step() = default;
  training_step(training_step const&) = delete;
  training_step& operator=(training_step const&) = delete;
  virtual ~training_step() = default;

  /// The weights.
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  /// The gradients, and the numbers attached to them.
  [[nodiscard]] virtual std::span<float> message() = 0;
  /// The number of images of this rank's gradient.
  [[nodiscard]] virtual std::size_t samples() const = 0;
  /// The learning rate of this step.
  [[nodiscard]] virtual float learning_rate() const = 0;
  /// The weights follow the message.
  virtual void update() = 0;
  /// The weights follow the mean gradient of this rank's own images.
  virtual void update_alone() = 0;
};

/// Defines how the replicas of a model learn from each other: what happens between a rank's gradient and its next step.
/// The trainer knows ranks through this class alone. It calls a strategy a few times a step, and once or twice for each
/// layer, so the functions are virtual.
///
/// A strategy of one's own overrides `rank`, `size`, `share`, `sum` and `step`, and what else is not as below: all
/// ranks take part in every step and end it with the same weights, nothing starts before the gradient is complete,
/// and nothing is remembered between steps.
class strategy : public gradient_listener {
 public:
  /// The number of this rank.
  [[nodiscard]] virtual rank_type rank() const = 0;
  /// The number of ranks.
  [[nodiscard]] virtual rank_type size() const = 0;

  /// Replaces the numbers on every rank by those of rank 0. Collective.
  virtual void share(std::span<float> numbers) = 0;
  /// Replaces the numbers by their sums over all ranks, with the same bits everywhere. Collective.
  virtual void sum(std::span<float> numbers) = 0;

  /// Makes the step, on every rank, whether it took part or not.
  /// @returns the ranks whose loss and accuracy are then behind the gradients; with all ranks', every rank says so at
  ///          that step, and has the same bits there
  virtual score_of step(training_step& step) = 0;

  /// True if the weights of all ranks are the same bits after every step. Then `unite` and `resume` do nothing, all
  /// ranks take part in every step, and each step's score is that of all ranks.
  [[nodiscard]] virtual bool equal() const { return true; }
  /// True if this rank computes a gradient in the next step.
  [[nodiscard]] virtual bool takes_part() const { return true; }

  /// A step begins: the gradients will be in this message. Afterwards `completed` says which are final, and so the
  /// strategy's.
  virtual void begin(std::span<float> /*message*/) {}
  void completed(std::size_t /*first*/) override {}
  /// A step begins, whose gradients will be in this message on a device.
  /// @returns false if the strategy sums in host memory; then `begin` is called
  [[nodiscard]] virtual bool begin_on_device(any_device_message const& /*message*/) { return false; }

  /// Makes the weights, on all ranks, those of the model that the replicas are together, with the same bits. No step is
  /// made before `resume`. Collective.
  virtual void unite(std::span<float> /*weights*/) {}
  /// Gives every rank its own weights back, to continue with.
  virtual void resume(std::span<float> /*weights*/) {}

  /// The momentum that runs on each rank before gradients are summed; 0: none.
  [[nodiscard]] virtual float momentum() const { return 0; }

  /// True if `sum_accumulators` may be called.
  [[nodiscard]] virtual bool adds_accumulators() const { return false; }
  /// Adds the accumulators of reproducible replicas over all ranks, and rounds the sums. Collective.
  /// @pre adds_accumulators()
  virtual void sum_accumulators(std::span<binned const> /*sums*/, std::span<float> /*numbers*/) {
    expects(false,
            "strategy: a reproducible replica needs a strategy that adds accumulators; use the strategy "
            "reproducible");
  }

  /// For checkpoints: what is each rank's own.
  [[nodiscard]] virtual rank_memory remembers() const { return rank_memory::none; }
  /// Writes what this rank's strategy remembers between steps. All ranks call it after the same step; it may wait for
  /// what is under way.
  virtual void save(packer& /*to*/) {}
  /// Makes a strategy that has made no step yet remember what `save` wrote, of a model of this many weights, on the
  /// same rank of as many.
  /// @returns false if these are the bytes of something else
  [[nodiscard]] virtual bool load(unpacker& /*from*/, std::size_t /*weights*/) { return true; }
};

/// Strategies whose ranks add all gradients up: all weights follow the sum.
class summing_strategy : public strategy {
 public:
  /// Makes the message that `begin` was given the sum over all ranks.
  /// @throws error if a sum has failed; the message is then of no use
  virtual void finish() = 0;

  /// @throws as `finish`; the weights are then as they were
  score_of step(training_step& step) override {
    finish();
    step.update();
    return score_of::all_ranks;
  }
};

/// A strategy that does what another one does, but for what a derived class overrides: for those that watch.
class strategy_adaptor : public strategy {
 public:
  /// @pre the inner strategy outlives this
  explicit strategy_adaptor(strategy& inner) noexcept : inner_(inner) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const override { return inner_.rank(); }
  [[nodiscard]] rank_type size() const override { return inner_.size(); }
  void share(std::span<float> numbers) override { inner_.share(numbers); }
  void sum(std::span<float> numbers) override { inner_.sum(numbers); }
  score_of step(training_step& step) override { return inner_.step(step); }
  [[nodiscard]] bool equal() const override { return inner_.equal(); }
  [[nodiscard]] bool takes_part() const override { return inner_.takes_part(); }
  void begin(std::span<float> message) override { inner_.begin(message); }
  void completed(std::size_t first) override { inner_.completed(first); }
  void unite(std::span<float> weights) override { inner_.unite(weights); }
  void resume(std::span<float> weights) override { inner_.resume(weights); }
  [[nodiscard]] float momentum() const override { return inner_.momentum(); }
  [[nodiscard]] bool adds_accumulators() const override { return inner_.adds_accumulators(); }
  void sum_accumulators(std::span<binned const> sums, std::span<float> numbers) override {
    inner_.sum_accumulators(sums, numbers);
  }
  [[nodiscard]] rank_memory remembers() const override { return inner_.remembers(); }
  void save(packer& to) override { inner_.save(to); }
  [[nodiscard]] bool load(unpacker& from, std::size_t weights) override { return inner_.load(from, weights); }

 private:
  strategy& inner_;
};

/// A step that does what another one does, but for what a derived class overrides.
class step_adaptor : public training_step {
 public:
  /// @pre the inner step outlives this
  explicit step_adaptor(training_step& inner) noexcept : inner_(inner) {}

  [[nodiscard]] std::span<float> parameters() override { return inner_.parameters(); }
  [[nodiscard]] std::span<float> message() override { return inner_.message(); }
  [[nodiscard]] std::size_t samples() const override { return inner_.samples(); }
  [[nodiscard]] float learning_rate() const override { return inner_.learning_rate(); }
  void update() override { inner_.update(); }
  void update_alone() override { inner_.update_alone(); }

 private:
  training_step& inner_;
};

}  // namespace tutti::nn
