// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, one thread)
#include <laws/all_topologies.hpp>
#include <laws/run_as.hpp>
#include <simulation/loggp_network.hpp>
#include <simulation/worlds.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/simulation/simulate_schedule.hpp>
#include <tutti/simulation/simulated_report.hpp>
#include <tutti/simulation/simulation_options.hpp>
#include <tutti/topology/cost.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

// Times of operations in virtual time.

namespace {

using namespace support;
using tutti::picoseconds;
using tutti::rank_type;
using tutti::simulate_schedule;
using tutti::simulation_options;
using tutti::op::allreduce;

constexpr std::int64_t latency = 1'000'000;
constexpr std::int64_t gap = 80;

/// Simulated and modelled time of an operation, in picoseconds, on one switch.
template <class Topology, class Op>
std::pair<std::int64_t, std::int64_t> simulated_and_modelled(Topology topology, Op op, rank_type n, std::size_t bytes) {
  auto const report = simulate_schedule(one_switch(n, fast), topology, op, n, {bytes, 1});
  return {report.time().count(),
          static_cast<std::int64_t>(tutti::price(topology, op, n, bytes, static_cast<std::uint64_t>(latency),
                                                 static_cast<std::uint64_t>(gap)))};
}

constexpr rank_type ranks[]{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 18, 32, 34, 50, 100, 128};
constexpr std::size_t byte_counts[]{0, 1, 1000, 16'384, 65'536, 1'000'003};

/// Simulated times in percent of modelled ones, the minimum and the maximum over `ranks` and `byte_counts`, rounded.
struct deviation {
  std::string_view topology;
  std::string_view operation;
  long minimum = 100;
  long maximum = 100;
};

/// The schedules in which messages of different steps meet at one interface: there, the simulated interface serves the
/// first arrival, and the cost model, which has no common clock, serves the message that its rank wants first. Examples
/// are the roots of binomial trees, `double_tree` where its trees meet, a butterfly that folds the ranks above a power
/// of two, and scans by `doubling` and `direct` with ranks that have no partner in a step and run ahead. The times of
/// all other schedules are equal to the picosecond.
constexpr deviation deviations[]{
    {"doubling", "reduce", 83, 100},        {"doubling", "gather", 84, 100},
    {"doubling", "scan", 92, 107},          {"doubling", "exscan", 95, 106},
    {"double_tree", "allreduce", 86, 107},  {"double_tree", "reduce", 91, 116},
    {"double_tree", "broadcast", 100, 105}, {"butterfly", "allreduce", 100, 111},
    {"butterfly", "broadcast", 100, 139},   {"butterfly", "reduce_scatter", 100, 119},
    {"direct", "reduce", 100, 100},         {"direct", "broadcast", 100, 125},
    {"direct", "alltoall", 100, 146},
};

/// Compares simulation and model: equal to the picosecond, or with the listed deviation, which `--log_level=message`
/// prints as a row of bench/results/simulated_networks.md.
template <class Topology, class Op>
std::string agrees(Topology topology, Op op, std::string_view op_name) {
  auto const* const expected = std::ranges::find_if(
      deviations, [&](deviation const& d) { return d.topology == Topology::name && d.operation == op_name; });
  deviation extremes{Topology::name, op_name};
  std::ostringstream text;
  text << Topology::name << " | " << op_name << " | ";
  if constexpr (tutti::offers<Topology, Op>) {
    for (rank_type const n : ranks) {
      for (std::size_t bytes : byte_counts) {
        bytes *= std::same_as<Op, tutti::op::alltoall> ? n : 1U;
        auto const [simulated_time, modelled_time] = simulated_and_modelled(topology, op, n, bytes);
        if (expected == std::end(deviations) && simulated_time != modelled_time) {
          text << n << " ranks, " << bytes << " bytes: " << simulated_time << " is not " << modelled_time;
          return text.str();
        }
        if (modelled_time != 0) {
          long const percent =
              std::lround(100 * static_cast<double>(simulated_time) / static_cast<double>(modelled_time));
          extremes.minimum = (std::min)(extremes.minimum, percent);
          extremes.maximum = (std::max)(extremes.maximum, percent);
        }
      }
    }
    if (expected != std::end(deviations)) {
      text << extremes.minimum << " | " << extremes.maximum;
      BOOST_TEST_MESSAGE("| " << text.str() << " |");
      return extremes.minimum == expected->minimum && extremes.maximum == expected->maximum
                 ? ""
                 : "not as listed: " + text.str();
    }
  }
  return {};
}

/// Compares the simulator with the times by which `automatic` picks, for blocks that are cut into segments: equal ones,
/// and one long block among short ones. Several segments of a rank may act at one time, and then their order counts.
template <class Topology, class Op>
std::string agrees_in_segments(Topology topology, Op op, char const* op_name) {
  if constexpr (tutti::offers<Topology, Op>) {
    tutti::loggp const nics[] = {{microseconds(1), nanoseconds(300), nanoseconds(0), tutti::at_gigabits(100)},
                                 {microseconds(50), microseconds(2), nanoseconds(0), tutti::at_gigabits(1)}};
    for (rank_type const n : {2U, 3U, 6U, 8U, 13U, 16U, 17U}) {
      tutti::detail::timed_schedule model(topology, op, n);
      for (bool const is_uneven : {false, true}) {
        if (is_uneven && !tutti::takes_partition<Op>) {
          continue;
        }
        std::vector<std::size_t> lengths(n, is_uneven ? 1000 : 65'536);
        lengths[n / 2] = 65'536;
        tutti::partition const blocks(lengths);
        tutti::partition const* const uneven_blocks = is_uneven ? &blocks : nullptr;
        for (tutti::loggp const& nic : nics) {
          for (std::size_t const segment : {4096U, 16'384U, 65'536U}) {
            auto const modelled_time =
                model.time(loggp_network{nic, picoseconds(0)}, blocks.count(), segment, uneven_blocks);
            auto const simulated_time =
                simulate_schedule(one_switch(n, nic), topology, op, n, {blocks.count(), 1, segment, uneven_blocks})
                    .time()
                    .count();
            if (modelled_time * 100 < simulated_time * 75 || modelled_time * 100 > simulated_time * 140) {
              return std::string(Topology::name) + " " + op_name + ", n " + std::to_string(n) + ", segment " +
                     std::to_string(segment) + (is_uneven ? ", uneven: " : ": ") + std::to_string(simulated_time) +
                     " is not " + std::to_string(modelled_time);
            }
          }
        }
      }
    }
  }
  return {};
}

/// End times of the ranks.
template <class F>
std::vector<picoseconds> times(tutti::simulated_network const& net, rank_type n, F f,
                               simulation_options const& options = {}) {
  auto const world_outcome = tutti::simulate(net, n, f, options);
  for (auto const& r : world_outcome.results) {
    BOOST_TEST(r.has_value(), r.failure().text);
  }
  return world_outcome.report.end_times;
}

/// Rank 0 sends messages of one length to rank 1.
auto sending(int messages, std::size_t bytes) {
  return [=](auto& world) {
    std::vector<std::byte> v(bytes);
    tutti::send give{world};
    tutti::recv take{world};
    for (int k = 0; k < messages && world.rank() < 2; ++k) {
      world.rank() == 0 ? give(v, 1) : take(v, 0);
    }
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_takes_what_loggp_says) {
  tutti::loggp const nic{nanoseconds(1000), nanoseconds(100), nanoseconds(700), picoseconds(10)};
  auto const single = times(tutti::one_switch(2, nic), 2, sending(1, 5000));
  BOOST_TEST((single[0] == nanoseconds(100)));                    // o
  BOOST_TEST((single[1] == nanoseconds(100 + 1000 + 50 + 100)));  // o + L + bG + o
  auto const three = times(tutti::one_switch(2, nic), 2, sending(3, 5000));
  BOOST_TEST((three[1] == nanoseconds(100 + 2 * 700 + 1000 + 50 + 100)));  // starts one gap apart
  auto const long_ones = times(tutti::one_switch(2, nic), 2, sending(3, 500'000));
  BOOST_TEST((long_ones[1] == nanoseconds(100 + 3 * 5000 + 1000 + 100)));  // starts one transfer apart
}

BOOST_AUTO_TEST_CASE(neighbours_on_a_host_do_not_use_the_interface) {
  tutti::simulated_network net = tutti::one_switch(1, fast);
  net.memory = {nanoseconds(10), nanoseconds(0), nanoseconds(0), picoseconds(1)};
  auto const world_outcome = tutti::simulate(net, 2, sending(1, 1000));
  BOOST_TEST((world_outcome.report.end_times[1] == nanoseconds(11)));
  BOOST_TEST(world_outcome.report.nics[0].outgoing.messages == 0U);
}

BOOST_AUTO_TEST_CASE(ranks_of_a_host_share_its_interface) {
  auto const net = tutti::one_switch(2, fast);
  simulation_options options;
  options.place = {0, 0, 1, 1};
  auto const end_times = times(
      net, 4,
      [](auto& world) {
        std::vector<std::byte> v(100'000);
        world.rank() < 2 ? tutti::send{world}(v, world.rank() + 2) : tutti::recv{world}(v, world.rank() - 2);
      },
      options);
  BOOST_TEST((end_times[2] == microseconds(1 + 8)));
  BOOST_TEST((end_times[3] == microseconds(1 + 16)));
}

BOOST_AUTO_TEST_CASE(arithmetic_takes_time) {
  tutti::simulated_network net = tutti::one_switch(2, fast);
  auto const sum = [](auto& world) {
    std::vector<float> v(250'000, 1);
    tutti::allreduce{world, tutti::doubling{}, tutti::sum<float>{}}(v);
  };
  BOOST_TEST((times(net, 2, sum)[0] == microseconds(81)));
  net.combine = picoseconds(100);
  BOOST_TEST((times(net, 2, sum)[0] == microseconds(181)));
}

BOOST_AUTO_TEST_CASE(computing_hides_what_has_been_started) {
  auto const overlapping = [](auto& world) {
    tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<float>{}};
    std::vector<float> v(250'000, 1);
    auto pending = sum.start(v);
    world.transport().spend(microseconds(60));
    pending.wait();
    world.transport().spend(microseconds(10));
  };
  BOOST_TEST((times(tutti::one_switch(2, fast), 2, overlapping)[0] == microseconds(81 + 10)));
}

BOOST_AUTO_TEST_CASE(simulator_and_cost_model_agree) {
  auto const complaint = laws::topologies_with_aggregators::first_complaint([](auto topology) -> std::string {
    std::string bad;
    auto const check = [&](auto op, std::string_view op_name) {
      bad = bad.empty() ? agrees(topology, op, op_name) : bad;
    };
    check(allreduce{}, "allreduce");
    check(tutti::op::reduce{0}, "reduce");
    check(tutti::op::broadcast{0}, "broadcast");
    check(tutti::op::reduce_scatter{}, "reduce_scatter");
    check(tutti::op::allgather{}, "allgather");
    check(tutti::op::gather{0}, "gather");
    check(tutti::op::scatter{0}, "scatter");
    check(tutti::op::alltoall{}, "alltoall");
    check(tutti::op::scan{}, "scan");
    check(tutti::op::exscan{}, "exscan");
    return bad;
  });
  BOOST_TEST(complaint == "");
  for (rank_type const n : {1U, 2U, 4U, 8U, 16U, 64U, 256U}) {
    auto const [simulated_time, modelled_time] = simulated_and_modelled(tutti::butterfly{}, allreduce{}, n, 1'000'003);
    BOOST_TEST(simulated_time == modelled_time);
  }
}

BOOST_AUTO_TEST_CASE(sizes_tell_the_time_of_true_values) {
  auto const net = busy_cluster();
  auto const complaint = laws::topologies_with_aggregators::first_complaint([&](auto topology) -> std::string {
    for (rank_type const n : {2U, 5U, 10U, 16U}) {
      for (std::size_t const segment : {std::size_t{0}, std::size_t{4000}}) {
        auto const real = tutti::simulate(net, n, [&](auto& world) {
          tutti::allreduce sum{world, laws::run_as(world, topology), tutti::sum<float>{}};
          sum.segment(segment);
          std::vector<float> input(10'007, 1);
          std::vector<float> output(input.size());
          sum(input, output);
        });
        auto const sizes = simulate_schedule(net, topology, allreduce{}, n, {10'007, 4, segment});
        if (real.report.end_times != sizes.end_times || real.report.nics != sizes.nics) {
          return std::string(topology.name) + ", n " + std::to_string(n) + ", segment " + std::to_string(segment);
        }
      }
    }
    return {};
  });
  BOOST_TEST(complaint == "");
}

BOOST_AUTO_TEST_CASE(partitions_take_the_time_of_true_values) {
  auto const net = busy_cluster();
  tutti::partition const blocks{0, 70'000, 3, 1000, 2004};
  auto const complaint = laws::all_topologies::first_complaint([&](auto topology) -> std::string {
    if constexpr (tutti::offers<decltype(topology), tutti::op::allgather>) {
      for (std::size_t const segment : {std::size_t{0}, std::size_t{4000}}) {
        auto const real = tutti::simulate(net, blocks.size(), [&](auto& world) {
          tutti::allgather collect{world, laws::run_as(world, topology)};
          collect.segment(segment);
          std::vector<float> input(blocks.length(world.rank()), 1);
          std::vector<float> output(blocks.count());
          collect(input, output, blocks);
        });
        auto const sizes = simulate_schedule(net, topology, tutti::op::allgather{}, blocks.size(),
                                             {blocks.count(), 4, segment, &blocks});
        if (real.report.end_times != sizes.end_times || real.report.nics != sizes.nics) {
          return std::string(topology.name) + ", segment " + std::to_string(segment);
        }
      }
    }
    return {};
  });
  BOOST_TEST(complaint == "");
}

BOOST_AUTO_TEST_CASE(simulator_and_timing_agree_on_segments_of_blocks) {
  auto const complaint = laws::all_topologies::first_complaint([](auto topology) -> std::string {
    std::string bad;
    auto const check = [&](auto op, char const* op_name) {
      bad = bad.empty() ? agrees_in_segments(topology, op, op_name) : bad;
    };
    check(tutti::op::reduce_scatter{}, "reduce_scatter");
    check(tutti::op::allgather{}, "allgather");
    check(tutti::op::gather{0}, "gather");
    check(tutti::op::scatter{0}, "scatter");
    check(tutti::op::alltoall{}, "alltoall");
    return bad;
  });
  BOOST_TEST(complaint == "");
}

/// The time of an allgather in which one of `n` ranks has nine tenths of `count` elements of four bytes.
template <class Topology = tutti::ring>
std::int64_t uneven_time(rank_type n, std::size_t count, std::size_t segment) {
  std::vector<std::size_t> block_lengths(n, count / 10 / (n - 1));
  block_lengths[2] += count / 10 * 9;
  tutti::partition const blocks(block_lengths);
  return simulate_schedule(one_switch(n, fast), Topology{}, tutti::op::allgather{}, n,
                           {blocks.count(), 4, segment, &blocks})
      .time()
      .count();
}

/// A topology that picks its schedule, always the ring, and no segments.
struct ring_picker : tutti::ring {
  using schedule = tutti::ring;
  template <class Op>
  [[nodiscard]] tutti::schedule_choice<schedule> choose(Op, std::size_t, tutti::schedule_requirements) const {
    return {};
  }
};

BOOST_AUTO_TEST_CASE(a_long_block_is_cut_into_segments) {
  tutti::partition const blocks{1000, 1000, 1 << 18, 1000};
  auto const report_of = [&](auto topology) {
    return tutti::simulate(one_switch(blocks.size(), fast), blocks.size(),
                           [&](auto& world) {
                             std::vector<float> const input(blocks.length(world.rank()), 1);
                             std::vector<float> output(blocks.count());
                             tutti::allgather{world, topology}(input, output, blocks);
                           })
        .report;
  };
  auto const report = report_of(tutti::ring{});
  BOOST_TEST(report.messages > 12U);
  BOOST_TEST((report == report_of(ring_picker{})));
  auto const cut_time = uneven_time(8, 1 << 21, 0);
  auto const whole_time = uneven_time(8, 1 << 21, SIZE_MAX);
  auto const equal_time =
      simulate_schedule(one_switch(8, fast), tutti::ring{}, tutti::op::allgather{}, 8, {1 << 21, 4}).time().count();
  BOOST_TEST_MESSAGE("allgather of 8 MiB, ring of 8 ranks, ps: 90 % at one rank "
                     << cut_time << ", in one piece " << whole_time << "; equal blocks " << equal_time);
  BOOST_TEST(cut_time * 3 < whole_time);
  // Segments of a block that a rank sends several times would save nothing.
  BOOST_TEST(uneven_time<tutti::doubling>(8, 1 << 21, 0) == uneven_time<tutti::doubling>(8, 1 << 21, SIZE_MAX));
  BOOST_TEST(uneven_time<tutti::doubling>(8, 1 << 21, 0) < uneven_time<tutti::doubling>(8, 1 << 21, 1 << 19) * 11 / 10);
  if constexpr (sizeof(std::size_t) == 8) {  // more than 2^32 bytes: within a tenth of the time of an interface
    std::size_t const count = std::size_t{3} << 30;
    BOOST_TEST(uneven_time(4, count, 0) < static_cast<std::int64_t>(count) * 4 * gap / 10 * 11);
  }
}

BOOST_AUTO_TEST_CASE(incast_serialises) {
  constexpr std::size_t bytes = 1'000'000;
  for (rank_type const n : {2U, 9U, 65U}) {
    auto const report = simulate_schedule(one_switch(n, fast), tutti::star{}, tutti::op::reduce{0}, n, {bytes, 1});
    std::int64_t const transfer = static_cast<std::int64_t>(bytes) * gap;
    BOOST_TEST(report.time().count() == latency + (n - 1) * transfer);
    BOOST_TEST(report.nics[0].incoming.busy.count() == (n - 1) * transfer);
    // message k waits for k others
    BOOST_TEST(report.nics[0].incoming.queueing_time.count() == (n - 1) * (n - 2) / 2 * transfer);
    BOOST_TEST(report.busiest().name == "host 0, in");
  }
}

BOOST_AUTO_TEST_CASE(placement_decides_what_a_trunk_costs) {
  constexpr rank_type n = 16;
  constexpr std::size_t bytes = 1'600'000;
  auto const flat = one_switch(n, fast);
  // the trunk is as fast as one host
  auto const two = tutti::two_switches(n / 2, fast, {picoseconds(0), fast.per_byte});
  simulation_options good;
  good.place = in_order(two, n);
  simulation_options bad;
  bad.place = dealt(two, n);
  auto const run = [&](auto topology, auto const& net, simulation_options const& options) {
    return simulate_schedule(net, topology, allreduce{}, n, {bytes, 1}, options);
  };
  auto const trunk_contention = [](tutti::simulated_report const& r) {
    return r.uplinks[1].outgoing.queueing_time + r.uplinks[1].incoming.queueing_time;
  };

  // A ring sends one message a step over the trunk each way, and is not slowed down.
  auto const ring_flat = run(tutti::ring{}, flat, {});
  auto const ring_good = run(tutti::ring{}, two, good);
  BOOST_TEST((ring_good.time() == ring_flat.time()));
  BOOST_TEST((trunk_contention(ring_good) == picoseconds(0)));

  // With dealt ranks, all messages of the ring cross the trunk, and eight share one host's rate.
  auto const ring_bad = run(tutti::ring{}, two, bad);
  BOOST_TEST((trunk_contention(ring_bad) > picoseconds(0)));
  BOOST_TEST((ring_bad.time() > 6 * ring_flat.time() && ring_bad.time() < 8 * ring_flat.time()));
  BOOST_TEST(ring_bad.uplinks[1].outgoing.messages == ring_bad.messages / 2);

  // A butterfly always has steps whose partners are on the other side: those with the smallest blocks if ranks are in
  // order, those with half of the vector if they are dealt.
  auto const butterfly_flat = run(tutti::butterfly{}, flat, {});
  auto const butterfly_good = run(tutti::butterfly{}, two, good);
  auto const butterfly_bad = run(tutti::butterfly{}, two, bad);
  BOOST_TEST((trunk_contention(butterfly_good) > picoseconds(0)));
  BOOST_TEST((trunk_contention(butterfly_bad) > picoseconds(0)));
  BOOST_TEST((butterfly_good.time() > ring_good.time()));
  BOOST_TEST((butterfly_good.time() > butterfly_flat.time() && butterfly_bad.time() > 3 * butterfly_good.time()));

  // A trunk as fast as all hosts together does not slow anything down.
  auto const wide = tutti::two_switches(n / 2, fast, {picoseconds(0), fast.per_byte / (n / 2)});
  BOOST_TEST((run(tutti::ring{}, wide, good).time() == ring_flat.time()));
  BOOST_TEST((run(tutti::butterfly{}, wide, bad).time() < butterfly_bad.time()));
}

BOOST_AUTO_TEST_CASE(slow_links_pass_on_what_they_can) {
  auto const net = tutti::leaves_and_spine(3, 1, fast, {nanoseconds(300), 10 * fast.per_byte});
  auto const world_outcome = tutti::simulate(net, 3, sending(2, 1000));
  // the head takes two links and the latency; then two messages follow at the rate of the uplink
  BOOST_TEST((world_outcome.report.end_times[1] == nanoseconds(300 + 300 + 1000 + 2 * 800)));
  BOOST_TEST(world_outcome.report.uplinks[1].outgoing.bytes == 2000U);
  BOOST_TEST(world_outcome.report.uplinks[2].incoming.bytes == 2000U);
  BOOST_TEST(world_outcome.report.uplinks[3].incoming.bytes == 0U);
}

BOOST_AUTO_TEST_CASE(segments_hide_hops) {
  constexpr rank_type n = 9;
  constexpr std::size_t bytes = 1'000'000;
  for (std::size_t const segments : {1U, 4U, 8U, 50U}) {
    auto const report = simulate_schedule(one_switch(n, fast), tutti::chain{}, tutti::op::broadcast{0}, n,
                                          {bytes, 1, segments == 1 ? 0 : bytes / segments});
    std::int64_t const segment_time = static_cast<std::int64_t>(bytes / segments) * gap;
    std::int64_t const pipeline =
        (n - 1) * (latency + segment_time) + static_cast<std::int64_t>(segments - 1) * segment_time;
    BOOST_TEST(report.time().count() == pipeline);
  }
}

BOOST_AUTO_TEST_CASE(slowness_pauses_and_lags_cost_what_they_say) {
  tutti::loggp const nic{nanoseconds(1000), nanoseconds(100), nanoseconds(0), picoseconds(10)};
  auto const net = tutti::one_switch(3, nic);
  auto const end = [&](simulation_options const& options) { return times(net, 3, sending(1, 1000), options)[1]; };
  picoseconds const undisturbed_time = nanoseconds(100 + 1000 + 10 + 100);
  simulation_options options;
  BOOST_TEST((end(options) == undisturbed_time));
  options.faults.slow = {{0, 3}};
  BOOST_TEST((end(options) == undisturbed_time + nanoseconds(200)));
  options.faults = {};
  options.faults.lags = {{1, nanoseconds(50)}};
  BOOST_TEST((end(options) == undisturbed_time + nanoseconds(50)));
  options.faults = {};
  options.faults.pauses = {{1, nanoseconds(500), nanoseconds(2000)}};
  BOOST_TEST((end(options) == nanoseconds(2500 + 100)));
  options.faults = {};
  options.faults.pauses = {{2, nanoseconds(1), nanoseconds(2000)}};
  BOOST_TEST((end(options) == undisturbed_time));
}

BOOST_AUTO_TEST_CASE(losses_cost_a_resend_each_and_hold_up_those_behind) {
  constexpr int messages = 200;
  simulation_options options;
  options.faults.loss = 0.1;
  options.faults.resend = microseconds(100);
  auto const world_outcome = tutti::simulate(one_switch(2, fast), 2, sending(messages, 100), options);
  BOOST_TEST(world_outcome.results[1].has_value());
  BOOST_TEST(world_outcome.report.messages == 200U);
  BOOST_TEST((world_outcome.report.losses > 5U && world_outcome.report.losses < 50U));
  BOOST_TEST(world_outcome.report.nics[0].outgoing.messages == messages + world_outcome.report.losses);
  BOOST_TEST(world_outcome.report.nics[1].incoming.messages == 200U);
  BOOST_TEST((world_outcome.report.time() >= microseconds(100)));
}

BOOST_AUTO_TEST_CASE(the_same_happens_each_time) {
  simulation_options options;
  options.faults.loss = 0.05;
  options.faults.slow = {{3, 1.7}};
  auto const run = [&](std::uint64_t seed) {
    options.faults.seed = seed;
    return simulate_schedule(busy_cluster(), tutti::butterfly{}, allreduce{}, 20, {10'000}, options);
  };
  auto const first = run(1);
  BOOST_TEST((first == run(1)));
  BOOST_TEST(!(first == run(2)));
}

BOOST_AUTO_TEST_CASE(worlds_may_be_very_large) {
  constexpr rank_type n = 65'536;
  auto const report = simulate_schedule(one_switch(n, fast), tutti::doubling{}, allreduce{}, n, {1000, 1});
  BOOST_TEST(report.messages == 16ULL * n);
  BOOST_TEST(report.time().count() == 16 * (latency + 1000 * gap));
}
