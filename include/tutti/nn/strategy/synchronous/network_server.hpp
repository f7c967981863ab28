// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/in_network.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A transport with a device that holds and updates weights: an operation of `network_operation::update` sums the
/// ranks' contributions, updates the weights with the sum, and returns the new weights.
template <class T>
concept holds_weights =
    aggregates<T> && requires(T& t, std::span<float const> numbers, std::span<float> output, float number) {
      requires std::bool_constant<T::supports(network_operation::update)>::value;
      { t.set_weights(numbers) } -> std::same_as<void>;
      { t.fetch_weights(output) } -> std::same_as<void>;
      { t.set_gradients(numbers, number, number) } -> std::same_as<void>;
      { t.release_weights() } -> std::same_as<void>;
    };

namespace detail {

/// The sum of gradients with which a device updates its weights.
struct pushed_gradients : tutti::sum<float> {
  static constexpr std::string_view name = "pushed_gradients";
  static constexpr network_operation in_network = network_operation::update;
};

}  // namespace detail

/// Synchronous training with a server in the network: a device holds the weights, all ranks are workers. They push
/// their gradients; the device sums them, updates the weights, w - rate (g + decay w), and sends them to all workers.
/// At the beginning rank 0 stores its weights on the device, and the others pull them. (A parameter server of Li et
/// al., "Scaling distributed machine learning with the parameter server", OSDI 2014, on the path like the sums of
/// Sapio et al., NSDI 2021.)
///
/// Weights have the bits of `synchronous` over `in_network` with the optimizer sgd without momentum, on all workers:
/// up to 8 ranks, gradients are added in rank order. Unlike there, no rank runs an optimizer. A single worker updates
/// its weights itself.
///
/// If the device dies, rank 0 serves in its place, with its own weights; when a device is back, rank 0 stores the
/// weights on it after the next step. Rank 0 also serves the weights that exceed the device's memory. A step that
/// fails leaves the weights unchanged.
///
/// Memory: two vectors of the parameters' size, and up to two more at rank 0 once it serves. Cost: one message of the
/// gradients and one of the weights per rank and step. Nothing is sent before all gradients are complete.
template <class Communicator>
  requires holds_weights<typename Communicator::transport_type>
class network_server : public strategy {
 public:
  /// @param bucket largest size of an operation in bytes, equal on all ranks; 0: one operation for all
  /// @pre the communicator outlives the strategy, which is the only one of its kind over its transport
  /// @throws precondition_error for settings that the device does not support completely
  network_server(Communicator& world, settings const& options, std::size_t bucket = 0)
      : collectives_(world, in_network{}),
        update_(world, in_network{}, detail::pushed_gradients{}),
        decay_(options.weight_decay),
        bucket_(bucket / sizeof(float) / block * block) {
    expects(options.optimizer == optimizer_kind::sgd && options.momentum == 0 && !options.momentum_corrected,
            "network_server: a device runs only the optimizer sgd with momentum 0, not ", name(options.optimizer),
            " with momentum ", options.momentum, "; choose that optimizer, or the strategy synchronous");
    expects(options.clip_norm == 0 && (options.weight_decay == 0 || options.decays_all),
            "network_server: a device neither clips gradients nor tells biases from weights; set clip_norm to 0, and "
            "with weight decay decays_all to true, or choose the strategy synchronous");
    expects(!options.reproducible,
            "network_server: a device rounds its sums; set reproducible to false, or use the strategy reproducible");
    expects(bucket == 0 || bucket_ != 0, "network_server: a bucket must be at least a block of ", block * sizeof(float),
            " bytes, not ", bucket);
  }
  ~network_server() override { collectives_.world().transport().release_weights(); }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return collectives_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return collectives_.size(); }

  /// Cost: rank 0 stores the weights that the device lacks, the others pull all; two barriers.
  void broadcast(std::span<float> numbers) override {
    if (size() == 1) {
      return;
    }
    copy_weights(numbers);
    auto& transport = collectives_.world().transport();
    if (rank() == 0) {
      transport.set_weights(weights_);
    }
    synchronise();
    if (rank() != 0) {
      transport.fetch_weights(weights_);
    }
    synchronise();  // throws if the world has failed
    is_held_ = true;
    std::copy_n(weights_.begin(), numbers.size(), numbers.begin());
  }
  /// Cost: one allreduce.
  void sum(std::span<float> numbers) override { collectives_.sum(numbers); }

  /// @throws error; the weights are then unchanged
  metrics_scope step(training_step& step) override {
    std::span<float> const weights = step.parameters();
    if (size() == 1) {
      step.update();
      return metrics_scope::all_ranks;
    }
    if (!is_held_) {
      copy_weights(weights);
      collectives_.world().transport().set_weights(weights_);
      is_held_ = true;
    }
    std::span<float> const gradients = step.gradient_buffer();
    std::copy_n(gradients.begin(), weights.size(), next_.begin());
    push(step.learning_rate());
    collectives_.sum(gradients.subspan(weights.size()));
    for (request& pending : requests_) {
      pending.wait();
    }
    weights_.swap(next_);
    collectives_.world().transport().set_weights(weights_);
    std::copy_n(weights_.begin(), weights.size(), weights.begin());
    return metrics_scope::all_ranks;
  }

 private:
  static constexpr std::size_t block = 256;  ///< numbers of a block

  /// Copies the weights, padded to whole blocks with zeros.
  void copy_weights(std::span<float const> weights) {
    weights_.assign((weights.size() + block - 1) / block * block, 0.0F);
    next_.assign(weights_.size(), 0.0F);
    std::ranges::copy(weights, weights_.begin());
  }
  void push(float rate) {
    requests_.clear();  // requests of a failed step
    collectives_.world().transport().set_gradients(next_, rate, decay_);
    std::size_t const length = bucket_ == 0 ? next_.size() : bucket_;
    for (std::size_t at = 0; at < next_.size(); at += length) {
      requests_.push_back(update_.start(std::span(next_).subspan(at, (std::min)(length, next_.size() - at))));
    }
  }
  void synchronise() {
    float zero = 0;
    collectives_.sum({&zero, 1});
  }

  detail::group_operations<Communicator, in_network> collectives_;
  allreduce<Communicator, in_network, detail::pushed_gradients> update_;
  float decay_;
  std::size_t bucket_;          // numbers of a bucket
  std::vector<float> weights_;  // weights on the device
  std::vector<float> next_;     // gradients, then the new weights
  bool is_held_ = false;
  std::vector<request> requests_;
};

}  // namespace tutti::nn
