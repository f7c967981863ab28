// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include "topology.hpp"
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/averaging/federated_averaging.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/fixed_point.hpp>
#include <tutti/nn/strategy/synchronous/network_server.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/selection.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

/// Calls f with the strategy that the options name, over this topology.
template <class Communicator, class Topology, class F>
void with_strategy(Communicator& world, Topology topology, options const& options, tutti::nn::replica const& model,
                   F&& f) {
  namespace nn = tutti::nn;
  auto const& averaging = options.averaging;
  if constexpr (nn::holds_weights<typename Communicator::transport_type>) {
    if (options.strategy.name == "network_server") {
      f(nn::network_server(world, options.settings));
      return;
    }
  }
  if (options.strategy.name == "local_sgd") {
    f(nn::local_sgd(world, topology, averaging.interval));
  } else if (options.strategy.name == "gossip") {
    f(nn::gossip(world, topology, averaging.graph, static_cast<std::size_t>(options.strategy.staleness)));
  } else if (options.strategy.name == "federated") {
    std::size_t const round = averaging.local_epochs * model.plan().batches(0);
    f(nn::federated_averaging(world, topology, {round, averaging.participation, options.settings.seed}));
  } else if (options.sums.kind != "float") {
    auto const scale = options.sums.kind == "fixed_point"
                           ? nn::fixed_point_scale(nn::constant_factor{options.sums.factor})
                           : nn::fixed_point_scale(nn::shared_exponents{options.sums.block});
    f(nn::fixed_point(world, topology, scale, options.bucket, tutti::nn::replica::extra_scalars));
  } else {
    f(nn::synchronous(world, topology, options.bucket,
                      options.progress_thread ? nn::bucket_progress::by_thread : nn::bucket_progress::between_layers));
  }
}

/// Calls f with synchronous training that sums in `Number`, rounded once if the topology sends raw contributions, or
/// else at every hop.
template <class Number, class Communicator, class Topology, class F>
void with_synchronous(Communicator& world, options const& options, Topology topology, F&& f) {
  using namespace tutti;
  using in_sixteen_bits = typename std::conditional_t<Topology::sends_raw_contributions,
                                                      std::type_identity<accumulate_in<float, sum<Number>>>,
                                                      std::type_identity<sum<Number>>>::type;
  nn::synchronous strategy(
      world, topology, options.bucket,
      options.progress_thread ? nn::bucket_progress::by_thread : nn::bucket_progress::between_layers, in_sixteen_bits{},
      tutti::nn::replica::extra_scalars);
  f(strategy);
}

/// Calls f with the gradient compression that the options name.
/// @param warm_up first steps, in which more is sent
template <class Communicator, class F>
void with_compressed(Communicator& world, options const& options, std::size_t warm_up, F&& f) {
  using namespace tutti;
  auto const& compression = options.compress;
  auto const exchanging = [&](auto sum) {
    nn::compressed_synchronous strategy(world, std::move(sum), tutti::nn::replica::extra_scalars);
    f(strategy);
  };
  auto const sixteen_bits = [&]<class Number>(std::type_identity<Number>) {
    if (options.topology == ring::name) {
      with_synchronous<Number>(world, options, named_topology(selection(schedule_kind::ring)), f);
    } else {
      with_synchronous<Number>(world, options, direct{}, f);
    }
  };
  nn::feedback const debt(nn::correction_of(options.settings, compression.momentum_masking));
  nn::local_clipping const clip(compression.local_clipping);
  if (compression.kind == "fp16") {
    sixteen_bits(std::type_identity<tutti::half>{});  // CUDA has another half
  } else if (compression.kind == "bf16") {
    sixteen_bits(std::type_identity<bfloat16>{});
  } else if (compression.kind == "int8") {
    exchanging(nn::quantised_sum(world));
  } else if (compression.kind == "top_k") {
    exchanging(nn::sparse_sum(world, nn::top_k(compression.keep, warm_up), debt, clip));
  } else {
    exchanging(nn::sparse_sum(world, nn::threshold(compression.threshold), debt, clip));
  }
}
