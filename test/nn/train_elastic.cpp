// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <models/host_math.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/latest_state.hpp>
#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/train_elastic.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using nn::replica;
using tutti::rank_type;

// Some ranks of a training die, and the others continue: with correct state and results.

namespace {

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(75, 1), nn::digits(20, 1, 1000)};
  return data;
}

nn::settings make_settings() {
  nn::settings s;
  s.epochs = 3;
  s.batch = 16;  // five batches in an epoch
  return s;
}

nn::layer_list<float> layers(bool that_remember) {
  nn::layer_list<float> result;
  result.push_back(nn::dense<float, nn::relu>(784, 12));
  if (that_remember) {
    result.push_back(nn::batch_norm<float>(nn::image_shape{1, 1, 12}));
  }
  result.push_back(nn::dense<float, nn::identity>(12, 10));
  return result;
}

/// A rank that dies after a step, as by kill -9.
struct death {
  rank_type rank;
  std::size_t step;
};

struct kind {
  bool remembers = false;   ///< layers have statistics
  bool on_devices = false;  ///< odd ranks are on devices
};

/// One rank's training through all faults. As an observer, it records losses, weights and test results.
template <class Transport>
class trainee {
 public:
  trainee(rank_type rank, rank_type size, kind model_kind, std::vector<death> deaths)
      : model_kind_(model_kind), first_rank_(rank), deaths_(std::move(deaths)) {
    nn::set_threads(1);
    make(rank, size);
  }

  template <class World>
  void train(World& world) {
    nn::synchronous strategy(world, tutti::ring{}, 4096);
    nn::train(*model_, strategy, *this);
  }

  template <class World>
  void rejoin(World& world) {
    rank_type const old_size = model_->size();
    auto const state = nn::latest_state(world, *model_, history_);
    std::vector<float> const statistics(model_->statistics().begin(), model_->statistics().end());
    make(world.rank(), world.size());
    nn::restore(state, *model_);
    kept_own_ = kept_own_ && std::ranges::equal(statistics, model_->statistics());
    if (!nn::decode(state.history, history_) || world.size() >= old_size) {
      throw std::logic_error("rejoin");
    }
    words_.resize(std::min(words_.size(), 3 * history_.steps.size()));
    if (words_.size() < 3 * history_.steps.size()) {  // another rank was a step ahead
      note();
    }
  }

  void step(nn::step_result const& result, replica const& model) {
    history_.step(result, model);
    note();
    for (auto const& [rank, step] : deaths_) {
      if (rank == first_rank_ && history_.steps.size() >= step) {  // later if other deaths made it repeat a step
        if constexpr (!tutti::in_process<Transport>) {
          ::kill(::getpid(), SIGKILL);
        }
        throw std::runtime_error("died");
      }
    }
  }
  void epoch(nn::epoch_result const& result) { history_.epoch(result); }

  /// The loss and a hash of the weights of each step, then the test results.
  [[nodiscard]] std::vector<std::uint32_t> words() const {
    auto result = words_;
    for (auto const& epoch : history_.epochs) {
      result.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(epoch.test_loss)));
    }
    result.push_back(kept_own_ ? 1 : 0);
    return result;
  }

 private:
  void make(rank_type rank, rank_type size) {
    auto network = layers(model_kind_.remembers);
    auto const& [training, test] = images();
    if (model_kind_.on_devices && first_rank_ % 2 == 1) {
      model_.emplace(nn::detail::device::replica<models::host_math>(nn::device_model{std::move(network)}, training,
                                                                    test, make_settings(), rank, size));
    } else {
      model_.emplace(nn::model<float>(std::move(network), replica::extra_scalars), training, test, make_settings(),
                     rank, size);
    }
  }
  void note() {
    std::uint64_t hash = 14695981039346656037U;
    for (float const w : std::as_const(*model_).parameters()) {
      hash = (hash ^ std::bit_cast<std::uint32_t>(w)) * 1099511628211U;
    }
    words_.push_back(std::bit_cast<std::uint32_t>(history_.steps.back().loss));
    words_.push_back(static_cast<std::uint32_t>(hash));
    words_.push_back(static_cast<std::uint32_t>(hash >> 32));
  }

  kind model_kind_;
  rank_type first_rank_;
  std::vector<death> deaths_;
  std::optional<replica> model_;
  nn::history history_;
  std::vector<std::uint32_t> words_;
  bool kept_own_ = true;
};

