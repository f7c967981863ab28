// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/parameter_server/consistency.hpp>
#include <tutti/nn/parameter_server/figures.hpp>
#include <tutti/nn/parameter_server/layout.hpp>
#include <tutti/nn/parameter_server/message.hpp>
#include <tutti/nn/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/rates.hpp>
#include <tutti/nn/parameter_server/regulariser.hpp>
#include <tutti/nn/parameter_server/roles.hpp>
#include <tutti/nn/parameter_server/scheduler.hpp>
#include <tutti/nn/parameter_server/server.hpp>
#include <tutti/nn/parameter_server/worker.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/metrics.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/time.hpp>
#include <tutti/trace/concept.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::nn::parameter_server {

/// Workers are as fast as they are. Another pace is called before each gradient, with the worker's number and how long
/// the last one took it: where one worker shall be slower than others.
struct full_speed {
  void operator()(rank_type /*worker*/, duration /*last*/) const noexcept {}
};

namespace detail {

/// Passes steps and tests on to the observers.
template <class... Observers>
class reporter {
 public:
  reporter(scheduler& tasks, replica& model, time_point begin, Observers&... observers)
      : tasks_(tasks), model_(model), begin_(begin), epoch_began_(begin), observers_(observers...) {}

  /// @throws diverged
  void tell(time_point now) {
    tell_tests(now);
    tell_steps(now);
  }

 private:
  void tell_steps(time_point now) {
    rates const over_time(model_.asked(), model_.plan());
    tasks_.for_each_step([&](std::size_t step, scheduler::step_sum const& sum) {
      auto const place = model_.plan().place(step);
      double const whole =
          static_cast<double>(sum.batch) / static_cast<double>(std::max<std::uint64_t>(sum.samples, 1));
      step_result one;
      one.epoch = place.epoch;
      one.batch = place.batch;
      one.images = static_cast<std::size_t>(sum.samples);
      one.loss = static_cast<float>(sum.loss * whole);
      one.accuracy = static_cast<float>(sum.correct * whole);
      one.seconds = nn::detail::seconds(now - begin_);
      one.rate = over_time.at(step);
      images_ += one.images;
      loss_ += double{one.loss} * static_cast<double>(one.images);
      if (!std::isfinite(one.loss)) {
        throw diverged("the loss of step " + std::to_string(step) +
                       " is not finite: the training diverged; try a lower learning rate, or less staleness");
      }
      std::apply([&](auto&... all) { (all.step(one, std::as_const(model_)), ...); }, observers_);
    });
  }
  void tell_tests(time_point now) {
    tasks_.for_each_test([&](scheduler::test_result const& test) {
      auto const images = static_cast<double>(model_.test_size());
      epoch_result one;
      one.epoch = test.epoch;
      one.images = model_.training_size();
      one.test_loss = double{test.loss} / images;
      one.test_accuracy = double{test.correct} / images;
      one.training_seconds = nn::detail::seconds(now - std::exchange(epoch_began_, now));
      one.seconds = nn::detail::seconds(now - begin_);
      one.training_loss =
          std::exchange(loss_, 0) / static_cast<double>(std::max<std::size_t>(std::exchange(images_, 0), 1));
      std::apply([&](auto&... all) { (all.epoch(one), ...); }, observers_);
    });
  }

