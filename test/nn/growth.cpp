// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/door.hpp>
#include <tutti/enter.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/checkpoint/latest_state.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/trainer/common_look.hpp>
#include <tutti/nn/growth_watch.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/hash.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/train_elastic.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using tutti::rank_type;

// Processes enter a training, in the place of lost ranks or in addition. The result is that of a training that was
// stopped after these steps, and resumed with these numbers of ranks.

namespace {

constexpr std::size_t batches = 5;
constexpr std::size_t epochs = 4;

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(75, 1), nn::digits(20, 1, 1000)};
  return data;
}

nn::replica make_replica(rank_type rank, rank_type size, bool has_statistics) {
  nn::settings settings;
  settings.epochs = epochs;
  settings.batch = 16;
  settings.momentum = 0.9F;
  nn::layer_list<float> layers;
  layers.push_back(nn::dense<float, nn::relu>(784, 12));
  if (has_statistics) {
    layers.push_back(nn::batch_norm<float>(nn::image_shape{1, 1, 12}));
  }
  layers.push_back(nn::dense<float, nn::identity>(12, 10));
  auto const& [training, test] = images();
  return {nn::model<float>(std::move(layers), nn::replica::extra_scalars), training, test, settings, rank, size};
}

std::size_t step_of(nn::replica const& model) {
  return model.plan().steps_before(model.position().epoch) + model.position().batch;
}

/// A change of the world: the step after which it began, and its size.
struct change {
  std::uint32_t step;
  std::uint32_t size;
};

/// The notes of all processes of one training, in memory that they share.
struct notes {
  std::atomic<std::uint64_t> weights{0};
  std::atomic<std::uint32_t> change_count{0};
  std::array<change, 8> changes{};
  std::atomic<std::uint32_t> steps{0};  ///< steps of the process that made the last one
};

/// The plan of one process: it dies after a step, waits after a step until other processes wait at the door, or
/// arrives at the door when another one has made a step.
struct part {
  std::size_t death = ~std::size_t{0};
  std::size_t pause = ~std::size_t{0};
  rank_type newcomers = 1;  ///< number of processes for which it pauses
  std::uint32_t arrival = 0;
};

/// One process's training, in all worlds.
class trainee {
 public:
  trainee(notes& common, tutti::door& entry, part plan, bool has_statistics)
      : notes_(common), entry_(entry), plan_(plan), has_statistics_(has_statistics) {
    nn::set_threads(1);
  }

  template <class World>
  void begin(World& world) {
    world.deadline(std::chrono::seconds(40));
    model_.emplace(make_replica(world.rank(), world.size(), has_statistics_));
  }

  template <class World>
  void train(World& world) {
    nn::synchronous strategy(world, tutti::ring{}, 4096);
    nn::growth_watch watch(world, *model_, entry_);
    nn::train(*model_, strategy, history_, *this, watch);
    if (world.rank() == 0) {
      notes_.weights = nn::hash_of(model_->parameters());
    }
  }

  template <class World>
  void rejoin(World& world) {
    if (!model_) {
      begin(world);
    }
    auto const state = nn::latest_state(world, *model_, history_);
    begin(world);
    nn::restore(state, *model_);
    if (!nn::decode(state.history, history_)) {
      throw std::logic_error("the history cannot be read");
    }
    if (world.rank() == 0) {
      notes_.changes.at(notes_.change_count++) = {static_cast<std::uint32_t>(step_of(*model_)), world.size()};
    }
  }

  void step(nn::step_result const&, nn::replica const&) const noexcept {}
  void epoch(nn::epoch_result const&) const noexcept {}
  void after_step(nn::replica const& model) {
    std::size_t const steps = step_of(model);
    notes_.steps = static_cast<std::uint32_t>(steps);
    if (steps == plan_.death) {
      ::raise(SIGKILL);
    }
    if (steps == plan_.pause) {
      auto const end = tutti::steady_now() + std::chrono::seconds(30);
      while (entry_.waiting() < plan_.newcomers && tutti::steady_now() < end) {
        std::this_thread::yield();
      }
    }
  }

