// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <simulation/worlds.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/server_checkpointer.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/parameter_server/worker.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/regulariser.hpp>
#include <tutti/nn/parameter_server/base/roles.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/spawn.hpp>
#include <tutti/trace/memory_trace.hpp>
#include <tutti/trace/straggler_report.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
namespace ps = tutti::nn::parameter_server;
using tutti::rank_type;

namespace {

// 203 images: the last batch of an epoch has only 11.
constexpr std::array<std::size_t, 2> hidden_sizes{12, 9};

nn::settings make_settings() {
  nn::settings s;
  s.epochs = 2;
  s.batch = 32;
  s.weight_decay = 0.001F;
  return s;
}

nn::data_pair const& data() {
  static nn::data_pair const sets{nn::digits(203, 1), nn::digits(50, 1, 1000)};
  return sets;
}

nn::replica replica(rank_type rank, rank_type size, nn::settings const& s) {
  nn::set_threads(1);
  return nn::replica(
      nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu), nn::replica::extra_scalars),
      data().training, data().test, s, rank, size);
}

/// The results of a training at rank 0.
struct outcome {
  nn::history history;
  ps::summary sum;
};

/// One worker computes gradients more slowly than the others, in virtual time.
struct slow_worker {
  tutti::simulated_transport* clock;
  rank_type slow;
  void operator()(rank_type worker, tutti::duration) const {
    clock->spend(worker == slow ? std::chrono::milliseconds(10) : std::chrono::milliseconds(1));
  }
};

outcome train_in_virtual_time(rank_type ranks, rank_type servers, ps::consistency consistency,
                              nn::settings const& s = make_settings(), rank_type slow = tutti::no_rank) {
  (void)data();
  outcome result;
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  auto const run = tutti::simulate(
      support::busy_cluster(), ranks,
      [&](auto& world) {
        ps::roles const roles(ranks, servers);
        auto model = replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), s);
        nn::history history;
        auto sum = ps::train(world, roles, model, consistency, {}, slow_worker{&world.transport(), slow}, history);
        if (world.rank() == 0) {
          result = {std::move(history), std::move(sum)};
        }
      },
      options);
  for (auto const& rank_result : run.results) {
    BOOST_REQUIRE_MESSAGE(rank_result.has_value(), rank_result.failure().text);
  }
  return result;
}

