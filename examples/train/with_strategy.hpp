// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/federated.hpp>
#include <tutti/nn/strategy/gossip.hpp>
#include <tutti/nn/strategy/local_sgd.hpp>
#include <tutti/nn/strategy/synchronous.hpp>

#include <cstddef>
#include <string>

/// Calls f with the strategy that is asked for, over this topology.
template <class Communicator, class Topology, class F>
void with_strategy(Communicator& world, Topology topology, options const& asked, tutti::nn::replica const& model,
                   F&& f) {
  namespace nn = tutti::nn;
  auto const& how = asked.averaging;
  if (asked.strategy.name == "local_sgd") {
    f(nn::local_sgd(world, topology, how.every));
  } else if (asked.strategy.name == "gossip") {
    f(nn::gossip(world, topology, how.graph, static_cast<std::size_t>(asked.strategy.staleness)));
  } else if (asked.strategy.name == "federated") {
    std::size_t const round = how.local_epochs * model.plan().batches(0);
    f(nn::federated(world, topology, {round, how.participation, asked.settings.seed}));
  } else {
    f(nn::synchronous(world, topology, asked.bucket,
                      asked.progress_thread ? nn::moved_on::by_thread : nn::moved_on::between_layers));
  }
}