 private:
  notes& notes_;
  tutti::door& entry_;
  part plan_;
  bool has_statistics_;
  std::optional<nn::replica> model_;
  nn::history history_;
};

/// The processes of one training, and the folder where they meet.
class job {
 public:
  explicit job(bool has_statistics) : has_statistics_(has_statistics) {
    char name[] = "/tmp/tutti-test-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    void* const memory = ::mmap(nullptr, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(memory != MAP_FAILED);
    notes_ = new (memory) notes;
    (void)images();
  }
  job(job const&) = delete;
  job& operator=(job const&) = delete;
  ~job() {
    for (pid_t const process : processes_) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
    ::munmap(notes_, sizeof(notes));
    std::filesystem::remove_all(folder_);
  }

  /// Starts a rank of the first world, or, without a rank, a process that enters.
  template <class Transport>
  void start(std::optional<rank_type> rank, rank_type size, part plan) {
    pid_t const process = ::fork();
    if (process != 0) {
      BOOST_REQUIRE(process > 0);
      processes_.push_back(process);
      return;
    }
    ::setenv("TUTTI_JOB", folder_.c_str(), 1);
    ::setenv("TUTTI_STORE", ("file:" + folder_).c_str(), 1);
    ::setenv("TUTTI_INTERFACE", "lo", 1);
    int status = 0;
    try {
      tutti::door entry;
      trainee self(*notes_, entry, plan, has_statistics_);
      nn::elastic_options const options{.patience = std::chrono::seconds(30), .entry = &entry};
      auto const train = [&](auto& world) { self.train(world); };
      auto const rejoin = [&](auto& world, tutti::error const&) { self.rejoin(world); };
      if (rank) {
        ::setenv("TUTTI_RANK", std::to_string(*rank).c_str(), 1);
        ::setenv("TUTTI_SIZE", std::to_string(size).c_str(), 1);
        auto world = tutti::join<Transport>();
        self.begin(world);
        nn::train_elastic(world, options, train, rejoin);
      } else {
        while (notes_->steps < plan.arrival) {
          std::this_thread::yield();
        }
        auto membership = tutti::enter<Transport>();
        nn::train_elastic(membership, options, train, rejoin);
      }
    } catch (std::exception const& e) {
      std::fprintf(stderr, "a process of the training failed: %s\n", e.what());
      status = 1;
    }
    ::_exit(status);
  }