  scheduler& tasks_;
  replica& model_;
  time_point begin_;
  time_point epoch_began_;
  std::size_t images_ = 0;  // of the steps since the last test
  double loss_ = 0;
  std::tuple<Observers&...> observers_;
};

/// The channels between servers and workers that end at this rank.
template <group Communicator>
std::vector<tutti::detail::owned<peer_channel<Communicator>>> connect(Communicator& world, roles const& who) {
  std::vector<tutti::detail::owned<peer_channel<Communicator>>> mine;
  for (rank_type k = 0; k != who.servers(); ++k) {
    for (rank_type w = 0; w != who.workers(); ++w) {
      rank_type const other = who.rank_of_worker(w);
      if (world.rank() == k || world.rank() == other) {
        rank_type const peer = world.rank() == k ? other : k;
        mine.push_back(tutti::detail::owned<peer_channel<Communicator>>(
            new peer_channel<Communicator>(world, peer, who.name(world.rank()), who.name(peer))));
      }
    }
  }
  return mine;
}

/// Server 0 hears the figures of the others.
template <group Communicator>
std::vector<figures> gather(Communicator& world, roles const& who,
                            std::vector<tutti::detail::owned<peer_channel<Communicator>>> const& among_servers,
                            figures const& own) {
  std::vector<figures> all(who.servers());
  all[0] = own;
  if (world.rank() != 0) {
    among_servers[0]->send(std::span<figures const>(&own, 1)).wait();
    return {};
  }
  for (rank_type k = 1; k != who.servers(); ++k) {
    among_servers[k - 1]->receive(std::span(&all[k], 1)).wait();
  }
  return all;
}

/// Numbers of a model's weights, optimizer and statistics.
[[nodiscard]] inline std::size_t state_size(replica& model) {
  return model.parameters().size() + model.optimizer_state().size() + model.statistics().size();
}

/// Makes rank 0's replica what servers hold, and tells observers that keep it.
template <class... Observers>
class resting {
 public:
  resting(scheduler const& tasks, replica& model, Observers&... observers)
      : tasks_(tasks), model_(model), held_(state_size(model)), observers_(observers...) {}

  [[nodiscard]] std::span<float> room() noexcept { return held_; }
  void done() {
    auto from = held_.begin();
    for (auto const to : {model_.parameters(), model_.optimizer_state(), model_.statistics()}) {
      auto const end = from + static_cast<std::ptrdiff_t>(to.size());
      std::copy(from, end, to.begin());
      from = end;
    }
    model_.place({tasks_.epochs_rested(), 0});
    std::apply([&](auto&... all) { (tell(all), ...); }, observers_);
  }

 private:
  void tell(auto& observer) {
    if constexpr (requires { observer.at_rest(model_); }) {
      observer.at_rest(model_);
    }
  }

  scheduler const& tasks_;
  replica& model_;
  std::vector<float> held_;
  std::tuple<Observers&...> observers_;
};

template <group Communicator, class Pace>
void work(Communicator& world, roles const& who, layout const& where, replica& model, consistency how, Pace& pace) {
  worker<Communicator> servers(world, connect(world, who), where, how, model.plan().steps_before(model.place().epoch));
  report done;
  duration busy{};
  duration last{};
  std::size_t epoch = SIZE_MAX;
  auto const& transport = world.transport();
  auto const tell = [&world](event_kind kind, time_point now, std::string_view what) {
    record(world.trace(), [&] { return event{.kind = kind, .time = now, .text = what}; });
  };
  servers.ask(done);
  for (task told = servers.answer();;) {
    done = {};
    switch (told.what) {
      case task_kind::load_data:
        servers.pull(model.parameters(), std::array{key_range{0, where.keys()}});
        servers.ask(done);
        told = servers.answer();
        continue;
      case task_kind::iterate: {
        time_point const before = transport.now();
        tell(event_kind::enter, before, "gradient");
        pace(who.worker(world.rank()), last);
        time_point const begin = transport.now();
        model.take_part(told.part, told.parts);
        auto const place = model.plan().place(static_cast<std::size_t>(told.clock));
        if (std::exchange(epoch, place.epoch) != place.epoch) {
          model.start(place.epoch);
        }
        std::size_t const batch = model.batch_size(place.batch);
        std::size_t const samples = model.shard_size(place.batch);
        servers.begin(model.message(), samples, batch);
        auto const message = model.gradient(place.batch, servers);
        time_point const end = transport.now();
        tell(event_kind::leave, end, "gradient");
        last = end - begin;
        busy += end - before;
        done = {.iterated = 1, .clock = told.clock, .samples = samples, .batch = batch};
        done.loss = message[where.keys()];
        done.correct = message[where.keys() + 1];
        servers.ask(done);
        servers.finish(model.parameters());
        told = servers.answer();
        continue;
      }
      case task_kind::hold:
        servers.ask(done);
        told = servers.answer();
        continue;
      case task_kind::rest: {
        std::vector<float> held(state_size(model));
        auto const weights = std::span(held).first(where.keys());
        auto const memory = std::span(held).subspan(where.keys(), model.optimizer_state().size());
        servers.pull(weights, std::array{key_range{0, where.keys()}});
        if (!memory.empty()) {
          servers.pull_memory(memory);
        }
        std::ranges::copy(model.statistics(), held.end() - static_cast<std::ptrdiff_t>(model.statistics().size()));
        servers.hand_over(held);
        servers.ask(done);
        told = servers.answer();
        continue;
      }
      case task_kind::test: {
        if (told.last != 0) {  // what others have pushed until they left
          servers.pull(model.parameters(), std::array{key_range{0, where.keys()}}, clocks::gone);
        }
        time_point const begin = transport.now();
        tell(event_kind::enter, begin, "test");
        auto const score = model.test(0, 1);
        time_point const end = transport.now();
        tell(event_kind::leave, end, "test");
        busy += end - begin;
        done = {.tested = 1, .epoch = told.epoch, .loss = score.loss, .correct = score.correct};
        servers.ask(done);
        told = servers.answer();
        continue;
      }
      case task_kind::stop:
        servers.leave(nn::detail::seconds(busy));
        return;
    }
  }
}

}  // namespace detail

