// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parameter_server.hpp"
#include "saving.hpp"
#include "session.hpp"
#include "strategies.hpp"
#include "with_strategy.hpp"
#include <tutti/automatic.hpp>
#include <tutti/bootstrap/member.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/strategy/traced.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/trace/switched_trace.hpp>
#include <tutti/trace/trace_pair.hpp>
#include <tutti/trace/traffic_count.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// Calls f with the topology of that name.
template <class Communicator, class F>
void with_topology(Communicator& world, std::string const& name, F&& f) {
  if (name == tutti::automatic::name) {
    f(tutti::automatic(world));
    return;
  }
  auto const called = [&](auto... known) { return ((decltype(known)::name == name && (f(known), true)) || ...); };
  if (!called(tutti::ring{}, tutti::chain{}, tutti::binary_tree{}, tutti::double_tree{}, tutti::doubling{},
              tutti::butterfly{}, tutti::star{}, tutti::direct{})) {
    throw std::invalid_argument("no topology is called " + name);
  }
}

/// What one rank does.
template <class Communicator>
int train_as_member(Communicator& world, job const& work) {
  std::vector<std::string> names;
  for (tutti::rank_type r = 0; r != world.size(); ++r) {
    names.push_back(tutti::describe(r, world.members()[r]));
  }
  if (work.asked.strategy.name == "parameter_server") {
    return train_with_servers(world, work, std::move(names));
  }
  session mine(work, Communicator::transport_type::name, world.rank(), std::move(names));
  auto const train_by = [&](auto&& strategy) {
    auto const& traffic = world.trace().first();
    auto const before = traffic.sent().bytes;
    saving saver(world, mine, work.asked.checkpoints);
    tutti::nn::traced told(world, strategy);
    tutti::nn::train(mine.model(), told, mine, saver);
    auto mean = static_cast<float>(traffic.sent().bytes - before) / static_cast<float>(world.size());
    strategy.sum(std::span(&mean, 1));
    mine.finish(mean);
    saver.finish();
    if (!work.asked.trace.empty()) {
      mine.show_trace(tutti::gather_timelines(world, tutti::timeline::of(world.trace().second())));
    }
  };
  if (work.asked.compress.kind != "none") {
    with_compressed(world, work.asked, mine.sparsity_warm_up(), train_by);
    return 0;
  }
  with_topology(world, work.asked.topology, [&]<class Topology>(Topology topology) {
    if constexpr (std::same_as<Topology, tutti::automatic>) {
      std::size_t const numbers = mine.model().message().size();
      std::vector<float> like_a_message(work.asked.bucket == 0 ? numbers
                                                               : std::min(numbers, work.asked.bucket / sizeof(float)));
      topology.rehearse(world, tutti::op::allreduce{}, like_a_message);
    }
    with_strategy(world, topology, work.asked, mine.model(), train_by);
  });
  return 0;
}

/// Bytes are always counted; events are kept if a trace is asked for.
using training_trace = tutti::trace_pair<tutti::traffic_count, tutti::switched_trace>;

inline training_trace trace_for(job const& work) {
  return {{}, work.asked.trace.empty() ? tutti::switched_trace() : tutti::switched_trace(work.asked.trace_events)};
}

template <class Transport>
outcomes train_over(job const& work) {
  return tutti::spawn<Transport>(
      work.asked.ranks, [&](auto& world) { return train_as_member(world, work); }, {}, trace_for(work));
}

/// As one process of a launcher's world.
template <class Transport>
outcomes train_in_launched_world(job const& work) {
  auto world = tutti::join<Transport>({}, trace_for(work));
  if (work.asked.ranks_given && work.asked.ranks != world.size()) {
    throw std::runtime_error("--ranks says " + std::to_string(work.asked.ranks) + ", but the launcher started " +
                             std::to_string(world.size()) + "; leave the option out under a launcher");
  }
  train_as_member(world, work);
  return {};
}
