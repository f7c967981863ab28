// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/nn/detail/numbers/packing.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/detail/strategy/neighbourhood.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Decentralised training: every rank follows the mean gradient of its own images and moves its weights towards those
/// of a few neighbours. No rank waits for all.
///
/// After each step a rank begins an *exchange*: it sends its weights, and receives its neighbours' weights after the
/// same step. Both travel while the next gradient is computed. To settle an exchange, the rank adds c (theirs - own)
/// to its weights for each neighbour, with both as exchanged. So the sum of all weights is preserved however late
/// each rank settles: their mean follows the mean of the gradients.
///
/// With staleness 0 a rank waits, after each step, for the exchange begun before it. This is D-PSGD, x' = W x - rate
/// g(x) with W doubly stochastic (Lian, Zhang, Zhang, Hsieh, Zhang, Liu, "Can decentralized algorithms outperform
/// centralized algorithms?", NeurIPS 2017). With staleness s it settles the exchanges that have arrived, and waits
/// only for those more than s steps old: a rank is at most s + 1 steps ahead of the ranks that it receives from.
/// AD-PSGD also averages pairs without waiting for other ranks (Lian, Zhang, Zhang, Liu, "Asynchronous decentralized
/// parallel stochastic gradient descent", ICML 2018); it bounds staleness in its proof, this class by waiting.
///
/// Late exchanges overshoot, hence c is that of the graph divided by s + 1. If each step changes a difference between
/// ranks by -l times its value s steps before, it decays only if l < 2 sin(pi / (4 s + 2)) (Levin, May, "A note on
/// difference-delay equations", 1976), and l is up to 4/3 in a ring before that division.
///
/// All ranks have equal weight, whatever the number of their images. The optimizer's state stays on its rank. Loss
/// and accuracy are this rank's.
///
/// Memory: for each of s + 1 exchanges, the weights and those of each neighbour. Cost per step: one message of the
/// weights to and from each neighbour, and one pass over them.
template <class Communicator, offers<op::allreduce> Topology>
class gossip : public strategy {
 public:
  /// @param topology schedule of collectives: initial weights, and the mean of all weights for tests
  /// @param graph, staleness equal on all ranks
  /// @pre the communicator outlives the strategy
  explicit gossip(Communicator& world, Topology topology = {}, neighbours graph = neighbours::ring,
                  std::size_t staleness = 0)
      : collectives_(world, topology),
        send_(world),
        receive_(world),
        neighbourhood_(graph, world.rank(), world.size()),
        exchanges_(staleness + 1),
        factor_(neighbourhood_.weight() / static_cast<float>(staleness + 1)) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return collectives_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return collectives_.size(); }
  [[nodiscard]] bool has_equal_weights() const noexcept override { return false; }

  void broadcast(std::span<float> numbers) override { collectives_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { collectives_.sum(numbers); }
  /// Makes progress on exchanges.
  void on_completion(std::size_t /*first*/) override { collectives_.world().poll(); }

  /// @throws error if an exchange has failed
  metrics_scope step(training_step& step) override {
    step.update_local();
    auto const weights = step.parameters();
    while (settled_count_ != begun_count_ &&
           (begun_count_ - settled_count_ == exchanges_.size() || oldest().has_arrived())) {
      settle(weights);
    }
    begin_exchange(weights);
    return metrics_scope::this_rank;
  }

  /// Settles all exchanges. Cost: one allreduce of the weights.
  void average_weights(std::span<float> weights) override {
    while (settled_count_ != begun_count_) {
      settle(weights);
    }
    for (auto& pending : exchanges_) {
      pending.wait_for_readers();
    }
    saved_weights_.assign(weights.begin(), weights.end());
    collectives_.sum(weights);
    std::ranges::for_each(weights, [n = static_cast<float>(size())](float& weight) { weight /= n; });
  }
  void restore_weights(std::span<float> weights) override { std::ranges::copy(saved_weights_, weights.begin()); }

  [[nodiscard]] rank_memory local_memory() const noexcept override { return rank_memory::replica; }
  /// Waits for the pending exchanges, and settles none.
  void save(packer& output) override {
    output.number(begun_count_).number(settled_count_);
    for (std::uint64_t k = settled_count_; k != begun_count_; ++k) {
      auto& pending = exchanges_[k % exchanges_.size()];
      pending.wait();
      detail::pack(output, pending.local_weights);
      for (std::size_t i = 0; i != neighbourhood_.count(); ++i) {
        detail::pack(output, pending.neighbour_weights[i]);
      }
    }
  }
  [[nodiscard]] bool load(unpacker& input, std::size_t weights) override {
    begun_count_ = input.number();
    settled_count_ = input.number();
    bool is_good = input.good() && settled_count_ <= begun_count_ && begun_count_ - settled_count_ <= exchanges_.size();
    for (std::uint64_t k = settled_count_; is_good && k != begun_count_; ++k) {
      auto& pending = exchanges_[k % exchanges_.size()];
      is_good = detail::unpack(input, pending.local_weights, weights);
      for (std::size_t i = 0; is_good && i != neighbourhood_.count(); ++i) {
        is_good = detail::unpack(input, pending.neighbour_weights[i], weights);
      }
    }
    return is_good;
  }

 private:
  struct exchange {
    [[nodiscard]] bool has_arrived() {
      return std::ranges::all_of(receives, [](request& transfer) { return transfer.test(); });
    }
    void wait() {
      std::ranges::for_each(receives, [](request& transfer) { transfer.wait(); });
    }
    void wait_for_readers() {
      std::ranges::for_each(sends, [](request& transfer) { transfer.wait(); });
    }

    // Requests are destroyed before the buffers that they use.
    std::vector<float> local_weights;
    std::array<std::vector<float>, detail::neighbourhood::max_count> neighbour_weights;
    std::array<request, detail::neighbourhood::max_count> sends;
    std::array<request, detail::neighbourhood::max_count> receives;
  };

  [[nodiscard]] exchange& oldest() noexcept { return exchanges_[settled_count_ % exchanges_.size()]; }

  void begin_exchange(std::span<float const> weights) {
    auto& next = exchanges_[begun_count_ % exchanges_.size()];
    next.wait_for_readers();
    next.local_weights.assign(weights.begin(), weights.end());
    for (std::size_t i = 0; i != neighbourhood_.count(); ++i) {
      next.neighbour_weights[i].resize(weights.size());
      next.receives[i] = receive_.start(next.neighbour_weights[i], neighbourhood_.source(i, begun_count_));
      next.sends[i] = send_.start(next.local_weights, neighbourhood_.target(i, begun_count_));
    }
    ++begun_count_;
  }

  void settle(std::span<float> weights) {
    auto& pending = oldest();
    pending.wait();
    for (std::size_t i = 0; i != neighbourhood_.count(); ++i) {
      float* const weight_data = weights.data();
      float const* const exchanged_weights = pending.local_weights.data();
      float const* const neighbour = pending.neighbour_weights[i].data();
      for (std::size_t k = 0; k != weights.size(); ++k) {
        weight_data[k] += factor_ * (neighbour[k] - exchanged_weights[k]);
      }
    }
    ++settled_count_;
  }

  detail::group_operations<Communicator, Topology> collectives_;
  tutti::send<Communicator> send_;
  tutti::recv<Communicator> receive_;
  detail::neighbourhood neighbourhood_;
  std::vector<exchange> exchanges_;  // used in turn
  float factor_;                     // factor c of each neighbour's difference
  std::uint64_t begun_count_ = 0;
  std::uint64_t settled_count_ = 0;
  std::vector<float> saved_weights_;  // this rank's weights while they are averaged
};

}  // namespace tutti::nn
