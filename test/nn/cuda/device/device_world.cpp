// SPDX-License-Identifier: Apache-2.0
// test: address
#include <models/host_math.hpp>
#include <support/data_files.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/strategy/averaging/federated_averaging.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/fixed_point.hpp>
#include <tutti/nn/strategy/synchronous/network_server.hpp>
#include <tutti/nn/strategy/synchronous/rank0_reduce.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using nn::replica;

// Ranks on hosts and on devices form one world.

namespace {

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(90, 1), nn::digits(40, 1, 1000)};
  return data;
}

nn::settings make_settings() {
  nn::settings s;
  s.epochs = 2;
  s.batch = 16;
  s.rate = 0.05F;
  s.weight_decay = 0.001F;
  return s;
}

nn::layer_list<float> layers() {
  return {nn::dense<float>(784, 12), nn::batch_norm<float, nn::relu>({12, 1, 1}), nn::dense<float>(12, 10)};
}

struct epochs_done {};

/// Ends a training after `epochs` epochs.
struct stop_after {
  std::size_t epochs;
  template <class Replica>
  void step(nn::step_result const&, Replica const&) const {}
  void epoch(nn::epoch_result const& result) const {
    if (result.epoch + 1 == epochs) {
      throw epochs_done();
    }
  }
};

/// The placement of ranks; in `hosts_and_devices`, odd ranks are on devices.
enum class ranks { hosts, devices, hosts_and_devices };

/// The final state of a rank.
struct final_state {
  std::vector<float> weights;
  nn::history history;
};

replica make_replica(ranks placement, tutti::rank_type rank, tutti::rank_type size, nn::settings const& s) {
  nn::set_threads(1);
  bool const on_device = placement == ranks::devices || (placement == ranks::hosts_and_devices && rank % 2 == 1);
  if (on_device) {
    return nn::detail::device::replica<models::host_math>(nn::device_model{layers()}, images().training, images().test,
                                                          s, rank, size);
  }
  return {nn::model<float>(layers(), replica::extra_scalars), images().training, images().test, s, rank, size};
}

/// Starts ranks in a world of their own.
constexpr auto on_loopback = [](tutti::rank_type size, auto const& rank) {
  return tutti::spawn<tutti::loopback>(size, rank);
};

/// Trains by the strategy that `choose(world, use)` passes to `use`.
template <class Choose, class Start = decltype(on_loopback)>
std::vector<final_state> train(ranks placement, nn::settings const& s, Choose const& choose, tutti::rank_type size = 2,
                               Start const& start = on_loopback) {
  std::vector<final_state> states;
  for (auto& rank_result : start(size, [&](auto& world) {
         final_state result;
         choose(world, [&](auto&& strategy) {
           auto replica_of_rank = make_replica(placement, world.rank(), world.size(), s);
           nn::train(replica_of_rank, strategy, result.history);
           auto const weights = std::as_const(replica_of_rank).parameters();
           result.weights.assign(weights.begin(), weights.end());
         });
         return result;
       })) {
    states.push_back(std::move(rank_result.value()));
  }
  return states;
}

