// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/gradient_listener.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

class any_device_gradient_buffer;  // nn/cuda/base/device_gradient_buffer.hpp

/// The part of a training that exists on one rank only, so that a checkpoint of another rank cannot replace it.
enum class rank_memory {
  statistics,  ///< only the layers' statistics: weights and optimizers of all ranks are equal
  strategy,    ///< the strategy's memory, too, such as gradients not yet sent (error feedback)
  replica      ///< the strategy's memory, the weights and the optimizer
};

/// The ranks whose loss and accuracy the gradient buffer holds after a step.
enum class metrics_scope { all_ranks, this_rank };

/// A strategy's view of one step of a replica, from its gradient to its next weights.
///
/// `gradient_buffer()`, the gradient buffer, holds this rank's share of the gradient of the mean loss over the batch of
/// all ranks, then its share of that loss and of the accuracy. `samples()` is the number of images behind it and may be
/// zero. `update()` updates the weights with the buffer as it is, usually the sum over ranks. `update_local()` first
/// turns the buffer into the mean over this rank's own images; without images it does nothing. Both are timed as
/// computing, all else in a strategy as exchange.
class training_step {
 public:
  training_step() = default;
  training_step(training_step const&) = delete;
  training_step& operator=(training_step const&) = delete;
  virtual ~training_step() = default;

  /// The weights.
  [[nodiscard]] virtual std::span<float> parameters() = 0;
  /// The gradient buffer: the gradients and the extra scalars.
  [[nodiscard]] virtual std::span<float> gradient_buffer() = 0;
  /// The number of images behind this rank's gradient.
  [[nodiscard]] virtual std::size_t samples() const = 0;
  /// The learning rate of this step.
  [[nodiscard]] virtual float learning_rate() const = 0;
  /// Updates the weights with the gradient buffer.
  virtual void update() = 0;
  /// Updates the weights with the mean gradient of this rank's own images.
  virtual void update_local() = 0;
};

/// Combines the training of a model's replicas: everything between a rank's gradient and its next step. The trainer
/// reaches other ranks only through this class. It calls a strategy a few times a step, and once or twice for each
/// layer, so the functions are virtual.
///
/// A strategy of your own overrides `rank`, `size`, `broadcast`, `sum` and `step`. By default all ranks take part in
/// every step and end it with the same weights, nothing starts before the gradient is complete, and nothing is
/// remembered between steps.
class strategy : public gradient_listener {
 public:
  /// The number of this rank.
  [[nodiscard]] virtual rank_type rank() const = 0;
  /// The number of ranks.
  [[nodiscard]] virtual rank_type size() const = 0;

  /// Replaces the numbers on every rank by those of rank 0. Collective.
  virtual void broadcast(std::span<float> numbers) = 0;
  /// Replaces the numbers by their sums over all ranks, with the same bits everywhere. Collective.
  virtual void sum(std::span<float> numbers) = 0;

  /// Makes one step, on every rank, whether it took part or not.
  /// @returns the ranks whose loss and accuracy the gradient buffer then holds; `all_ranks` is returned by every rank
  /// in the same step, with the same bits in the buffer
  virtual metrics_scope step(training_step& step) = 0;

  /// True if the weights of all ranks are the same bits after every step. Then `average_weights` and `restore_weights`
  /// do nothing, all ranks take part in every step, and the metrics of each step are those of all ranks.
  [[nodiscard]] virtual bool has_equal_weights() const { return true; }
  /// True if this rank computes a gradient in the next step.
  [[nodiscard]] virtual bool participates() const { return true; }

  /// Begins a step, whose gradients will be in this gradient buffer. Later calls of `on_completion` hand over the parts
  /// that are final.
  virtual void begin(std::span<float> /*gradient_buffer*/) {}
  void on_completion(std::size_t /*first*/) override {}
  /// Begins a step, whose gradients will be in this gradient buffer on a device.
  /// @returns false if the strategy sums in host memory; then `begin` is called instead
  [[nodiscard]] virtual bool begin_on_device(any_device_gradient_buffer const& /*gradient_buffer*/) { return false; }

  /// Weight averaging: replaces the weights, on all ranks, by those of the common model, with the same bits. No step
  /// is made before `restore_weights`. Collective.
  virtual void average_weights(std::span<float> /*weights*/) {}
  /// Restores every rank's own weights, to continue with.
  virtual void restore_weights(std::span<float> /*weights*/) {}

  /// The momentum that is applied on each rank before gradients are summed; 0 without.
  [[nodiscard]] virtual float momentum() const { return 0; }