nn::history train_alone(nn::settings const& s) {
  auto model = replica(0, 1, s);
  nn::local_only strategy;
  nn::history history;
  nn::train(model, strategy, history);
  return history;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_staleness_it_is_synchronous_training) {
  for (auto const& [kind, decays_all] : {std::pair{nn::optimizer_kind::sgd, true},
                                         {nn::optimizer_kind::nesterov, false},
                                         {nn::optimizer_kind::lars, false}}) {
    auto s = make_settings();
    s.optimizer = kind;
    s.weight_decay = 0.1F;
    s.decays_all = decays_all;
    s.label_smoothing = 0.1F;
    s.rate = 0.05F;
    auto const expected = train_alone(s);
    for (rank_type const servers : {1U, 2U, 3U}) {
      for (bool const sends : {false, true}) {
        auto const result = train_in_virtual_time(servers + 3, servers, {.staleness = 0, .server_sends = sends}, s);
        BOOST_REQUIRE(result.history.steps.size() == expected.steps.size());
        for (std::size_t i = 0; i != expected.steps.size(); ++i) {
          BOOST_TEST(std::abs(result.history.steps[i].loss - expected.steps[i].loss) < 1e-4F,
                     servers << " servers, step " << i);
          BOOST_TEST(std::abs(result.history.steps[i].accuracy - expected.steps[i].accuracy) < 1e-5F);
          BOOST_TEST(result.history.steps[i].images == expected.steps[i].images);
        }
        BOOST_REQUIRE(result.history.epochs.size() == 2U);
        for (std::size_t e = 0; e != 2; ++e) {
          BOOST_TEST(std::abs(result.history.epochs[e].test_loss - expected.epochs[e].test_loss) < 1e-4);
        }
        BOOST_TEST(result.sum.missed_updates().largest() == 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_servers_cannot_do_is_refused) {
  auto const refusal = [](auto change) {
    auto s = make_settings();
    change(s);
    (void)data();
    auto const run = tutti::simulate(support::busy_cluster(), 2, [&](auto& world) -> std::string {
      auto model = replica(0, 1, s);
      nn::history history;
      try {
        ps::train(world, ps::roles(2, 1), model, {}, {}, ps::full_speed{}, history);
      } catch (tutti::precondition_error const& e) {
        return e.what();
      }
      return "";
    });
    return run.results[0].value();
  };
  auto const expect = [](std::string const& text, std::string const& part) {
    BOOST_TEST((text.find(part) != text.npos), text);
  };
  expect(refusal([](nn::settings& s) { s.clip_norm = 1; }), "set clip_norm to 0");
  for (auto const kind : {nn::optimizer_kind::adam, nn::optimizer_kind::adamw}) {
    expect(refusal([kind](nn::settings& s) { s.optimizer = kind; }),
           "state of the optimizer " + std::string(nn::name(kind)));
  }
}

BOOST_AUTO_TEST_CASE(a_test_shows_that_the_last_step_diverged) {
  auto s = make_settings();
  s.epochs = 1;
  s.batch = 203;
  s.rate = std::numeric_limits<float>::max();
  (void)data();
  auto const run = tutti::simulate(support::busy_cluster(), 3, [&](auto& world) -> std::string {
    ps::roles const roles(3, 1);
    auto model = replica(world.rank() == 0 ? 0 : world.rank() - 1, 2, s);
    nn::history history;
    try {
      ps::train(world, roles, model, {}, {}, ps::full_speed{}, history);
    } catch (nn::divergence_error const& e) {
      return e.what();
    }
    return "";
  });
  BOOST_REQUIRE(run.results[0].has_value());
  BOOST_TEST(run.results[0].value().starts_with("the loss of the test after epoch 1 is not finite"),
             run.results[0].value());
}

BOOST_AUTO_TEST_CASE(without_staleness_the_bits_do_not_depend_on_which_rank_is_slow) {
  auto const first = train_in_virtual_time(5, 2, {.staleness = 0});
  auto const second = train_in_virtual_time(5, 2, {.staleness = 0, .server_sends = true}, make_settings(), 2);
  for (std::size_t i = 0; i != first.history.steps.size(); ++i) {
    auto const bits = [i](outcome const& result) { return std::bit_cast<std::uint32_t>(result.history.steps[i].loss); };
    BOOST_TEST(bits(first) == bits(second), "step " << i);
  }
}

BOOST_AUTO_TEST_CASE(no_worker_reads_further_ahead_than_the_bound) {
  for (ps::clock_value const bound : {0U, 1U, 3U}) {
    auto const result = train_in_virtual_time(5, 2, {.staleness = bound}, make_settings(), 1);
    auto const lead = result.sum.lead();
    BOOST_TEST(lead.largest() == bound);  // the fast workers do reach the bound
    BOOST_TEST(lead.total() > 100U);
  }
  auto const result = train_in_virtual_time(5, 2, {.staleness = ps::consistency::no_bound}, make_settings(), 1);
  auto const in_step = train_in_virtual_time(5, 2, {.staleness = 0}, make_settings(), 1);
  BOOST_TEST(result.sum.lead().largest() > 3U);
  // One of 3 workers takes 10 ms for a step, the others 1 ms. All together make as many as in synchronous training.
  BOOST_TEST(result.sum.ranks[2].steps > 5 * result.sum.ranks[3].steps);
  BOOST_TEST(result.sum.ranks[2].steps + result.sum.ranks[3].steps + result.sum.ranks[4].steps ==
             3 * in_step.history.steps.size());
  BOOST_TEST(result.history.epochs.size() == 2U);
  BOOST_TEST(result.history.epochs.back().seconds < in_step.history.epochs.back().seconds / 4);
}

namespace {

/// Spends a server's virtual time after each step of all workers.
struct slow_reader {
  tutti::simulated_transport* clock;
  std::chrono::milliseconds step_time;
  void step(nn::step_result const&, nn::replica const&) const { clock->spend(step_time); }
  void epoch(nn::epoch_result const&) const {}
};

/// A trace with space for a whole training.
struct long_trace : tutti::memory_trace {
  long_trace() : memory_trace(20'000) {}
};

/// The trace of one server and three workers. The server or the last worker may be slow.
tutti::causality trace_of(std::chrono::milliseconds server_step_time, rank_type slow) {
  (void)data();
  std::vector<tutti::timeline> timelines(4);
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  auto const run = tutti::simulate<long_trace>(
      support::busy_cluster(), 4,
      [&](auto& world) {
        ps::roles const roles(4, 1);
        auto model = replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), 3, make_settings());
        slow_reader reader{&world.transport(), server_step_time};
        (void)ps::train(world, roles, model, {}, {}, slow_worker{&world.transport(), slow}, reader);
        timelines[world.rank()] = tutti::timeline::copy_of(world.trace());
      },
      options);
  for (auto const& rank_result : run.results) {
    BOOST_REQUIRE_MESSAGE(rank_result.has_value(), rank_result.failure().text);
  }
  return tutti::causality(std::move(timelines));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_trace_tells_a_late_server_from_a_late_worker) {
  using namespace std::chrono_literals;
  auto const late_worker = trace_of(0ms, 2);
  tutti::blame const by_worker(late_worker);
  auto const late_server = trace_of(10ms, tutti::no_rank);
  tutti::blame const by_server(late_server);
  for (rank_type r = 0; r != 4; ++r) {
    BOOST_TEST((r == 3 || by_worker.caused_time(3) > 8 * by_worker.caused_time(r)), tutti::straggler_report(by_worker));
    BOOST_TEST((r == 0 || by_server.caused_time(0) > 8 * by_server.caused_time(r)), tutti::straggler_report(by_server));
  }
  BOOST_TEST((by_worker.wait_time(1, 3) > 50ms));  // worker 0 received only from the server
  BOOST_TEST((by_server.wait_time(1, 0) > 50ms));
  std::vector<std::string> const names{"server 0", "worker 0", "worker 1", "worker 2"};
  auto const text = tutti::straggler_report(by_worker, names);
  BOOST_TEST(text.find("worker 2 held up the others most") != std::string::npos, text);

  // The weights that a worker pulls depend on earlier pushes of each of the others.
  std::size_t dependent_pulls = 0;
  for (std::size_t i = 0; i != late_worker.timeline_of(1).size(); ++i) {
    if (auto const cause = late_worker.cause({1, i})) {
      BOOST_TEST(cause->rank == 0U);
      BOOST_TEST(late_worker.at(*cause).peer == 1U);
      auto const clock = late_worker.clock({1, i});
      dependent_pulls += clock[2] > 0 && clock[3] > 0 ? 1U : 0U;
    }
  }
  BOOST_TEST(dependent_pulls > 20U);
}

namespace {

struct interruption : std::runtime_error {
  interruption() : std::runtime_error("interrupted") {}
};

/// Interrupts rank 0, and so all ranks, when servers have been checkpointed for the first time.
struct breaker {
  bool breaks;
  void step(nn::step_result const&, nn::replica const&) const {}
  void epoch(nn::epoch_result const&) const {}
  void on_pause(nn::replica const&) const {
    if (breaks) {
      throw interruption();
    }
  }
};

/// Results at rank 0: history, final weights, and the number of steps before it was resumed.
struct kept_run {
  nn::history history;
  std::vector<float> weights;
  std::size_t steps_before_resume = 0;
};

kept_run train_and_keep(rank_type ranks, rank_type servers, ps::consistency consistency,
                        std::filesystem::path const& folder, bool resume, bool breaks) {
  (void)data();
  kept_run result;
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  consistency.pauses_after_epochs = true;
  auto const run = tutti::simulate(
      support::busy_cluster(), ranks,
      [&](auto& world) {
        ps::roles const roles(ranks, servers);
        auto model =
            replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), make_settings());
        nn::history history;
        nn::fingerprint print;
        print.add(make_settings());
        nn::server_checkpointer keeper(world, model, history, print, {folder, 0, 2, false, resume});
        std::size_t const old_steps = history.steps.size();
        breaker end{breaks};
        (void)ps::train(world, roles, model, consistency, {}, slow_worker{&world.transport(), 1}, history, keeper, end);
        if (world.rank() == 0) {
          BOOST_TEST(keeper.problem() == "");
          result = {std::move(history), {model.parameters().begin(), model.parameters().end()}, old_steps};
        }
      },
      options);
  for (auto const& rank_result : run.results) {
    BOOST_REQUIRE_MESSAGE(breaks || rank_result.has_value(), rank_result.failure().text);
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_servers_hold_is_kept_and_gone_on_from) {
  std::string name = (std::filesystem::temp_directory_path() / "tutti-servers-XXXXXX").string();
  BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
  std::filesystem::path const root = name;
  auto const whole = train_and_keep(5, 2, {.staleness = 0}, root / "whole", false, false);
  auto const never_rested = train_in_virtual_time(5, 2, {.staleness = 0}, make_settings(), 2);
  std::size_t const steps = whole.history.steps.size();
  BOOST_REQUIRE(never_rested.history.steps.size() == steps);
  for (std::size_t i = 0; i != steps; ++i) {
    BOOST_TEST(whole.history.steps[i].loss == never_rested.history.steps[i].loss);  // bit for bit
  }
  for (auto const bound : {ps::clock_value{0}, ps::clock_value{2}, ps::consistency::no_bound}) {
    auto const folder = root / std::to_string(bound);
    (void)train_and_keep(5, 2, {.staleness = bound}, folder, false, true);
    std::filesystem::copy(folder, folder.string() + "-more");
    auto const rest = train_and_keep(5, 2, {.staleness = bound}, folder, true, false);
    BOOST_TEST(rest.steps_before_resume == steps / 2);
    BOOST_TEST(rest.history.steps.size() == steps);
    BOOST_TEST(rest.history.epochs.size() == 2U);
    if (bound == 0) {
      BOOST_TEST((rest.weights == whole.weights));
      for (std::size_t i = 0; i != steps; ++i) {
        BOOST_TEST(rest.history.steps[i].loss == whole.history.steps[i].loss);
      }
      BOOST_TEST(rest.history.epochs[1].test_loss == whole.history.epochs[1].test_loss);
    }
    auto const smaller_run = train_and_keep(4, 1, {.staleness = bound}, folder.string() + "-more", true, false);
    BOOST_TEST(smaller_run.steps_before_resume == steps / 2);
    BOOST_TEST(smaller_run.history.steps.size() == steps);
    BOOST_TEST(std::abs(smaller_run.history.epochs[1].test_loss - whole.history.epochs[1].test_loss) <
               (bound == 0 ? 1e-3 : 0.5));
  }
  auto const complete_run = train_and_keep(5, 2, {.staleness = 0}, root / "whole", true, false);
  BOOST_TEST(complete_run.steps_before_resume == steps);
  BOOST_TEST((complete_run.weights == whole.weights));
  std::filesystem::remove_all(root);
}

/// A pause for a checkpoint also waits for a worker that takes over a lost one's test: servers' account of an epoch
/// follows its test.
BOOST_AUTO_TEST_CASE(workers_rest_when_the_test_is_done_by_any_of_them) {
  auto s = make_settings();
  s.batch = 4;
  ps::detail::scheduler tasks({.pauses_after_epochs = true}, 3, nn::batch_plan(s, 4));
  auto const next_task = [&](std::size_t worker) {
    auto const next = tasks.next(worker);
    return next ? static_cast<int>(next->kind) : -1;
  };
  auto const number_of = [](ps::detail::task_kind kind) { return static_cast<int>(kind); };
  for (auto const kind : {ps::detail::task_kind::load_data, ps::detail::task_kind::iterate}) {
    for (std::size_t const worker : {0U, 1U, 2U}) {
      BOOST_TEST(next_task(worker) == number_of(kind));
    }
  }
  BOOST_TEST(next_task(0) == number_of(ps::detail::task_kind::test));
  for (std::size_t const worker : {1U, 2U}) {
    BOOST_TEST(next_task(worker) == number_of(ps::detail::task_kind::hold));
    BOOST_TEST(next_task(worker) == -1);
  }
  tasks.drop(0);
  BOOST_TEST(next_task(1) == number_of(ps::detail::task_kind::test));
  BOOST_TEST(next_task(2) == -1);
  tasks.take(1, {.tests = 1});
  BOOST_TEST(next_task(1) == number_of(ps::detail::task_kind::send_state));
  BOOST_TEST(next_task(2) == -1);
  tasks.resume();
  for (std::size_t const worker : {1U, 2U}) {
    BOOST_TEST(next_task(worker) == number_of(ps::detail::task_kind::iterate));
  }
}

/// A worker may be lost when all others have reached the end: one of them remains for the last test.
BOOST_AUTO_TEST_CASE(the_last_test_is_made_whichever_worker_is_lost) {
  auto s = make_settings();
  s.batch = 4;
  for (auto const bound : {ps::clock_value{0}, ps::clock_value{2}, ps::consistency::no_bound}) {
    for (std::size_t lost_worker = 0; lost_worker != 4; ++lost_worker) {  // 3: no worker is lost
      ps::detail::scheduler tasks({.staleness = bound}, 3, nn::batch_plan(s, 4));
      std::vector<bool> is_gone(3);
      std::vector<bool> is_stopped(3);
      std::size_t test_count = 0;
      auto const ask = [&](std::size_t worker) {
        while (!is_stopped[worker] && !is_gone[worker]) {
          auto const next = tasks.next(worker);
          if (!next) {
            return;
          }
          if (next->kind == ps::detail::task_kind::test) {
            test_count += next->last;
            tasks.take(worker, {.tests = 1, .epoch = next->epoch});
          }
          is_stopped[worker] = next->kind == ps::detail::task_kind::stop;
          is_gone[worker] = worker == lost_worker && next->kind == ps::detail::task_kind::load_data;
        }
      };
      for (int round = 0; round != 2; ++round) {
        for (std::size_t const worker : {0U, 1U, 2U}) {
          ask(worker);
        }
      }
      if (lost_worker != 3) {
        BOOST_TEST(test_count == 0U);  // the worker may return
        tasks.drop(lost_worker);
      }
      for (std::size_t const worker : {0U, 1U, 2U}) {
        ask(worker);
        BOOST_TEST((is_stopped[worker] || worker == lost_worker));
      }
      BOOST_TEST(test_count == 1U);
    }
  }
}

/// Without a bound, the others do exactly the missing work of a lost worker. Each step is reported once, and the
/// images are those of all steps, up to less than a batch.
BOOST_AUTO_TEST_CASE(asynchronous_workers_train_on_as_many_images_whenever_one_is_lost) {
  constexpr std::uint64_t batch = 60;  // divisible by up to 5 workers
  nn::batch_plan const plan(make_settings(), 203);
  for (bool const rests : {false, true}) {
    for (std::size_t workers = 2; workers != 6; ++workers) {
      for (std::size_t loss_iteration = 0; loss_iteration != plan.steps() * workers; ++loss_iteration) {
        ps::detail::scheduler tasks({.staleness = ps::consistency::no_bound, .pauses_after_epochs = rests}, workers,
                                    plan);
        std::vector<std::optional<ps::detail::task>> current_tasks(workers);
        std::vector<bool> is_gone(workers);
        std::minstd_rand draw(static_cast<unsigned>(loss_iteration + 1));
        std::size_t iterations = 0;
        std::uint64_t images = 0;
        std::size_t reports = 0;
        std::size_t empty = 0;
        for (int events = 0; std::ranges::count(is_gone, true) != std::ssize(is_gone) && events != 100'000; ++events) {
          std::size_t const w = draw() % workers;
          if (is_gone[w]) {
            continue;
          }
          if (w == 0 && iterations >= loss_iteration) {  // with a task or without
            is_gone[w] = true;
            tasks.drop(w);
            continue;
          }
          using enum ps::detail::task_kind;
          if (current_tasks[w] && current_tasks[w]->kind == iterate) {
            ++iterations;
            images += batch / current_tasks[w]->parts;
            tasks.take(w, {.steps = 1, .samples = batch / current_tasks[w]->parts, .batch = batch});
          } else if (current_tasks[w] && current_tasks[w]->kind == test) {
            tasks.take(w, {.tests = 1, .epoch = current_tasks[w]->epoch});
          } else if (current_tasks[w] && current_tasks[w]->kind == send_state) {
            tasks.resume();
          }
          current_tasks[w] = tasks.next(w);
          is_gone[w] = current_tasks[w] && current_tasks[w]->kind == stop;
          tasks.for_each_test([](auto const&) {});
          tasks.for_each_step([&](std::size_t, auto const& sum) {
            ++reports;
            empty += sum.samples == 0 ? 1U : 0U;
          });
        }
        BOOST_TEST_CONTEXT(workers << " workers, one lost after " << loss_iteration
                                   << " iterations, rests: " << rests) {
          BOOST_TEST(reports == plan.steps());
          BOOST_TEST(empty == 0U);
          BOOST_TEST(images < (plan.steps() + 1) * batch);
          BOOST_TEST(images > (plan.steps() - 1) * batch);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(shards_are_contiguous_and_pieces_are_parts_of_layers) {
  std::vector<nn::parameter_range> ranges;
  std::size_t keys = 0;
  for (std::size_t const size : {100U, 7U, 1U, 250U, 90U, 3U, 49U}) {
    ranges.push_back({keys, size});
    keys += size;
  }
  auto const at_border = [&](std::size_t key) {
    return std::ranges::any_of(ranges, [key](auto const& r) { return r.offset == key || r.offset + r.size == key; });
  };
  for (auto const division : {ps::detail::layer_division::divisible, ps::detail::layer_division::whole}) {
    for (std::size_t const servers : {1U, 2U, 3U, 5U, 7U, 100U, 500U}) {
      if (division == ps::detail::layer_division::whole && servers > ranges.size()) {
        BOOST_CHECK_THROW(ps::detail::layout(ranges, servers, division), tutti::precondition_error);
        continue;
      }
      ps::detail::layout const layout(ranges, servers, division);
      BOOST_TEST(layout.servers() == servers);
      BOOST_TEST(layout.keys() == keys);
      std::size_t next = 0;
      for (std::size_t k = 0; k != servers; ++k) {
        BOOST_TEST(layout.shard(k).begin == next);
        BOOST_TEST(!layout.pieces(k).empty());
        for (auto const piece : layout.pieces(k)) {
          BOOST_TEST(piece.begin == next);
          BOOST_TEST(piece.size() > 0U);
          next = piece.end;
          BOOST_TEST(layout.server_of(piece.begin) == k);
          BOOST_TEST(layout.server_of(piece.end - 1) == k);
          BOOST_TEST(std::ranges::any_of(
              ranges, [&](auto const& r) { return r.offset <= piece.begin && piece.end <= r.offset + r.size; }));
        }
        BOOST_TEST(layout.shard(k).end == next);
        if (division == ps::detail::layer_division::whole) {
          BOOST_TEST(at_border(next));
        } else {
          BOOST_TEST(layout.shard(k).size() <= keys / servers + keys / servers / 4 + 1);
        }
      }
      BOOST_TEST(next == keys);
    }
  }
  BOOST_TEST(at_border(ps::detail::layout(ranges, 5).shard(1).begin));  // the target is key 100, which is a border
  BOOST_CHECK_THROW(ps::detail::layout(ranges, 0), tutti::precondition_error);
  BOOST_CHECK_THROW(ps::detail::layout(ranges, keys + 1), tutti::precondition_error);
  BOOST_CHECK_THROW(ps::roles(3, 0), tutti::precondition_error);
  BOOST_CHECK_THROW(ps::roles(3, 3), tutti::precondition_error);
}

namespace {

constexpr std::size_t key_count = 20;

/// The gradient that a worker pushes at a step.
float gradient_of(std::size_t worker, std::size_t step, std::size_t key) {
  return static_cast<float>((worker * 7 + step * 3 + key) % 11) * 0.1F - 0.4F;
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_are_those_of_a_sequential_simulation_and_a_working_set_is_pulled_alone) {
  nn::settings s;
  s.epochs = 3;
  s.batch = 4;
  s.weight_decay = 0.01F;
  nn::batch_plan const plan(s, 4);  // one step an epoch
  ps::regulariser const extra{0.05F};
  std::vector<nn::parameter_range> const ranges{{0, 6, 2}, {6, key_count - 6, 12}};  // both servers have some of the 12

  // The expected weights, by one optimizer.
  std::vector<float> expected(key_count, 1.0F);
  auto const optimizer = nn::make_optimizer(s, ranges);
  ps::detail::rates const over_time(s, plan);
  for (std::size_t step = 0; step != 3; ++step) {
    std::vector<float> sum(key_count);
    for (std::size_t key = 0; key != key_count; ++key) {
      sum[key] = gradient_of(0, step, key) + gradient_of(1, step, key);
    }
    extra.add_to(sum, expected);
    optimizer->step(expected, sum, over_time.at(step));
  }

  auto const run = tutti::simulate(support::busy_cluster(), 4, [&](auto& world) -> std::string {
    ps::roles const roles(4, 2);
    ps::detail::layout const layout(ranges, 2);
    auto channels = ps::detail::connect(world, roles);
    std::vector<float> weights(key_count, 1.0F);
    ps::consistency const consistency;
    if (roles.serves(world.rank())) {
      ps::detail::shard shard(layout, world.rank(), consistency, s, plan, extra, roles.workers(), weights, {}, 0);
      ps::detail::server self(std::move(channels), std::move(shard));
      ps::detail::server_observer observer;
      self.run(nullptr, observer);
      return self.lost_workers().empty() ? "" : self.lost_workers().front().reason;
    }
    std::size_t const me = roles.worker(world.rank());
    ps::detail::worker servers(std::move(channels), layout, consistency);
    std::vector<float> gradients(key_count);
    for (std::size_t step = 0; step != 3; ++step) {
      for (std::size_t key = 0; key != key_count; ++key) {
        gradients[key] = gradient_of(me, step, key);
      }
      servers.begin(gradients, 1 + 2 * me, 4);
      servers.on_completion(11);
      servers.finish(weights);
    }
    if (weights != expected) {
      return "other weights";
    }
    // Three ranges, one of them on both servers.
    std::ranges::fill(weights, -1.0F);
    std::array<ps::detail::key_range, 3> const working_set{ps::detail::key_range{2, 4}, {9, 13}, {19, 20}};
    servers.pull(weights, working_set);
    for (std::size_t key = 0; key != key_count; ++key) {
      bool const is_inside = std::ranges::any_of(working_set, [key](auto const& r) {
        return r.contains({key, key + 1});
      });
      if (weights[key] != (is_inside ? expected[key] : -1.0F)) {
        return "other keys, or other weights, than those of the working set";
      }
    }
    servers.leave(0);
    return {};
  });
  for (auto const& rank_result : run.results) {
    BOOST_TEST((rank_result ? rank_result.value() : rank_result.failure().text) == "");
  }
}

namespace {

/// Trains by processes over sockets. One of them is killed in its fourth step.
auto train_with_a_loss(rank_type victim, ps::consistency consistency) {
  (void)data();
  return tutti::spawn<tutti::tcp>(5, [&](auto& world) -> std::string {
    world.deadline(std::chrono::seconds(20));
    ps::roles const roles(5, 2);
    auto model = replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), make_settings());
    nn::history history;
    std::size_t steps = 0;
    auto const pace = [&](rank_type worker, tutti::duration) {
      if (++steps == 4 && roles.rank_of_worker(worker) == victim) {
        ::kill(::getpid(), SIGKILL);
      }
    };
    auto const sum = ps::train(world, roles, model, consistency, {}, pace, history);
    if (world.rank() != 0) {
      return {};
    }
    if (sum.lost_workers.size() != 1 || sum.lost_workers[0].worker != roles.worker(victim) ||
        sum.lost_workers[0].reason.find("rank " + std::to_string(victim)) == std::string::npos) {
      return "the lost worker is not named";
    }
    if (sum.ranks[victim].steps != 3 || sum.lost_workers[0].seconds <= 0) {
      return "of the lost worker the steps are missing that it made, or when it was lost";
    }
    if (history.epochs.size() != 2 || history.steps.size() != 14) {
      return "steps or tests are missing";
    }
    return history.steps.back().images == 11 ? "" : "the others have not taken over the images of the one that is lost";
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_that_dies_is_dropped_and_the_others_go_on) {
  for (ps::clock_value const bound : {0U, 2U}) {
    auto const results = train_with_a_loss(3, {.staleness = bound});
    for (rank_type r = 0; r != 5; ++r) {
      if (r == 3) {
        BOOST_TEST(results[r].failure().signal == SIGKILL);
      } else {
        BOOST_TEST((results[r] ? results[r].value() : results[r].failure().text) == "", "rank " << r);
      }
    }
  }
}

namespace {

void lose_a_silent_worker(ps::consistency consistency) {
  (void)data();
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  nn::history history;
  ps::summary sum;
  auto const run = tutti::simulate(
      support::busy_cluster(), 4,
      [&](auto& world) {
        world.deadline(std::chrono::seconds(1));
        ps::roles const roles(4, 1);
        auto model =
            replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), make_settings());
        nn::history rank_history;
        auto const pace = [&, steps = 0](rank_type worker, tutti::duration) mutable {
          // Worker 0 sends its last message just before it must wait for worker 1.
          bool const silent = worker == 1 && ++steps == 4;
          world.transport().spend(silent ? std::chrono::seconds(10) : std::chrono::milliseconds(worker == 0 ? 900 : 1));
        };
        auto rank_summary = ps::train(world, roles, model, consistency, {}, pace, rank_history);
        if (world.rank() == 0) {
          history = std::move(rank_history);
          sum = std::move(rank_summary);
        }
      },
      options);
  BOOST_TEST(!run.results[2].has_value());
  for (rank_type const r : {0U, 1U, 3U}) {
    BOOST_TEST((run.results[r] ? std::string() : run.results[r].failure().text) == "");
  }
  BOOST_REQUIRE(sum.lost_workers.size() == 1U);
  BOOST_TEST(sum.lost_workers[0].worker == 1U);
  BOOST_TEST(sum.ranks[2].steps == 3U);
  BOOST_TEST(sum.lost_workers[0].seconds > 1.0);  // the deadline
  BOOST_TEST(sum.lost_workers[0].reason.find("has sent nothing") != std::string::npos, sum.lost_workers[0].reason);
  BOOST_TEST(history.steps.size() == 14U);
  auto const images = std::accumulate(history.steps.begin(), history.steps.end(), std::size_t{0},
                                      [](std::size_t total, auto const& step) { return total + step.images; });
  BOOST_TEST(images <= 2 * 203U);
  BOOST_TEST(images > 2 * 203U - make_settings().batch);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_silent_worker_is_dropped_and_those_that_wait_for_it_are_not) {
  for (auto const bound : {ps::clock_value{1}, ps::consistency::no_bound}) {
    lose_a_silent_worker({.staleness = bound});
  }
}

namespace {

/// Calls `action` at the tenth message.
template <class Action>
class ten_messages final : public ps::detail::server_observer {
 public:
  explicit ten_messages(Action action) : action_(action) {}

  void on_message() override {
    if (++messages_ == 10) {
      action_();
    }
  }

 private:
  Action action_;
  int messages_ = 0;
};

/// Serves as server 1 of two, like `train`; calls `action` at the tenth message.
template <class World, class Action>
void serve_ten_messages(World& world, ps::roles const& roles, nn::replica const& model, Action action) {
  auto channels = ps::detail::connect(world, roles);
  auto const scheduler = ps::detail::connect_servers(world, roles);
  ps::detail::layout const layout(model.ranges(), roles.servers());
  ps::detail::shard shard(layout, 1, {}, make_settings(), model.plan(), {}, roles.workers(), model.parameters(), {}, 0);
  ps::detail::server self(std::move(channels), std::move(shard));
  ten_messages<Action> observer(action);
  self.run(nullptr, observer);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_that_dies_is_named_everywhere) {
  (void)data();
  auto const results = tutti::spawn<tutti::tcp>(4, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    ps::roles const roles(4, 2);
    auto model = replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), make_settings());
    if (world.rank() == 1) {
      serve_ten_messages(world, roles, model, [] { ::kill(::getpid(), SIGKILL); });
    }
    (void)ps::train(world, roles, model, {}, {}, ps::full_speed{});
  });
  for (rank_type const worker : {2U, 3U}) {
    BOOST_TEST(results[worker].failure().text.find("server 1 (rank 1) is lost") == 0U, results[worker].failure().text);
    BOOST_TEST((results[worker].failure().at_fault == std::vector<rank_type>{1}));
  }
  BOOST_TEST(results[0].failure().text.find("all workers are lost") == 0U, results[0].failure().text);
}

// Only the deadline of a pull reveals a server that no longer answers.
BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_is_named_within_a_few_deadlines) {
  (void)data();
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  std::vector<tutti::time_point> ends(4);
  auto const run = tutti::simulate(
      support::busy_cluster(), 4,
      [&](auto& world) {
        world.deadline(std::chrono::seconds(1));
        ps::roles const roles(4, 2);
        auto model =
            replica(roles.serves(world.rank()) ? 0 : roles.worker(world.rank()), roles.workers(), make_settings());
        try {
          if (world.rank() == 1) {
            serve_ten_messages(world, roles, model, [&] { world.transport().spend(std::chrono::hours(1)); });
          } else {
            (void)ps::train(world, roles, model, {}, {}, ps::full_speed{});
          }
        } catch (tutti::error const&) {
          ends[world.rank()] = world.transport().now();
          throw;
        }
      },
      options);
  for (rank_type const worker : {2U, 3U}) {
    auto const& failure = run.results[worker].failure();
    BOOST_TEST(failure.text.find("server 1 (rank 1) is lost") == 0U, failure.text);
    BOOST_TEST((failure.at_fault == std::vector<rank_type>{1}));
    BOOST_TEST((ends[worker] > tutti::time_point{} && ends[worker] < tutti::time_point{} + std::chrono::seconds(10)));
  }
  BOOST_TEST(run.results[0].failure().text.find("all workers are lost") == 0U, run.results[0].failure().text);
}

// Each worker tests with the statistics of its own images.
BOOST_AUTO_TEST_CASE(batch_normalisation_on_workers_without_images_is_refused) {
  auto s = make_settings();
  s.batch = 3;
  auto const run = tutti::simulate(support::busy_cluster(), 5, [&](auto& world) {
    nn::layer_list<float> layers;
    layers.push_back(nn::batch_norm<float>(nn::image_shape{1, 28, 28}));
    layers.push_back(nn::dense<float, nn::identity>(784, 10));
    nn::replica model(nn::model<float>(std::move(layers), nn::replica::extra_scalars), data().training, data().test, s,
                      0, 4);
    (void)ps::train(world, ps::roles(5, 1), model, {}, {}, ps::full_speed{});
  });
  for (auto const& rank_result : run.results) {
    BOOST_TEST(rank_result.failure().text.find("a batch has 3 images for 4 workers") != std::string::npos,
               rank_result.failure().text);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_trained_is_refused) {
  auto s = make_settings();
  s.synchronised_statistics = true;
  auto const run = tutti::simulate(support::busy_cluster(), 2, [&](auto& world) {
    auto model = replica(0, 1, s);
    (void)ps::train(world, ps::roles(2, 1), model, {}, {}, ps::full_speed{});
  });
  for (auto const& rank_result : run.results) {
    BOOST_TEST(rank_result.failure().text.find("workers cannot use synchronised_statistics") != std::string::npos);
  }
}
