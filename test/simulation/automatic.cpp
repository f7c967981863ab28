// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (one thread)
#include <simulation/loggp_network.hpp>
#include <simulation/worlds.hpp>
#include <tutti/automatic.hpp>
#include <tutti/simulation/simulate_schedule.hpp>
#include <tutti/topology/in_network.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <string>
#include <vector>

// Virtual time has a known truth to compare with: the parameters of the network, and the time of each schedule.

using namespace tutti;
using namespace tutti::detail;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using ::support::loggp_network;

namespace {

simulated_network network_with_switch(rank_type n, loggp nic) {
  auto net = one_switch(n, nic);
  net.combine = picoseconds(50);
  net.sums = true;
  return net;
}

double relative_error(double a, double b) {
  return std::abs(a - b) / b;
}

constexpr loggp fast{microseconds(1), nanoseconds(300), nanoseconds(0), at_gigabits(100)};
constexpr loggp slow{microseconds(50), microseconds(2), nanoseconds(0), at_gigabits(1)};
constexpr std::array<rank_type, 6> some_sizes{2, 3, 4, 7, 8, 13};

/// The shortest simulated time of an operation on one vector of this many bytes, over all schedules.
template <class Op>
double least_simulated(simulated_network const& net, Op op, rank_type n, std::size_t bytes,
                       std::vector<prediction> const& predictions, double& mean_error, prediction const& pick,
                       double& picked_time) {
  double least = INFINITY;
  for (prediction const& p : predictions) {
    auto const time = static_cast<double>(
        simulate_schedule(net, p.way.topology, op, n, {bytes / 4, 4, p.way.segment_bytes}).time().count());
    mean_error += relative_error(static_cast<double>(p.time), time) / static_cast<double>(predictions.size());
    least = std::min(least, time);
    if (p.way.topology.kind() == pick.way.topology.kind() && p.way.segment_bytes == pick.way.segment_bytes) {
      picked_time = time;
    }
  }
  return least;
}

/// A link with random times, as a measurement may give them.
network_profile::link drawn_link(std::mt19937& random) {
  auto const up_to = [&](std::int64_t limit) { return std::uniform_int_distribution<std::int64_t>(0, limit)(random); };
  network_profile::link link{.latency = up_to(2'000'000), .burst = up_to(1) * up_to(100'000'000)};
  for (std::size_t const bytes : {4U, 2048U, 65536U, 1048576U}) {
    auto const scale = static_cast<std::int64_t>(bytes) * 50 + 200'000;
    std::int64_t const send = up_to(scale);
    link.points.push_back({.bytes = bytes,
                           .send = send,
                           .lead = up_to(send),
                           .wire = up_to(1) * up_to(scale),
                           .receive = up_to(scale),
                           .combine = up_to(scale),
                           .overwrite = up_to(scale) - scale / 2,
                           .loan = up_to(1) * up_to(scale)});
    link.points.back().solo = link.points.back().loan;
  }
  return link;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_model_tells_what_the_simulator_tells) {
  for (rank_type const n : some_sizes) {
    for (loggp const& nic : {fast, slow}) {
      for (std::size_t const bytes : {4U, 4096U, 1U << 20}) {
        for (std::size_t const segment : {0U, 64U << 10}) {
          auto const expect_agreement = [&]<class T, class Op>(T topology, Op op, double tolerance) {
            std::size_t const vector = std::same_as<Op, op::alltoall> ? n * bytes : bytes;
            auto const model =
                timed_schedule(topology, op, n).time(loggp_network{nic, picoseconds(50)}, vector, segment);
            auto const simulation =
                simulate_schedule(network_with_switch(n, nic), topology, op, n, {vector / 4, 4, segment})
                    .time()
                    .count();
            BOOST_TEST(relative_error(static_cast<double>(model), static_cast<double>(simulation)) <= tolerance,
                       name(verify::kind_of<decltype(op)>)
                           << " over " << T::name << ", n " << n << ", " << bytes << " bytes in segments of " << segment
                           << ": " << model << " and " << simulation);
          };
          op::allreduce const allreduce;
          expect_agreement(ring{}, allreduce, 0.1);
          expect_agreement(chain{}, allreduce, 0.1);
          expect_agreement(doubling{}, allreduce, 0.1);
          expect_agreement(binary_tree{}, allreduce, 0.1);
          expect_agreement(star{}, allreduce, 0.1);
          expect_agreement(direct{}, allreduce, 0.1);
          expect_agreement(in_network{}, allreduce, 0.01);
          expect_agreement(chain{}, op::scan{}, 0.1);
          expect_agreement(doubling{}, op::scan{}, 0.1);
          expect_agreement(chain{}, op::exscan{}, 0.1);
          expect_agreement(doubling{}, op::exscan{}, 0.1);
          expect_agreement(direct{}, op::alltoall{}, 0.1);
          expect_agreement(doubling{}, op::alltoall{}, 0.1);
        }
      }
    }
  }
}

// A burst allowance never makes a link slower, and never faster than the bytes that it carries. Traffic in turns that
// fits into the burst takes no time on the wire.
BOOST_AUTO_TEST_CASE(bursts_pass_at_once_and_are_paid_back) {
  constexpr std::size_t bytes = 64 << 10;
  std::int64_t const wire = slow.per_byte.count() * static_cast<std::int64_t>(bytes);
  auto const time = [](auto topology, rank_type n, std::int64_t burst) {
    return timed_schedule(topology, op::allreduce{}, n).time(loggp_network{slow, picoseconds(0), burst}, bytes);
  };
  for (rank_type const n : some_sizes) {
    auto const law = [&]<class T>(T topology, std::int64_t busy_time) {
      std::int64_t last = time(topology, n, 0);
      for (std::int64_t const burst : {wire / 8, wire / 2, wire, 100 * wire}) {
        std::int64_t const now = time(topology, n, burst);
        BOOST_TEST(now <= last, T::name << ", n " << n << ", a burst of " << burst);
        BOOST_TEST(now >= busy_time, T::name << ", n " << n << ", a burst of " << burst);
        last = now;
      }
    };
    law(chain{}, wire);
    law(ring{}, 2 * wire / n * (n - 1) * 99 / 100);
    law(star{}, wire * (n - 1));
  }
  auto const one_way = (slow.latency + 2 * slow.overhead).count();
  BOOST_TEST(time(chain{}, 2, 0) == 2 * (one_way + wire));
  BOOST_TEST(time(chain{}, 2, wire) == std::max(2 * one_way, wire));
  BOOST_TEST(time(chain{}, 2, wire / 2) == 2 * one_way + wire);
}

BOOST_AUTO_TEST_CASE(what_is_measured_predicts_the_simulator_and_picks_its_best) {
  int cells = 0;
  int good = 0;
  for (rank_type const n : some_sizes) {
    for (loggp const& nic : {fast, slow}) {
      auto const net = network_with_switch(n, nic);
      auto const world_outcome = tutti::simulate(net, n, [](auto& world) { return automatic(world).profile(); });
      host_map const hosts([&] {
        std::vector<rank_type> labels(n);
        for (rank_type r = 0; r < n; ++r) {
          labels[r] = r;
        }
        return labels;
      }());
      for (auto const& rank : world_outcome.results) {
        BOOST_TEST((rank.value() == world_outcome.results.front().value()));
      }
      network_profile p = world_outcome.results.front().value();
      BOOST_TEST(!p.aggregator.points.empty());
      BOOST_TEST(p.within_host.moves.empty(), "n " << n << ": processors were seen to move what a wire moves");
      p.hosts = n;
      p.between_hosts = p.between_hosts.points.empty() ? p.within_host : p.between_hosts;
      tuner t(p, hosts, memory_kind::ordinary);
      for (std::size_t const bytes : {4U, 1024U, 32U << 10, 1U << 20}) {
        auto const check = [&](auto op, double most_error) {
          auto const ways = t.predict(op, bytes, {.may_aggregate = true});
          double error = 0;
          double picked_time = INFINITY;
          double const least = least_simulated(net, op, n, bytes, ways, error, ways.front(), picked_time);
          BOOST_TEST(error < most_error, name(verify::kind_of<decltype(op)>)
                                             << ", n " << n << ", " << bytes << " bytes: off by " << error);
          ++cells;
          good += picked_time <= least * 1.1 ? 1 : 0;
          BOOST_TEST(picked_time <= least * 1.25, "n " << n << ", " << bytes << " bytes: " << picked_time << " for "
                                                       << ways.front().way.topology.topology_name()
                                                       << ", the best takes " << least);
        };
        check(op::allreduce{}, 0.1);
        check(op::broadcast{0}, 0.1);
        check(op::scan{}, 0.25);  // there are two schedules, so the error of one counts half
        check(op::exscan{}, 0.25);
      }
      if (n == 13) {
        auto const picks = [&](auto op, schedule_kind few_bytes, schedule_kind many_bytes,
                               schedule_requirements needs) {
          return t.choose(op, 4, needs).topology.kind() == few_bytes &&
                 t.choose(op, 1 << 20, needs).topology.kind() == many_bytes;
        };
        schedule_requirements const in_order{.in_rank_order = true};
        BOOST_TEST(picks(op::scan{}, schedule_kind::doubling, schedule_kind::chain, in_order));
        BOOST_TEST(picks(op::exscan{}, schedule_kind::doubling, schedule_kind::chain, in_order));
        BOOST_TEST(picks(op::alltoall{}, schedule_kind::doubling, schedule_kind::direct, {}));
        schedule_requirements const for_pair_lengths{.share_class = 1};
        BOOST_TEST(picks(op::alltoall{}, schedule_kind::direct, schedule_kind::direct, for_pair_lengths));
      }
    }
  }
  BOOST_TEST(good * 100 >= cells * 95, good << " of " << cells << " picks are within 10 % of the best");
}

// The rounds of `doubling` pay most among many ranks.
BOOST_AUTO_TEST_CASE(many_ranks_exchange_short_blocks_in_rounds) {
  constexpr rank_type n = 360;
  std::vector<rank_type> labels(n);
  host_map const hosts(labels);
  network_profile p{.ranks = n, .hosts = 1, .start = 100'000};
  p.within_host = {.latency = 1'000'000,
                   .points = {{.bytes = 4, .send = 300'000, .lead = 300'000, .receive = 300'000}}};
  tuner t(p, hosts, memory_kind::ordinary);
  BOOST_TEST((t.choose(op::alltoall{}, 4 * n, {}).topology.kind() == schedule_kind::doubling));
}

BOOST_AUTO_TEST_CASE(what_is_picked_is_the_first_of_all_that_are_priced) {
  std::mt19937 random(20261125);
  for (rank_type const n : {1U, 2U, 5U, 8U}) {
    for (int trial = 0; trial < 6; ++trial) {
      std::vector<rank_type> labels(n);
      for (rank_type r = 0; r < n; ++r) {
        labels[r] = trial % 3 == 0 ? 0U : r / static_cast<rank_type>(trial % 3);
      }
      host_map const hosts(labels);
      network_profile p{.ranks = n, .hosts = hosts.hosts(), .start = trial * 50'000};
      p.within_host = drawn_link(random);
      p.between_hosts = drawn_link(random);
      p.aggregator = trial % 2 == 0 ? network_profile::link{} : drawn_link(random);
      tuner const t(p, hosts, memory_kind::ordinary);
      auto const check = [&](auto op, std::size_t bytes, std::uint32_t share_class = 0) {
        tutti::schedule_requirements const needs{.may_aggregate = true, .share_class = share_class};
        auto const ways = t.predict(op, bytes, needs);
        auto const pick = t.fastest(op, bytes, needs);
        BOOST_TEST(pick.time == ways.front().time);
        BOOST_TEST((pick.way.topology.kind() == ways.front().way.topology.kind()));
        BOOST_TEST(pick.way.segment_bytes == ways.front().way.segment_bytes);
        profiled_network const network(p, hosts, verify::kind_of<decltype(op)>, memory_kind::ordinary);
        for (auto const& w : share_class == 0 ? ways : decltype(ways)()) {
          std::int64_t const least =
              timed_schedule(w.way.topology, op, n).least_time(network, bytes, w.way.segment_bytes);
          BOOST_TEST(least <= w.time);
        }
      };
      for (std::size_t const bytes : {8U, 65536U, 8U << 20}) {
        check(op::allreduce{}, bytes);
        check(op::broadcast{0}, bytes);
        check(op::reduce_scatter{}, bytes);
        check(op::alltoall{}, bytes);
        check(op::allgather{}, bytes, 1);
        check(op::scatter{0}, bytes, 2);
        check(op::scan{}, bytes);
        check(op::exscan{}, bytes);
      }
    }
  }
}
