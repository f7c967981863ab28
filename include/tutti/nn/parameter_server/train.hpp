// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/parameter_server/connections.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>
#include <tutti/nn/detail/parameter_server/observation.hpp>
#include <tutti/nn/detail/parameter_server/scheduler.hpp>
#include <tutti/nn/detail/parameter_server/server.hpp>
#include <tutti/nn/detail/parameter_server/shard.hpp>
#include <tutti/nn/detail/parameter_server/work.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/regulariser.hpp>
#include <tutti/nn/parameter_server/base/roles.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/trainer.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// Ranks are as fast as they are. Another pace is called before each gradient, with the worker's number and how long
/// the last one took it: where one worker shall be slower than others. On servers, `resume()` and `hold()` of a pace
/// that has them are called around all that a server computes.
struct full_speed {
  /// Returns at once.
  void operator()(rank_type /*worker*/, duration /*last*/) const noexcept {}
};

namespace detail {

/// The part of a pace that is for servers.
template <class Pace>
class serving_pace_of final : public serving_pace {
 public:
  explicit serving_pace_of(Pace& pace) noexcept : pace_(pace) {}

  void resume() override {
    if constexpr (requires { pace_.resume(); }) {
      pace_.resume();
    }
  }
  void hold() override {
    if constexpr (requires { pace_.hold(); }) {
      pace_.hold();
    }
  }

 private:
  [[maybe_unused]] Pace& pace_;
};

}  // namespace detail

/// Trains with parameter servers: the first ranks are servers that hold the weights, all others workers that compute
/// gradients. Every rank calls this with the same arguments but for its replica, which on worker w is made for rank w
/// of this many workers, and on servers, which take the initial weights and the settings from it, for any of those.
///
/// With staleness 0 the losses are those of training by allreduce, up to rounding. Batch normalisation
/// keeps the statistics of each worker, so every worker needs an image of a batch.
///
/// A worker that is lost is dropped, and its part of the batches divided among the others. A server that is lost is an
/// error on all ranks.
///
/// It begins with the epoch, the weights, the optimizer and the statistics that all ranks' replicas have alike. With
/// `rests`, rank 0's replica is what servers hold after each epoch, statistics those of one worker; observers that have
/// `at_rest(model)` are called with it.
///
/// @param observers are called for steps and tests, on rank 0; those that have `advanced(clock)` on every rank: on a
///        worker after each step, with how many it has made, on a server with how many updates it has made
/// @returns on rank 0, the figures of all ranks; empty elsewhere
/// @throws error; precondition_error where there are no workers, or more servers than parameters; on rank 0 diverged
template <group Communicator, class Pace, observer... Observers>
summary train(Communicator& world, roles const& roles, replica& model, consistency how, regulariser extra, Pace pace,
              Observers&... observers) {
  settings const& settings = model.settings();
  expects(roles.size() == world.size(), "parameter server: the roles are of ", roles.size(),
          " ranks, and the world has ", world.size(), "; give one for each rank");
  expects(!settings.synchronised_statistics,
          "parameter server: statistics of all ranks need synchronous sums, which workers do not have; set "
          "synchronised_statistics to false");
  expects(model.statistics().empty() || model.plan().size(0) >= roles.workers(),
          "parameter server: batch normalisation needs an image of a batch on every worker, which tests with its own "
          "statistics; a batch has ",
          model.plan().size(0), " images, and there are ", roles.workers(),
          " workers: use larger batches or fewer workers");
  expects(!settings.momentum_corrected,
          "parameter server: servers apply the momentum after gradients are summed; set momentum_corrected to false");
  detail::layout const layout(
      model.ranges(), roles.servers(),
      settings.optimizer == optimizer_kind::lars ? detail::layers::whole : detail::layers::divisible);
  auto const advanced = [&]([[maybe_unused]] clock_value clock) { (detail::tell_advance(observers, clock), ...); };
  if (!roles.serves(world.rank())) {
    detail::work(world, roles, layout, model, how, pace, advanced);
    return {};
  }
  auto channels = detail::connect(world, roles);
  auto const among_servers = detail::connect_servers(world, roles);
  detail::shard shard(layout, world.rank(), how, settings, model.plan(), extra, roles.workers(), model.parameters(),
                      model.optimizer_state(), model.plan().steps_before(model.place().epoch));
  detail::serving_pace_of<Pace> serving(pace);
  detail::server<Communicator> self(world, std::move(channels), std::move(shard), &serving);
  auto served = [&, told = self.clock()]() mutable {
    if (std::exchange(told, self.clock()) != self.clock()) {
      advanced(self.clock());
    }
  };
  if (world.rank() != 0) {
    self.run(nullptr, served);
    (void)detail::gather(world, roles, among_servers, self.own_figures());
    return {};
  }
  detail::scheduler tasks(how, roles.workers(), model.plan(), model.place().epoch);
  detail::reporter<Observers...> tell(tasks, model, world.transport().now(), observers...);
  self.run(
      &tasks,
      [&, served]() mutable {
        tell.tell(world.transport().now());
        served();
      },
      detail::resting<Observers...>(tasks, model, observers...));
  summary all{detail::gather(world, roles, among_servers, self.own_figures()), self.lost()};
  for (rank_type w = 0; w != roles.workers(); ++w) {
    all.ranks.push_back(self.worker_figures(w));
  }
  return all;
}

}  // namespace tutti::nn::parameter_server
