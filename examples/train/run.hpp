// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpointing_observer.hpp"
#include "exchange_text.hpp"
#include "fault_injection.hpp"
#include "gpu.hpp"
#include "parameter_server.hpp"
#include "same_options.hpp"
#include "session.hpp"
#include "shadow_sum.hpp"
#include "stop_signals.hpp"
#include "strategies.hpp"
#include "topology.hpp"
#include <tutti/automatic.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/door.hpp>
#include <tutti/enter.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/checkpoint/base/training_stopped.hpp>
#include <tutti/nn/checkpoint/latest_state.hpp>
#include <tutti/nn/growth_watch.hpp>
#include <tutti/nn/report/gather_usage.hpp>
#include <tutti/nn/report/hash.hpp>
#include <tutti/nn/strategy/synchronous/rank0_reduce.hpp>
#include <tutti/nn/strategy/synchronous/reproducible.hpp>
#include <tutti/nn/strategy/traced_strategy.hpp>
#include <tutti/nn/train_elastic.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/trace/switched_trace.hpp>
#include <tutti/trace/trace_pair.hpp>
#include <tutti/trace/traffic_count.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The topology of that name. Collective: `automatic` measures the world.
template <class Communicator>
named_topology topology_of(Communicator& world, std::string const& name) {
  if (name == tutti::automatic::name) {
    return named_topology(tutti::automatic(world));
  }
  auto const* const kind = std::ranges::find(tutti::all_schedule_kinds, name, [](auto k) { return tutti::name(k); });
  if (kind == tutti::all_schedule_kinds.end()) {
    throw std::invalid_argument("--topology must be one that --help lists, not \"" + name + "\"");
  }
  return named_topology(tutti::selection(*kind, &world.hosts()));
}

template <class Communicator>
std::vector<std::string> names_in(Communicator const& world) {
  std::vector<std::string> names;
  for (tutti::rank_type r = 0; r != world.size(); ++r) {
    names.push_back(tutti::describe(r, world.members()[r]));
  }
  return names;
}

/// The text by which this rank announces its card; empty if it computes on its host.
template <class Communicator>
std::string local_gpu_choice(Communicator const& world, options const& options) {
  auto const computes_on_gpu = [&](tutti::rank_type r) { return options.gpus.has(r) && !options.strategy.serves(r); };
  auto const me = world.rank();
  if (!computes_on_gpu(me)) {
    return {};
  }
  auto const& hosts = world.hosts();
  auto const place = std::ranges::count_if(hosts.members(hosts.host(me)),
                                           [&](tutti::rank_type r) { return r < me && computes_on_gpu(r); });
  return gpu_choice_text(options.gpus, me, tutti::describe(me, world.members()[me]),
                         static_cast<tutti::rank_type>(place));
}

/// The cards of all ranks; each rank passes its own. Collective if the options name GPUs.
/// @throws std::runtime_error on all ranks if one cannot have its card
template <class Communicator>
std::vector<gpu_index> gpu_indices_of(Communicator& world, options const& options, std::string const& local_choice) {
  return options.gpus.is_used() ? read_gpu_choices(exchange_text(world, local_choice))
                                : std::vector<gpu_index>(world.size());
}

/// Bytes that every rank has sent and received since `start`. Collective.
template <class Communicator>
std::vector<std::optional<rank_traffic>> traffic_of(Communicator& world, tutti::nn::strategy& strategy,
                                                    tutti::traffic_count const& start) {
  std::vector<float> bytes(std::size_t{2} * world.size());
  auto const& now = world.trace().first();
  bytes[2 * world.rank()] = static_cast<float>(now.outgoing().bytes - start.outgoing().bytes);
  bytes[2 * world.rank() + 1] = static_cast<float>(now.incoming().bytes - start.incoming().bytes);
  strategy.sum(bytes);
  std::vector<std::optional<rank_traffic>> result(world.size());
  for (std::size_t r = 0; r != result.size(); ++r) {
    result[r] = {.bytes_sent = bytes[2 * r], .bytes_received = bytes[2 * r + 1]};
  }
  return result;
}

/// Checks that all ranks ended with the same weights, as they must with every strategy.
/// @throws std::runtime_error on all ranks if they did not
template <class Communicator>
void expect_equal_weights(Communicator& world, tutti::nn::replica const& model) {
  std::uint64_t const local_hash = tutti::nn::hash_of(model.parameters());
  std::array<std::uint64_t, 2> extremes{local_hash, ~local_hash};
  tutti::allreduce{world, tutti::direct{}, tutti::max<std::uint64_t>{}}(extremes);
  if (extremes[0] != ~extremes[1]) {
    throw std::runtime_error("ranks ended with different weights: use machines of one kind, or report a bug");
  }
}