/// Trains with parameter servers: the first ranks are servers that hold the weights, all others workers that compute
/// gradients. Every rank calls this with the same arguments but for its replica, which on worker w is made for rank w
/// of so many workers, and on servers, which take the initial weights and the settings from it, for any of those.
///
/// With staleness 0 the losses are those of training by allreduce, up to rounding. Batch normalisation
/// keeps the statistics of each worker.
///
/// A worker that is lost is dropped, and its part of the batches divided among the others. A server that is lost is an
/// error on all ranks.
///
/// It begins with the epoch, the weights, the optimizer and the statistics that all ranks' replicas have alike. With
/// `rests`, rank 0's replica is what servers hold after each epoch, statistics those of one worker; observers are told
/// of it that have `at_rest(model)`.
///
/// @param observers hear of steps and tests on rank 0
/// @returns on rank 0, who did what; empty elsewhere
/// @throws error; precondition_error where there are no workers, or more servers than parameters; on rank 0 diverged
template <group Communicator, class Pace, observer... Observers>
summary train(Communicator& world, roles const& who, replica& model, consistency how, regulariser extra, Pace pace,
              Observers&... observers) {
  settings const& asked = model.asked();
  expects(who.size() == world.size(), "parameter server: every rank is a server or a worker");
  expects(!asked.synchronised_statistics,
          "parameter server: statistics of all ranks need synchronous sums, which workers do not have");
  expects(!asked.momentum_corrected,
          "parameter server: momentum is the servers', after gradients are summed; leave momentum_corrected false");
  layout const where(model.ranges(), who.servers(),
                     asked.optimizer == optimizer_kind::lars ? layers::whole : layers::divisible);
  if (!who.serves(world.rank())) {
    detail::work(world, who, where, model, how, pace);
    return {};
  }
  auto channels = detail::connect(world, who);
  std::vector<tutti::detail::owned<peer_channel<Communicator>>> among_servers;
  for (rank_type k = 1; k != who.servers(); ++k) {
    if (world.rank() == 0 || world.rank() == k) {
      rank_type const peer = world.rank() == 0 ? k : 0;
      among_servers.push_back(tutti::detail::owned<peer_channel<Communicator>>(
          new peer_channel<Communicator>(world, peer, who.name(world.rank()), who.name(peer))));
    }
  }
  server<Communicator> self(world, std::move(channels), world.rank(), where, how, asked, model.plan(), extra,
                            model.parameters(), model.optimizer_state(),
                            model.plan().steps_before(model.place().epoch));
  if (world.rank() != 0) {
    self.run(nullptr, [] {});
    (void)detail::gather(world, who, among_servers, self.own_figures());
    return {};
  }
  scheduler tasks(how, who.workers(), model.plan(), model.place().epoch);
  detail::reporter<Observers...> tell(tasks, model, world.transport().now(), observers...);
  self.run(
      &tasks, [&] { tell.tell(world.transport().now()); }, detail::resting<Observers...>(tasks, model, observers...));
  summary all{detail::gather(world, who, among_servers, self.own_figures()), self.lost()};
  for (rank_type w = 0; w != who.workers(); ++w) {
    all.ranks.push_back(self.worker_figures(w));
  }
  return all;
}

}  // namespace tutti::nn::parameter_server