/// The records of the surviving ranks.
template <class Transport>
std::vector<std::vector<std::uint32_t>> train(rank_type ranks, std::vector<death> const& deaths, kind model_kind = {}) {
  (void)images();  // loaded before ranks are made
  auto results = tutti::spawn<Transport>(ranks, [&](auto& world) {
    world.deadline(std::chrono::seconds(40));
    trainee<Transport> local_trainee(world.rank(), world.size(), model_kind, deaths);
    nn::train_elastic(
        world, {}, [&](auto& now) { local_trainee.train(now); },
        [&](auto& smaller, tutti::error const&) { local_trainee.rejoin(smaller); });
    return local_trainee.words();
  });
  std::vector<std::vector<std::uint32_t>> left;
  for (rank_type r = 0; r != ranks; ++r) {
    bool const dead = std::ranges::count(deaths, r, &death::rank) != 0;
    BOOST_TEST(dead == !results[r].has_value(), "rank " << r << ": " << results[r].failure().text);
    if (results[r]) {
      left.push_back(std::move(results[r]).value());
    }
  }
  return left;
}

constexpr std::size_t steps = 15;

/// Checks that all survivors have equal records of every step, and have reached the end.
void check_alike(std::vector<std::vector<std::uint32_t>> const& left, std::size_t ranks) {
  BOOST_REQUIRE(left.size() == ranks);
  for (auto const& words : left) {
    BOOST_TEST((words == left[0]));
  }
  BOOST_TEST(left[0].size() == 3 * steps + 3 + 1);
  BOOST_TEST(left[0].back() == 1U);
}

float loss_of(std::vector<std::uint32_t> const& words, std::size_t step) {
  return std::bit_cast<float>(words[3 * step]);
}

/// Checks that the survivors among 4 ranks finish a training after each of these sets of deaths.
template <class Transport>
void check_finished(std::vector<std::vector<death>> const& faults, kind model_kind = {}) {
  auto const whole = train<Transport>(4, {}, model_kind);
  check_alike(whole, 4);
  for (auto const& deaths : faults) {
    auto const left = train<Transport>(4, deaths, model_kind);
    check_alike(left, 4 - deaths.size());
    // Every image of every batch still counts, so losses equal those of a training without faults: up to rounding, and
    // bit for bit before the fault. The last step before it may be lost with the rank that died.
    for (std::size_t s = 0; s != steps; ++s) {
      BOOST_TEST(std::abs(loss_of(left[0], s) - loss_of(whole[0], s)) < 1e-3F, "step " << s);
      BOOST_TEST((s + 1 >= deaths[0].step ||
                  std::equal(left[0].begin(), left[0].begin() + 3 * static_cast<long>(s) + 3, whole[0].begin())));
    }
  }
}

}  // namespace

using all_transports = std::tuple<tutti::loopback, tutti::shared_memory, tutti::tcp>;

BOOST_AUTO_TEST_CASE_TEMPLATE(those_that_are_left_finish_the_training, Transport, all_transports) {
  check_finished<Transport>({{{1, 7}}, {{0, 1}}, {{3, 5}}, {{1, 7}, {2, 7}, {3, 11}}});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_on_hosts_and_on_devices_are_left, Transport, all_transports) {
  check_finished<Transport>({{{1, 7}}, {{0, 7}}, {{0, 5}, {2, 5}}, {{1, 7}, {3, 7}}}, {.on_devices = true});
}

BOOST_AUTO_TEST_CASE(what_layers_remember_stays_each_ranks_own) {
  check_alike(train<tutti::loopback>(4, {{2, 7}}, {.remembers = true}), 3);
  check_alike(train<tutti::loopback>(4, {{1, 7}}, {.remembers = true, .on_devices = true}), 3);
}