/// Trains one rank in one world, with a strategy, to the end or until a signal stops it.
/// @param is_continued true if the training began in an earlier world
/// @param options the door through which processes enter, if any
template <class Communicator>
void train_by(Communicator& world, tutti::nn::strategy& strategy, job const& work, session& session,
              fault_injection& injection, bool is_continued, tutti::nn::elastic_options const& options) {
  auto const start_traffic = world.trace().first();
  checkpointing_observer saver(world, session, strategy, session.checkpoints(), is_continued);
  session.count(world.trace().first());
  session.follow(world.trace().second().first());
  try {
    if (options.entry != nullptr) {
      tutti::nn::growth_watch watch(world, session.model(), *options.entry, options.max_ranks);
      tutti::nn::train(session.model(), strategy, session, saver, injection, watch);
      if (!watch.problem().empty()) {
        std::fprintf(stderr, "train: no process could enter through this rank: %s\n", watch.problem().c_str());
      }
    } else {
      tutti::nn::train(session.model(), strategy, session, saver, injection);
    }
  } catch (tutti::nn::training_stopped const& stop) {
    session.flush_lines();
    saver.finish(stop);
    return;
  }
  auto const traffic = traffic_of(world, strategy, start_traffic);
  if (session.meter() != nullptr) {
    session.keep(tutti::nn::gather_usage(world, *session.meter()));
  }
  session.finish(traffic);
  saver.finish();
  if (!work.options.trace.empty()) {
    session.show_trace(tutti::gather_timelines(world, tutti::timeline::copy_of(world.trace().second().second())));
  }
  expect_equal_weights(world, session.model());
}

/// Calls by(strategy) with the strategy that the options name, for transports without in-network aggregators.
template <class Communicator, class F>
void train_among_ranks(Communicator& world, job const& work, session& session, F&& train_with) {
  if (work.options.compress.kind != "none") {
    with_compressed(world, work.options, session.sparsity_warm_up(), train_with);
    return;
  }
  named_topology const topology = topology_of(world, work.options.topology);
  if (auto const* const picks = topology.picks()) {
    std::size_t const numbers = session.model().gradient_buffer().size();
    std::vector<float> like_a_message(
        work.options.bucket == 0 ? numbers : std::min(numbers, work.options.bucket / sizeof(float)));
    picks->autotune(world, tutti::op::allreduce{}, like_a_message);
  }
  if (work.options.settings.reproducible) {
    train_with(tutti::nn::reproducible(world, topology, session.model().sums(), work.options.bucket));
  } else {
    with_strategy(world, topology, work.options, session.model(), train_with);
  }
}

/// True if the transport has in-network aggregators. The options then allow only topologies that use them.
template <class Communicator>
inline constexpr bool has_aggregators = tutti::aggregates<typename Communicator::transport_type>;

/// Calls by(strategy) for in-network aggregators: the network sums, or rank 0 sums and multicasts the result.
template <class Communicator, class F>
void train_with_aggregators(Communicator& world, job const& work, session& session, F&& train_with) {
  if constexpr (Communicator::transport_type::supports(tutti::network_operation::sum_float32)) {
    with_strategy(world, tutti::in_network{}, work.options, session.model(), train_with);
  } else {
    train_with(tutti::nn::rank0_reduce(world, tutti::binary_tree{}, tutti::in_network{}));
  }
}

/// Trains one rank in one world.
template <class Communicator>
void train_in(Communicator& world, job const& work, session& session, fault_injection& injection, bool is_continued,
              tutti::nn::elastic_options const& options) {
  auto const train_with = [&](auto&& strategy) {
    if constexpr (requires { strategy.overflows(); }) {
      session.count_overflows(strategy.overflows());
    }
    tutti::nn::traced_strategy traced_view(world, strategy);
    if (work.options.sums.has_shadow_sum) {
      shadow_sum sum_check(world, traced_view, tutti::nn::replica::extra_scalars, session.deviations());
      train_by(world, sum_check, work, session, injection, is_continued, options);
    } else {
      train_by(world, traced_view, work, session, injection, is_continued, options);
    }
  };
  if constexpr (has_aggregators<Communicator>) {
    train_with_aggregators(world, work, session, train_with);
  } else {
    train_among_ranks(world, work, session, train_with);
  }
}

/// The change that has led to a world. Collective: processes that have entered do not know the world before.
/// @param ranks_before the number of ranks of this rank's world before; 0 if it has just entered
template <class Communicator>
world_change change_to(Communicator& world, std::size_t ranks_before, tutti::error const& cause) {
  world_change change;
  change.cause = cause.kind() == tutti::failure::none ? "" : cause.what();
  for (std::string const& text : exchange_text(world, std::to_string(ranks_before))) {
    change.newcomers += text == "0" ? 1U : 0U;
    change.ranks_before = std::max(change.ranks_before, static_cast<std::size_t>(std::stoul(text)));
  }
  return change;
}