/// Checks that ranks end with equal weights, and learn like hosts.
template <class Choose, class Start = decltype(on_loopback)>
void check(std::string const& name, Choose const& choose, nn::settings const& s = make_settings(),
           double max_error = 1e-2, Start const& start = on_loopback) {
  BOOST_TEST_CONTEXT(name) {
    auto const hosts = train(ranks::hosts, s, choose, 2, start);
    auto const mixture = train(ranks::hosts_and_devices, s, choose, 2, start);
    BOOST_TEST(mixture[0].weights == mixture[1].weights);
    BOOST_TEST_REQUIRE(mixture[0].history.epochs.size() == s.epochs);
    BOOST_TEST_REQUIRE(mixture[0].history.steps.size() == hosts[0].history.steps.size());
    for (std::size_t i = 0; i != hosts[0].history.steps.size(); ++i) {
      double const right = hosts[0].history.steps[i].loss;
      BOOST_TEST(std::abs(mixture[0].history.steps[i].loss - right) <= max_error * right, "loss of step " << i);
    }
    for (std::size_t e = 0; e != s.epochs; ++e) {
      double const right = hosts[0].history.epochs[e].test_loss;
      BOOST_TEST(std::abs(mixture[0].history.epochs[e].test_loss - right) <= max_error * right);
      BOOST_TEST(mixture[1].history.epochs[e].test_loss == mixture[0].history.epochs[e].test_loss);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_of_both_kinds_share_a_batch) {
  check("synchronous", [](auto& world, auto use) { use(nn::synchronous(world, tutti::ring{})); });
  check("in buckets", [](auto& world, auto use) { use(nn::synchronous(world, tutti::ring{}, 4096)); });
  check("in buckets, by a thread", [](auto& world, auto use) {
    use(nn::synchronous(world, tutti::ring{}, 4096, nn::bucket_progress::by_thread));
  });
  check("central",
        [](auto& world, auto use) { use(nn::rank0_reduce(world, tutti::binary_tree{}, tutti::binary_tree{})); });
  check("fixed_point", [](auto& world, auto use) {
    use(nn::fixed_point(world, tutti::ring{}, nn::shared_exponents{256}, 0, replica::extra_scalars));
  });
  check(
      "int8",
      [](auto& world, auto use) {
        use(nn::compressed_synchronous(world, nn::quantised_sum(world), replica::extra_scalars));
      },
      make_settings(), 5e-2);
}

BOOST_AUTO_TEST_CASE(replicas_of_both_kinds_differ_between_meetings) {
  check("local_sgd", [](auto& world, auto use) { use(nn::local_sgd(world, tutti::ring{}, 3)); });
  check("gossip", [](auto& world, auto use) { use(nn::gossip(world, tutti::ring{}, nn::neighbours::ring, 0)); });
  check("federated", [](auto& world, auto use) { use(nn::federated_averaging(world, tutti::ring{}, {3, 0.5, 1})); });
}

BOOST_AUTO_TEST_CASE(few_gradients_of_both_kinds_are_sent) {
  nn::settings s = make_settings();
  s.momentum_corrected = true;
  check(
      "top_k",
      [&](auto& world, auto use) {
        use(nn::compressed_synchronous(world,
                                       nn::sparse_sum(world, nn::top_k(0.2, 0), nn::feedback(nn::correction_of(s))),
                                       replica::extra_scalars));
      },
      s, 5e-2);
}

BOOST_AUTO_TEST_CASE(statistics_are_of_the_batch_of_both_kinds) {
  nn::settings s = make_settings();
  s.synchronised_statistics = true;
  check(
      "synchronised", [](auto& world, auto use) { use(nn::synchronous(world, tutti::ring{})); }, s);
  // Buckets and attached numbers are complete before the statistics are exchanged.
  check(
      "in buckets", [](auto& world, auto use) { use(nn::synchronous(world, tutti::ring{}, 512)); }, s);
  check(
      "fixed_point",
      [](auto& world, auto use) {
        use(nn::fixed_point(world, tutti::ring{}, nn::shared_exponents{256}, 0, replica::extra_scalars));
      },
      s);
}

BOOST_AUTO_TEST_CASE(a_server_in_the_network_updates_weights_of_both_kinds) {
  namespace fpga = tutti::detail::fpga_nic;
  using transport = tutti::fpga_nic<tutti::loopback, fpga::in_process_link>;
  nn::settings s = make_settings();
  s.momentum = 0;
  s.decays_all = true;
  check(
      "network_server", [&](auto& world, auto use) { use(nn::network_server(world, s)); }, s, 1e-2,
      [](tutti::rank_type size, auto const& rank) {
        fpga::in_process_network net(size);
        tutti::world_options<transport> options;
        options.transport.network.network = &net;
        auto ends = tutti::spawn<transport>(size, rank, options);
        BOOST_TEST(net.counts().updates != 0U);
        return ends;
      });
}

BOOST_AUTO_TEST_CASE(devices_alone_train) {
  auto const choose = [](auto& world, auto use) { use(nn::synchronous(world, tutti::ring{}, 4096)); };
  auto const hosts = train(ranks::hosts, make_settings(), choose, 3);
  auto const devices = train(ranks::devices, make_settings(), choose, 3);
  BOOST_TEST(devices[0].weights == devices[1].weights);
  BOOST_TEST(devices[0].weights == devices[2].weights);
  double const right = hosts[0].history.epochs.back().test_loss;
  BOOST_TEST(std::abs(devices[0].history.epochs.back().test_loss - right) <= 1e-2 * right);
}

BOOST_AUTO_TEST_CASE(a_device_goes_on_from_a_checkpoint_of_a_host_and_the_other_way_round) {
  auto const run = [](ranks placement, std::size_t epochs, tutti::nn::checkpoint_options const& keep) {
    nn::settings s = make_settings();
    s.schedule = nn::rate_schedule_kind::constant;
    auto const results = tutti::spawn<tutti::loopback>(2, [&](auto& world) {
      final_state result;
      nn::synchronous strategy(world, tutti::ring{});
      auto replica_of_rank = make_replica(placement, world.rank(), world.size(), s);
      stop_after stop{epochs};
      nn::checkpointer saver(world, replica_of_rank, strategy, result.history, nn::fingerprint{}, keep);
      try {
        nn::train(replica_of_rank, strategy, result.history, saver, stop);
      } catch (epochs_done const&) {
      }
      return result;
    });
    return results[0].value().history.epochs;
  };
  support::folder const folder;
  auto const from_host = folder.path / "host";
  auto const from_device = folder.path / "device";
  auto const right = run(ranks::hosts, 99, {.folder = folder.path / "whole"});
  BOOST_TEST_REQUIRE(right.size() == 2U);
  static_cast<void>(run(ranks::hosts, 1, {.folder = from_host}));
  static_cast<void>(run(ranks::devices, 1, {.folder = from_device}));
  for (auto const& epochs : {run(ranks::devices, 99, {.folder = from_host, .resume = true}),
                             run(ranks::hosts, 99, {.folder = from_device, .resume = true})}) {
    BOOST_TEST_REQUIRE(epochs.size() == 2U);  // the first epoch was computed by the other kind of rank
    BOOST_TEST(std::abs(epochs[1].test_loss - right[1].test_loss) <= 1e-2 * right[1].test_loss);
  }
}

BOOST_AUTO_TEST_CASE(workers_of_both_kinds_push_to_servers) {
  nn::settings const s = make_settings();
  auto const run = [&](ranks placement) {
    auto const results = tutti::spawn<tutti::loopback>(3, [&](auto& world) {
      namespace ps = nn::parameter_server;
      ps::roles const roles(world.size(), 1);
      nn::history history;
      auto const part = roles.serves(world.rank()) ? 0U : roles.worker(world.rank());
      auto replica_of_rank = make_replica(placement, part, roles.workers(), s);
      static_cast<void>(
          ps::train(world, roles, replica_of_rank, ps::consistency{}, ps::regulariser{}, ps::full_speed{}, history));
      return history.epochs;
    });
    return results[0].value();
  };
  auto const hosts = run(ranks::hosts);
  auto const mixture = run(ranks::hosts_and_devices);
  BOOST_TEST_REQUIRE(mixture.size() == s.epochs);
  BOOST_TEST(std::abs(mixture[1].test_loss - hosts[1].test_loss) <= 3e-2 * hosts[1].test_loss);
}