  /// Waits for all processes. All must end well, except those killed.
  notes const& finish(std::size_t deaths) {
    for (pid_t const process : std::exchange(processes_, {})) {
      int status = 0;
      ::waitpid(process, &status, 0);
      bool const is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      deaths -= is_killed ? 1U : 0U;
      BOOST_TEST((is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
    }
    BOOST_TEST(deaths == 0U);
    return *notes_;
  }

 private:
  bool has_statistics_;
  std::string folder_;
  notes* notes_ = nullptr;
  std::vector<pid_t> processes_;
};

/// Ends a training after a step.
struct stop_after {
  std::size_t last_step;

  void step(nn::step_result const&, nn::replica const&) const noexcept {}
  void epoch(nn::epoch_result const&) const noexcept {}
  void after_step(nn::replica const& model) const {
    if (step_of(model) == last_step) {
      throw nn::training_stopped(last_step, 0);
    }
  }
};

/// The weights of a training that is stopped and resumed from a checkpoint at each change.
template <class Transport>
std::uint64_t resumed_weights(rank_type size, std::vector<change> const& changes, bool has_statistics) {
  char name[] = "/tmp/tutti-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(name) != nullptr);
  std::uint64_t weights = 0;
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    std::size_t const end = i == changes.size() ? batches * epochs + 1 : changes[i].step;
    auto const results = tutti::spawn<Transport>(size, [&](auto& world) {
      nn::set_threads(1);
      auto model = make_replica(world.rank(), world.size(), has_statistics);
      nn::history history;
      nn::synchronous strategy(world, tutti::ring{}, 4096);
      nn::checkpoint_options options;
      options.folder = name;
      options.interval = 1;
      options.resume = i != 0;
      nn::checkpointer saver(world, model, strategy, history, nn::fingerprint(), std::move(options));
      stop_after stop{end};
      try {
        nn::train(model, strategy, history, saver, stop);
      } catch (nn::training_stopped const&) {
      }
      return nn::hash_of(model.parameters());
    });
    for (auto const& result : results) {
      BOOST_REQUIRE(result.has_value());
      weights = result.value();
      BOOST_TEST(weights == results[0].value());
    }
    size = i == changes.size() ? size : changes[i].size;
  }
  std::filesystem::remove_all(name);
  return weights;
}

/// Checks the weights of a training whose world changed.
template <class Transport>
void check_equal_to_resumed(rank_type size, notes const& result, std::vector<rank_type> const& sizes,
                            bool has_statistics) {
  BOOST_REQUIRE(result.change_count == sizes.size());
  std::vector<change> changes;
  for (std::size_t i = 0; i != result.change_count; ++i) {
    BOOST_TEST(result.changes[i].size == sizes[i]);
    if (!changes.empty() && changes.back().step == result.changes[i].step) {
      changes.pop_back();
    }
    changes.push_back(result.changes[i]);
  }
  BOOST_TEST(result.weights == resumed_weights<Transport>(size, changes, has_statistics));
}

}  // namespace

/// All ranks look after the same steps, at growing distances, and learn of what any of them has seen.
BOOST_AUTO_TEST_CASE(ranks_look_after_the_same_steps) {
  constexpr std::uint64_t last_step = 40;
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    nn::detail::common_look look(world, 5);
    std::vector<std::uint64_t> looks;
    for (std::uint64_t step = 6; step <= last_step; ++step) {
      if (look.is_due(step)) {
        looks.push_back(step);
        looks.push_back(look.largest(world.rank() == step % 3 ? step : 0, step));
      }
    }
    return looks;
  });
  std::vector<std::uint64_t> const looks = results[0].value();
  BOOST_TEST((looks == results[1].value() && looks == results[2].value()));
  BOOST_REQUIRE(looks.size() >= 4U);
  for (std::size_t i = 0; i != looks.size(); i += 2) {
    BOOST_TEST(looks[i + 1] == looks[i]);
    BOOST_TEST((i == 0 ? looks[i] == 6 : looks[i] <= looks[i - 2] + 2 * (looks[i - 2] - (i == 2 ? 5 : looks[i - 4]))));
  }
}

using of_processes = std::tuple<tutti::shared_memory, tutti::tcp>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_process_that_enters_takes_part_bit_for_bit, Transport, of_processes) {
  for (bool const has_statistics : {false, true}) {
    job training(has_statistics);
    training.start<Transport>(0, 2, {.pause = 7});
    training.start<Transport>(1, 2, {});
    training.start<Transport>(std::nullopt, 0, {.arrival = 7});
    check_equal_to_resumed<Transport>(2, training.finish(0), {3}, has_statistics);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_spare_takes_the_place_of_a_lost_rank, Transport, of_processes) {
  job training(false);
  training.start<Transport>(0, 2, {.death = 8});
  training.start<Transport>(1, 2, {.pause = 6, .newcomers = 2});
  training.start<Transport>(std::nullopt, 0, {.death = 12, .arrival = 6});
  training.start<Transport>(std::nullopt, 0, {.arrival = 6});
  notes const& result = training.finish(2);
  std::vector<rank_type> sizes;
  for (std::size_t i = 0; i != result.change_count; ++i) {
    sizes.push_back(result.changes[i].size);
  }
  check_equal_to_resumed<Transport>(2, result, sizes, false);
  BOOST_TEST(sizes.size() >= 2U);
}
