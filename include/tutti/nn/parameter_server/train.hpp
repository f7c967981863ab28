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

#include <optional>
#include <span>
#include <tuple>
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

/// Tells a pace, and observers, what a worker does.
template <class Pace, class... Observers>
class worker_observers final : public worker_observer {
 public:
  worker_observers(rank_type worker, Pace& pace, Observers&... observers)
      : worker_(worker), pace_(pace), observers_(observers...) {}

  void begin_gradient(duration last) override { pace_(worker_, last); }
  void advanced(clock_value clock) override {
    std::apply([clock](auto&... all) { (tell_advance(all, clock), ...); }, observers_);
  }

 private:
  rank_type worker_;
  Pace& pace_;
  std::tuple<Observers&...> observers_;
};

/// Tells a pace, and observers, what a server does: server 0 also of steps and tests, and of what all servers hold.
template <class Pace, class... Observers>
class server_observers final : public server_observer {
 public:
  /// @param tasks the scheduler, of server 0; null elsewhere
  /// @pre `self` serves with this observer
  server_observers(channel_list const& world, server const& self, scheduler* tasks, replica& model, Pace& pace,
                   Observers&... observers)
      : world_(world), self_(self), clock_(self.clock()), pace_(pace), observers_(observers...) {
    if (tasks != nullptr) {
      reports_.emplace(*tasks, model, world.now(), observers...);
      rests_.emplace(*tasks, model, observers...);
    }
  }

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
  void served() override {
    if (reports_) {
      reports_->tell(world_.now());
    }
    if (std::exchange(clock_, self_.clock()) != self_.clock()) {
      std::apply([this](auto&... all) { (tell_advance(all, clock_), ...); }, observers_);
    }
  }
  [[nodiscard]] std::span<float> room() override { return rests_ ? rests_->room() : std::span<float>(); }
  void rested() override {
    if (rests_) {
      rests_->done();
    }
  }

 private:
  channel_list const& world_;
  server const& self_;
  clock_value clock_;
  Pace& pace_;
  std::tuple<Observers&...> observers_;
  std::optional<reporter<Observers...>> reports_;
  std::optional<resting<Observers...>> rests_;
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
  auto channels = detail::connect(world, roles);
  if (!roles.serves(world.rank())) {
    detail::worker_observers<Pace, Observers...> told(roles.worker(world.rank()), pace, observers...);
    detail::work(std::move(channels), layout, model, how, told);
    return {};
  }
  auto const among_servers = detail::connect_servers(world, roles);
  detail::shard shard(layout, world.rank(), how, settings, model.plan(), extra, roles.workers(), model.parameters(),
                      model.optimizer_state(), model.plan().steps_before(model.place().epoch));
  std::optional<detail::scheduler> tasks;
  if (world.rank() == 0) {
    tasks.emplace(how, roles.workers(), model.plan(), model.place().epoch);
  }
  detail::channel_list const& clocked = *channels;
  detail::server self(std::move(channels), std::move(shard));
  detail::server_observers<Pace, Observers...> told(clocked, self, tasks ? &*tasks : nullptr, model, pace,
                                                    observers...);
  self.run(tasks ? &*tasks : nullptr, told);
  auto ranks = detail::gather(roles, *among_servers, self.own_figures());
  if (!tasks) {
    return {};
  }
  summary all{std::move(ranks), self.lost()};
  for (rank_type w = 0; w != roles.workers(); ++w) {
    all.ranks.push_back(self.worker_figures(w));
  }
  return all;
}

}  // namespace tutti::nn::parameter_server
