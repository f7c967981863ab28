// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_parameter_server
#include <support/simulated_worlds.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/strategy/alone.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace nn = tutti::nn;
namespace ps = tutti::nn::parameter_server;
using tutti::rank_type;

namespace {

// 203 images: the last batch of an epoch is short, 11 images.
constexpr std::array<std::size_t, 2> hidden{12, 9};

nn::settings asked() {
  nn::settings s;
  s.epochs = 2;
  s.batch = 32;
  s.weight_decay = 0.001F;
  return s;
}

nn::data_pair const& data() {
  static nn::data_pair const all{nn::digits(203, 1), nn::digits(50, 1, 1000)};
  return all;
}

nn::replica replica(rank_type rank, rank_type size, nn::settings const& s) {
  nn::set_threads(1);
  return nn::replica(
      nn::model<float>(nn::mlp<float>(784, hidden, 10, nn::hidden_activation::relu), nn::replica::attached),
      data().training, data().test, s, rank, size);
}

/// What rank 0 saw of a training.
struct seen {
  nn::history told;
  ps::summary sum;
};

/// One worker takes longer for each gradient than the others, in virtual time.
struct slow_worker {
  tutti::simulated* clock;
  rank_type slow;
  void operator()(rank_type worker, tutti::duration) const {
    clock->spend(worker == slow ? std::chrono::milliseconds(10) : std::chrono::milliseconds(1));
  }
};

seen train_in_virtual_time(rank_type ranks, rank_type servers, ps::consistency how, nn::settings const& s = asked(),
                           rank_type slow = tutti::no_rank) {
  (void)data();
  seen all;
  tutti::simulation_options options;
  options.stack_bytes = std::size_t{4} << 20;
  auto const ended = tutti::simulate(
      support::busy_cluster(), ranks,
      [&](auto& world) {
        ps::roles const who(ranks, servers);
        auto model = replica(who.serves(world.rank()) ? 0 : who.worker(world.rank()), who.workers(), s);
        nn::history told;
        auto sum = ps::train(world, who, model, how, {}, slow_worker{&world.transport(), slow}, told);
        if (world.rank() == 0) {
          all = {std::move(told), std::move(sum)};
        }
      },
      options);
  for (auto const& one : ended.results) {
    BOOST_REQUIRE_MESSAGE(one.has_value(), one.failure().text);
  }
  return all;
}

nn::history train_alone(nn::settings const& s) {
  auto model = replica(0, 1, s);
  nn::alone one;
  nn::history told;
  nn::train(model, one, told);
  return told;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_staleness_it_is_synchronous_training) {
  for (auto const kind : {nn::optimizer_kind::sgd, nn::optimizer_kind::lars}) {
    auto s = asked();
    s.optimizer = kind;
    auto const expected = train_alone(s);
    for (rank_type const servers : {1U, 2U, 3U}) {
      for (bool const sends : {false, true}) {
        auto const got = train_in_virtual_time(servers + 3, servers, {.staleness = 0, .server_sends = sends}, s);
        BOOST_REQUIRE(got.told.steps.size() == expected.steps.size());
        for (std::size_t i = 0; i != expected.steps.size(); ++i) {
          BOOST_TEST(std::abs(got.told.steps[i].loss - expected.steps[i].loss) < 1e-4F,
                     servers << " servers, step " << i);
          BOOST_TEST(std::abs(got.told.steps[i].accuracy - expected.steps[i].accuracy) < 1e-5F);
          BOOST_TEST(got.told.steps[i].images == expected.steps[i].images);
        }
        BOOST_REQUIRE(got.told.epochs.size() == 2U);
        for (std::size_t e = 0; e != 2; ++e) {
          BOOST_TEST(std::abs(got.told.epochs[e].test_loss - expected.epochs[e].test_loss) < 1e-4);
        }
        BOOST_TEST(got.sum.missed().largest() == 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_reads_further_ahead_than_the_bound) {
  for (ps::clock_value const bound : {0U, 1U, 3U}) {
    auto const got = train_in_virtual_time(5, 2, {.staleness = bound}, asked(), 1);
    auto const lead = got.sum.lead();
    BOOST_TEST(lead.largest() == bound);  // and the fast ones do come so far
    BOOST_TEST(lead.total() > 100U);
  }
  auto const got = train_in_virtual_time(5, 2, {.staleness = ps::consistency::unbounded}, asked(), 1);
  BOOST_TEST(got.sum.lead().largest() > 3U);
  BOOST_TEST(got.sum.ranks[2].steps > 2 * got.sum.ranks[3].steps);  // of workers 0 and 1
}
