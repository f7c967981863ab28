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

/// The default pace: ranks compute at their full speed. Another pace is called before each gradient, with the
/// worker's number and the duration of its last gradient, to slow workers down. On servers, a pace with `resume()`
/// and `hold()` is called before and after all that a server computes.
struct full_speed {
  /// Returns immediately.
  void operator()(rank_type /*worker*/, duration /*last*/) const noexcept {}
};

namespace detail {

/// Calls the pace and the observers of a worker.
template <class Pace, class... Observers>
class worker_observers final : public worker_observer {
 public:
  worker_observers(rank_type worker, Pace& pace, Observers&... observers)
      : worker_(worker), pace_(pace), observers_(observers...) {}

  void begin_gradient(duration last) override { pace_(worker_, last); }
  void on_advance(clock_value clock) override {
    std::apply([clock](auto&... observer) { (tell_advance(observer, clock), ...); }, observers_);
  }

 private:
  rank_type worker_;
  Pace& pace_;
  std::tuple<Observers&...> observers_;
};

/// Calls the pace and the observers of a server; server 0 also reports steps and tests, and the servers' whole state.
template <class Pace, class... Observers>
class server_observers final : public server_observer {
 public:
  /// @param tasks the scheduler on server 0; null on other servers
  /// @pre `self` serves with this observer
  server_observers(channel_list const& world, server const& self, scheduler* tasks, replica& model, Pace& pace,
                   Observers&... observers)
      : world_(world), self_(self), clock_(self.clock()), pace_(pace), observers_(observers...) {
    if (tasks != nullptr) {
      reporter_.emplace(*tasks, model, world.now(), observers...);
      state_receiver_.emplace(*tasks, model, observers...);
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
  void on_message() override {
    if (reporter_) {
      reporter_->tell(world_.now());
    }
    if (std::exchange(clock_, self_.clock()) != self_.clock()) {
      std::apply([this](auto&... observer) { (tell_advance(observer, clock_), ...); }, observers_);
    }
  }
  [[nodiscard]] std::span<float> state_buffer() override {
    return state_receiver_ ? state_receiver_->buffer() : std::span<float>();
  }
  [[nodiscard]] bool on_state() override { return !state_receiver_ || state_receiver_->deliver(); }

 private:
  channel_list const& world_;
  server const& self_;
  clock_value clock_;
  Pace& pace_;
  std::tuple<Observers&...> observers_;
  std::optional<reporter<Observers...>> reporter_;
  std::optional<state_receiver<Observers...>> state_receiver_;
};

}  // namespace detail

/// Trains with parameter servers: the first ranks are servers that hold the weights, all others are workers that
/// compute gradients. Every rank calls this with the same arguments except its replica. On worker w the replica is
/// constructed for rank w of the workers; on servers, which take the initial weights and the settings from it, for
/// any of these ranks.
///
/// With staleness 0 the losses are those of training by allreduce, up to rounding. Batch normalisation keeps the
/// statistics of each worker, so every worker needs an image of each batch.
///
/// A lost worker is dropped, and its part of the batches is divided among the others. A lost server is an error on
/// all ranks.
///
/// Training begins with the epoch, weights, optimizer state and statistics of the replicas, which must be equal on
/// all ranks. With `pauses_after_epochs`, rank 0's replica receives the servers' state after each epoch, and one
/// worker's statistics; observers with `on_pause(model)` are called with it. If one returns false, the training ends
/// there, as after its last epoch.
///
/// @param observers are called for steps and tests, on rank 0. Observers with `on_advance(clock)` are called on every
/// rank: on a worker after each step, with the number of its steps, on a server with the number of its updates
/// @returns the figures of all ranks on rank 0; empty elsewhere
/// @throws error; precondition_error if there are no workers, or more servers than parameters; divergence_error on rank
/// 0
template <group Communicator, class Pace, observer... Observers>
summary train(Communicator& world, roles const& roles, replica& model, consistency consistency, regulariser extra,
              Pace pace, Observers&... observers) {
  settings const& settings = model.settings();
  expects(roles.size() == world.size(), "parameter server: the roles are of ", roles.size(),
          " ranks, and the world has ", world.size(), "; give one for each rank");
  expects(!settings.synchronised_statistics,
          "parameter server: workers cannot use synchronised_statistics; set it to false");
  expects(model.statistics().empty() || model.plan().size(0) >= roles.workers(),
          "parameter server: batch normalisation needs an image of every batch on every worker; a batch has ",
          model.plan().size(0), " images for ", roles.workers(), " workers: use larger batches or fewer workers");
  expects(!settings.momentum_corrected,
          "parameter server: servers apply the momentum after gradients are summed; set momentum_corrected to false");
  expects(settings.clip_norm == 0,
          "parameter server: no rank has the whole gradient, whose norm is to be clipped; set clip_norm to 0");
  expects(model.optimizer_state().size() <= model.parameters().size(),
          "parameter server: servers cannot divide the state of the optimizer ", name(settings.optimizer),
          "; use sgd, nesterov or lars");
  detail::layout const layout(
      model.ranges(), roles.servers(),
      settings.optimizer == optimizer_kind::lars ? detail::layer_division::whole : detail::layer_division::divisible);
  auto channels = detail::connect(world, roles);
  if (!roles.serves(world.rank())) {
    detail::worker_observers<Pace, Observers...> observer(roles.worker(world.rank()), pace, observers...);
    detail::work(std::move(channels), layout, model, consistency, observer);
    return {};
  }
  auto const among_servers = detail::connect_servers(world, roles);
  detail::shard shard(layout, world.rank(), consistency, settings, model.plan(), extra, roles.workers(),
                      model.parameters(), model.optimizer_state(), model.plan().steps_before(model.position().epoch));
  std::optional<detail::scheduler> tasks;
  if (world.rank() == 0) {
    tasks.emplace(consistency, roles.workers(), model.plan(), model.position().epoch);
  }
  detail::channel_list const& world_channels = *channels;
  detail::server self(std::move(channels), std::move(shard));
  detail::server_observers<Pace, Observers...> observer(world_channels, self, tasks ? &*tasks : nullptr, model, pace,
                                                        observers...);
  self.run(tasks ? &*tasks : nullptr, observer);
  auto ranks = detail::gather(roles, *among_servers, self.local_figures());
  if (!tasks) {
    return {};
  }
  summary result{std::move(ranks), self.lost_workers()};
  for (rank_type w = 0; w != roles.workers(); ++w) {
    result.ranks.push_back(self.worker_figures(w));
  }
  return result;
}

}  // namespace tutti::nn::parameter_server