/// Trains one rank through changes of its world.
/// @param first its first world, or the world that it has entered
/// @param world the communicator of `first`
/// @param training the rank's training; empty if it has entered
template <class First, class Communicator>
void train_elastic(First& first, Communicator& world, job const& work, std::optional<session>& training,
                   std::string const& local_choice, fault_injection& injection) {
  std::optional<tutti::door> entry;
  tutti::nn::elastic_options options;
  if (work.options.faults.max_ranks != 0) {
    entry.emplace();
    options.entry = &*entry;
    options.max_ranks = work.options.faults.max_ranks;
  }
  std::size_t ranks_before = training ? world.size() : 0;
  bool is_continued = false;
  tutti::nn::train_elastic(
      first, options, [&](auto& now) { train_in(now, work, *training, injection, is_continued, options); },
      [&](auto& next, tutti::error const& cause) {
        is_continued = true;
        if (options.entry != nullptr) {
          turn_away_others(next, work.options.in_common);
        }
        auto gpu_indices = gpu_indices_of(next, work.options, local_choice);
        if (!training) {
          training.emplace(work, Communicator::transport_type::name, next.rank(), names_in(next), gpu_indices);
        }
        auto const change = change_to(next, ranks_before, cause);
        auto const state = tutti::nn::latest_state(next, training->model(), training->history());
        training->move_to(state, next.rank(), names_in(next), std::move(gpu_indices), change);
        ranks_before = next.size();
      });
}

/// True if a signal ends the world: without checkpoints there is nothing to write, and no rank is to continue.
inline bool is_ended_by_signals(job const& work) {
  return work.options.checkpoints.folder.empty() && !work.options.faults.continues;
}

/// Makes signals stop a training that keeps checkpoints, or end its world. Otherwise they end one process.
inline void handle_signals_for(job const& work) {
  if (!work.options.checkpoints.folder.empty() || is_ended_by_signals(work)) {
    handle_stop_signals();
  }
}

/// Trains one rank, and continues in other worlds after faults if the options say so.
template <class Communicator>
int train_as_member(Communicator& world, job const& work) {
  using transport = typename Communicator::transport_type;
  if (is_ended_by_signals(work)) {
    let_signals_end(world);
  }
  expect_ranks(work.options, world.size());
  std::string const local_choice = local_gpu_choice(world, work.options);
  auto gpu_indices = gpu_indices_of(world, work.options, local_choice);
  fault_injection injection(work.options.faults, world.rank(), !tutti::in_process<transport>);
  if constexpr (!has_aggregators<Communicator>) {
    if (work.options.strategy.name == "parameter_server") {
      return train_with_servers(world, work, names_in(world), std::move(gpu_indices), injection);
    }
  }
  std::optional<session> training(std::in_place, work, transport::name, world.rank(), names_in(world),
                                  std::move(gpu_indices));
  if constexpr (requires { world.transport().no_group_reason(); }) {
    if (std::string const& reason = world.transport().no_group_reason(); world.rank() == 0 && !reason.empty()) {
      std::printf("group  none: %s\n", reason.c_str());
    }
  }
  if (!work.options.faults.continues) {
    train_in(world, work, *training, injection, false, {});
  } else if constexpr (!has_aggregators<Communicator>) {
    train_elastic(world, world, work, training, local_choice, injection);
  }
  return 0;
}

/// Counts bytes always, meters usage for --usage and --plot, and keeps events for --trace.
using training_trace =
    tutti::trace_pair<tutti::traffic_count, tutti::trace_pair<tutti::nn::usage_trace, tutti::switched_trace>>;

inline training_trace trace_for(job const& work) {
  return {
      {},
      {{}, work.options.trace.empty() ? tutti::switched_trace() : tutti::switched_trace(work.options.trace_events)}};
}

template <class Transport>
outcomes train_over(job const& work, tutti::world_options<Transport> const& settings = {}) {
  handle_signals_for(work);
  return tutti::spawn<Transport>(
      work.options.ranks, [&](auto& world) { return train_as_member(world, work); }, settings, trace_for(work));
}

/// Enters a running training.
template <class Transport>
void enter_training(job const& work, tutti::world_options<Transport> const& settings) {
  std::printf("wait   to enter the training of this TUTTI_JOB\n");
  std::fflush(stdout);
  auto membership = tutti::enter<Transport>(settings, trace_for(work));
  handle_signals_for(work);
  std::optional<session> training;
  fault_injection injection(work.options.faults, membership.first.rank(), !tutti::in_process<Transport>);
  train_elastic(membership, membership.first, work, training, local_gpu_choice(membership.first, work.options),
                injection);
}

/// Trains as one process of a launcher's world, or of one that it enters.
template <class Transport>
outcomes train_in_launched_world(job const& work, tutti::world_options<Transport> const& settings = {}) {
  if constexpr (!tutti::aggregates<Transport>) {
    if (work.options.faults.enters) {
      enter_training(work, settings);
      return {};
    }
  }
  auto world = tutti::join<Transport>(settings, trace_for(work));
  handle_signals_for(work);
  if (work.options.ranks_given && work.options.ranks != world.size()) {
    throw std::runtime_error("--ranks says " + std::to_string(work.options.ranks) + ", but the launcher started " +
                             std::to_string(world.size()) + "; leave the option out under a launcher");
  }
  expect_same_options(world, work.options.in_common);
  train_as_member(world, work);
  return {};
}