  /// True if `sum_accumulators` may be called.
  [[nodiscard]] virtual bool adds_accumulators() const { return false; }
  /// Adds the accumulators of reproducible replicas over all ranks, and rounds the sums. Collective.
  /// @pre adds_accumulators()
  virtual void sum_accumulators(std::span<binned_sum const> /*sums*/, std::span<float> /*numbers*/) {
    expects(false,
            "strategy: a reproducible replica needs a strategy that adds accumulators; use the strategy "
            "reproducible");
  }

  /// The state that exists on this rank only, for checkpoints.
  [[nodiscard]] virtual rank_memory local_memory() const { return rank_memory::statistics; }
  /// Writes the state that this rank's strategy keeps between steps. All ranks call it after the same step; it may
  /// wait for pending operations.
  virtual void save(packer& /*output*/) {}
  /// Restores the state that `save` wrote. The strategy has made no step yet, for a model of this many weights; rank
  /// and number of ranks are those of `save`.
  /// @returns false if the bytes are not such a state
  [[nodiscard]] virtual bool load(unpacker& /*input*/, std::size_t /*weights*/) { return true; }
};

/// A strategy that sums the gradients of all ranks, and updates all weights with the sum.
class summing_strategy : public strategy {
 public:
  /// Completes the sum over all ranks in the gradient buffer given to `begin`.
  /// @throws error if a sum has failed; the buffer is then undefined
  virtual void finish() = 0;

  /// @throws the exceptions of `finish`; the weights are then unchanged
  metrics_scope step(training_step& step) override {
    finish();
    step.update();
    return metrics_scope::all_ranks;
  }
};

/// A strategy that forwards all calls to another one, unless a derived class overrides them. For observing. If the
/// inner strategy sums on a device, the host sees no gradient buffer: `begin` and `on_completion` are not called, but
/// `begin_on_device` and `on_enqueue`.
class strategy_adaptor : public strategy {
 public:
  /// @pre the inner strategy outlives this
  explicit strategy_adaptor(strategy& inner) noexcept : inner_(inner) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const override { return inner_.rank(); }
  [[nodiscard]] rank_type size() const override { return inner_.size(); }
  void broadcast(std::span<float> numbers) override { inner_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { inner_.sum(numbers); }
  metrics_scope step(training_step& step) override { return inner_.step(step); }
  [[nodiscard]] bool has_equal_weights() const override { return inner_.has_equal_weights(); }
  [[nodiscard]] bool participates() const override { return inner_.participates(); }
  void begin(std::span<float> gradient_buffer) override { inner_.begin(gradient_buffer); }
  void on_completion(std::size_t first) override { inner_.on_completion(first); }
  [[nodiscard]] bool begin_on_device(any_device_gradient_buffer const& gradient_buffer) override {
    return inner_.begin_on_device(gradient_buffer);
  }
  [[nodiscard]] bool is_on_device() const noexcept override { return inner_.is_on_device(); }
  void on_enqueue(std::size_t first) override { inner_.on_enqueue(first); }
  void average_weights(std::span<float> weights) override { inner_.average_weights(weights); }
  void restore_weights(std::span<float> weights) override { inner_.restore_weights(weights); }
  [[nodiscard]] float momentum() const override { return inner_.momentum(); }
  [[nodiscard]] bool adds_accumulators() const override { return inner_.adds_accumulators(); }
  void sum_accumulators(std::span<binned_sum const> sums, std::span<float> numbers) override {
    inner_.sum_accumulators(sums, numbers);
  }
  [[nodiscard]] rank_memory local_memory() const override { return inner_.local_memory(); }
  void save(packer& output) override { inner_.save(output); }
  [[nodiscard]] bool load(unpacker& input, std::size_t weights) override { return inner_.load(input, weights); }

 private:
  strategy& inner_;
};

/// A step that forwards all calls to another one, unless a derived class overrides them.
class step_adaptor : public training_step {
 public:
  /// @pre the inner step outlives this
  explicit step_adaptor(training_step& inner) noexcept : inner_(inner) {}

  [[nodiscard]] std::span<float> parameters() override { return inner_.parameters(); }
  [[nodiscard]] std::span<float> gradient_buffer() override { return inner_.gradient_buffer(); }
  [[nodiscard]] std::size_t samples() const override { return inner_.samples(); }
  [[nodiscard]] float learning_rate() const override { return inner_.learning_rate(); }
  void update() override { inner_.update(); }
  void update_local() override { inner_.update_local(); }

 private:
  training_step& inner_;
};

}  // namespace tutti::nn
