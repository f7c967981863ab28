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
      : all_(world, topology),
        give_(world),
        take_(world),
        around_(graph, world.rank(), world.size()),
        exchanges_(staleness + 1),
        pull_(around_.weight() / static_cast<float>(staleness + 1)) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return all_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return all_.size(); }
  [[nodiscard]] bool has_equal_weights() const noexcept override { return false; }

  void broadcast(std::span<float> numbers) override { all_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { all_.sum(numbers); }
  /// Makes progress on exchanges.
  void on_completion(std::size_t /*first*/) override { all_.world().poll(); }

  /// @throws error if an exchange has failed
  metrics_scope step(training_step& step) override {
    step.update_local();
    auto const weights = step.parameters();
    while (settled_ != begun_ && (begun_ - settled_ == exchanges_.size() || oldest().arrived())) {
      settle(weights);
    }
    begin_exchange(weights);
    return metrics_scope::this_rank;
  }

  /// Settles all exchanges. Cost: one allreduce of the weights.
  void average_weights(std::span<float> weights) override {
    while (settled_ != begun_) {
      settle(weights);
    }
    for (auto& one : exchanges_) {
      one.wait_for_readers();
    }
    own_.assign(weights.begin(), weights.end());
    all_.sum(weights);
    std::ranges::for_each(weights, [n = static_cast<float>(size())](float& weight) { weight /= n; });
  }
  void restore_weights(std::span<float> weights) override { std::ranges::copy(own_, weights.begin()); }

  [[nodiscard]] rank_memory local_memory() const noexcept override { return rank_memory::replica; }
  /// Waits for the pending exchanges, and settles none.
  void save(packer& to) override {
    to.number(begun_).number(settled_);
    for (std::uint64_t k = settled_; k != begun_; ++k) {
      auto& one = exchanges_[k % exchanges_.size()];
      one.wait();
      detail::pack(to, one.own);
      for (std::size_t i = 0; i != around_.count(); ++i) {
        detail::pack(to, one.theirs[i]);
      }
    }
  }
  [[nodiscard]] bool load(unpacker& from, std::size_t weights) override {
    begun_ = from.number();
    settled_ = from.number();
    bool good = from.good() && settled_ <= begun_ && begun_ - settled_ <= exchanges_.size();
    for (std::uint64_t k = settled_; good && k != begun_; ++k) {
      auto& one = exchanges_[k % exchanges_.size()];
      good = detail::unpack(from, one.own, weights);
      for (std::size_t i = 0; good && i != around_.count(); ++i) {
        good = detail::unpack(from, one.theirs[i], weights);
      }
    }
    return good;
  }

 private:
  struct exchange {
    [[nodiscard]] bool arrived() {
      return std::ranges::all_of(receiving, [](request& one) { return one.test(); });
    }
    void wait() {
      std::ranges::for_each(receiving, [](request& one) { one.wait(); });
    }
    void wait_for_readers() {
      std::ranges::for_each(sending, [](request& one) { one.wait(); });
    }

    // Requests are destroyed before the buffers that they use.
    std::vector<float> own;
    std::array<std::vector<float>, detail::neighbourhood::most> theirs;
    std::array<request, detail::neighbourhood::most> sending;
    std::array<request, detail::neighbourhood::most> receiving;
  };

  [[nodiscard]] exchange& oldest() noexcept { return exchanges_[settled_ % exchanges_.size()]; }

  void begin_exchange(std::span<float const> weights) {
    auto& next = exchanges_[begun_ % exchanges_.size()];
    next.wait_for_readers();
    next.own.assign(weights.begin(), weights.end());
    for (std::size_t i = 0; i != around_.count(); ++i) {
      next.theirs[i].resize(weights.size());
      next.receiving[i] = take_.start(next.theirs[i], around_.source(i, begun_));
      next.sending[i] = give_.start(next.own, around_.target(i, begun_));
    }
    ++begun_;
  }

  void settle(std::span<float> weights) {
    auto& one = oldest();
    one.wait();
    for (std::size_t i = 0; i != around_.count(); ++i) {
      float* const w = weights.data();
      float const* const own = one.own.data();
      float const* const other = one.theirs[i].data();
      for (std::size_t k = 0; k != weights.size(); ++k) {
        w[k] += pull_ * (other[k] - own[k]);
      }
    }
    ++settled_;
  }

  detail::group_operations<Communicator, Topology> all_;
  tutti::send<Communicator> give_;
  tutti::recv<Communicator> take_;
  detail::neighbourhood around_;
  std::vector<exchange> exchanges_;  // used in turn
  float pull_;                       // factor c of each neighbour's difference
  std::uint64_t begun_ = 0;
  std::uint64_t settled_ = 0;
  std::vector<float> own_;  // this rank's weights while they are averaged
};

}  // namespace tutti::nn
