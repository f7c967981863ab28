// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Federated averaging: in each round some ranks, the clients, train independently on images that never leave them;
/// then all weights become the mean of the clients' weights, weighted by the images that each trained on. (McMahan,
/// Moore, Ramage, Hampson, Agüera y Arcas, "Communication-efficient learning of deep networks from decentralized
/// data", AISTATS 2017, algorithm 1)
///
/// The clients of a round are a function of the seed and the round, so all ranks know them without communication.
/// Other ranks compute nothing; they forward messages as the topology requires, and receive the new weights after the
/// round. With `star`, rank 0 is the server.
///
/// A round lasts as long as its slowest client: no rank leaves before the mean is complete. As in `local_sgd`, the
/// optimizer's state stays on its rank, here also over rounds in which that was no client; the paper's clients have
/// no such state. A client without images in a step skips it.
///
/// Memory: as `local_sgd`. Cost: one allreduce of the weights per round.
template <class Communicator, offers<op::allreduce> Topology>
class federated_averaging : public strategy {
 public:
  /// The parameters of a round, equal on all ranks.
  struct rounds {
    std::size_t steps = 1;       ///< steps of a round; for E local epochs, E times the steps of an epoch
    double participation = 1.0;  ///< share of the ranks that are clients, at least one rank
    std::uint64_t seed = 0;      ///< seed of the choice of clients
  };

  /// @pre 0 <= participation <= 1
  federated_averaging(Communicator& world, Topology topology, rounds plan)
      : local_(world, topology, plan.steps), seed_(plan.seed), order_(world.size()) {
    expects(plan.participation >= 0 && plan.participation <= 1, "federated: the participation must be in [0, 1], not ",
            plan.participation);
    auto const client_count = std::lround(plan.participation * static_cast<double>(world.size()));
    clients_ = (std::max)(static_cast<std::size_t>(client_count), std::size_t{1});
    choose_clients();
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return local_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return local_.size(); }
  [[nodiscard]] bool has_equal_weights() const noexcept override { return false; }
  [[nodiscard]] bool participates() const noexcept override { return std::ranges::count(clients(), rank()) != 0; }
  /// The clients of this round, unordered.
  [[nodiscard]] std::span<rank_type const> clients() const noexcept { return std::span(order_).first(clients_); }

  void broadcast(std::span<float> numbers) override { local_.broadcast(numbers); }
  void sum(std::span<float> numbers) override { local_.sum(numbers); }

  metrics_scope step(training_step& step) override {
    auto const scope = local_.step(step);
    if (local_.steps_apart() == 0) {
      ++round_;
      choose_clients();
    }
    return scope;
  }
  void average_weights(std::span<float> weights) override { local_.average_weights(weights); }
  void restore_weights(std::span<float> weights) override { local_.restore_weights(weights); }

  [[nodiscard]] rank_memory local_memory() const noexcept override { return rank_memory::replica; }
  void save(packer& output) override {
    output.number(round_);
    local_.save(output);
  }
  [[nodiscard]] bool load(unpacker& input, std::size_t weights) override {
    round_ = input.number();
    choose_clients();
    return local_.load(input, weights);
  }

 private:
  /// Chooses the clients: the first ranks of a random permutation. (Durstenfeld 1964, as far as needed)
  void choose_clients() noexcept {
    std::iota(order_.begin(), order_.end(), rank_type{0});
    random_sequence random(~seed_, round_);  // differs from the sequences of weights and samples
    for (std::size_t i = 0; i != clients_; ++i) {
      std::swap(order_[i], order_[i + random.draw_below(static_cast<std::uint32_t>(order_.size() - i))]);
    }
  }

  local_sgd<Communicator, Topology> local_;
  std::uint64_t seed_;
  std::uint64_t round_ = 0;
  std::size_t clients_ = 0;
  std::vector<rank_type> order_;
};

}  // namespace tutti::nn
