// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/nn/report/gather_usage.hpp>
#include <tutti/nn/report/svg.hpp>
#include <tutti/nn/report/usage_meter.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace nn = tutti::nn;
using tutti::event;
using tutti::event_kind;

namespace {

constexpr tutti::time_point start = std::chrono::seconds(7);

tutti::time_point at(double ms) {
  return start + tutti::duration(static_cast<tutti::duration::rep>(ms * 1e6));
}

/// Steps of 10 ms: 6 of a gradient, 1 of an update, 3 of waiting. Each sends 100 bytes, and receives 100 in two parts.
nn::usage steps(int count) {
  nn::usage_meter meter(2, start);
  for (int i = 0; i != count; ++i) {
    double const begin = 10.0 * i;
    auto const sequence = static_cast<std::uint64_t>(i);
    meter.record({.kind = event_kind::enter, .time = at(begin), .text = "gradient"});
    meter.record({.kind = event_kind::leave, .time = at(begin + 6)});
    meter.record(
        {.kind = event_kind::send, .time = at(begin + 6), .number = {.sequence = sequence}, .peer = 1, .bytes = 100});
    for (double const later : {7.0, 8.0}) {
      meter.record({.kind = event_kind::receive,
                    .time = at(begin + later),
                    .number = {.sequence = sequence},
                    .peer = 1,
                    .bytes = 50});
    }
    meter.record({.kind = event_kind::enter, .time = at(begin + 9), .text = "update"});
    meter.record({.kind = event_kind::leave, .time = at(begin + 10)});
  }
  return meter.result(at(10.0 * count));
}

void check_sum(nn::usage const& tested_usage, int count) {
  auto const sum = tested_usage.sum();
  BOOST_TEST(std::abs(sum.seconds - 0.01 * count) < 1e-6);
  BOOST_TEST(std::abs(sum.computing - 0.006 * count) < 1e-6);
  BOOST_TEST(std::abs(sum.updating - 0.001 * count) < 1e-6);
  BOOST_TEST(std::abs(sum.bytes_sent - 100 * count) < 1e-6);
  BOOST_TEST(std::abs(sum.bytes_received - 100 * count) < 1e-6);
  BOOST_TEST(std::abs(sum.messages_sent - count) < 1e-6);
  BOOST_TEST(std::abs(sum.messages_received - count) < 1e-6);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_rank_did_adds_up_however_long_it_took) {
  for (int const count : {1, 3, 25, 26, 1000, 12345}) {
    auto const tested_usage = steps(count);
    BOOST_TEST(tested_usage.bins.size() <= 256U);
    check_sum(tested_usage, count);
    check_sum(tested_usage.in_spans_of(tested_usage.width), count);
    check_sum(tested_usage.in_spans_of(3.7 * tested_usage.width), count);
    for (auto const& bin : tested_usage.bins) {
      BOOST_TEST(bin.computing + bin.updating <= bin.seconds + 1e-9);
      BOOST_TEST(bin.resident > 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(spans_are_where_things_happened) {
  auto const tested_usage = steps(2);  // each span is 1 ms
  BOOST_REQUIRE(tested_usage.bins.size() >= 20U);
  for (std::size_t i = 0; i != 20; ++i) {
    BOOST_TEST(std::abs(tested_usage.bins[i].computing - (i % 10 < 6 ? 1e-3 : 0)) < 1e-7, i);
    BOOST_TEST(std::abs(tested_usage.bins[i].updating - (i % 10 == 9 ? 1e-3 : 0)) < 1e-7, i);
    BOOST_TEST(tested_usage.bins[i].bytes_sent == (i % 10 == 6 ? 100 : 0), i);
    BOOST_TEST(tested_usage.bins[i].messages_received == (i % 10 == 7 ? 1 : 0), i);
  }
  auto late = tested_usage;
  late.shift = 0.005;  // this rank began later than the training
  std::vector<nn::usage> ranks{late};
  nn::align(ranks);
  BOOST_TEST(ranks[0].bins[4].seconds < 1e-9);
  BOOST_TEST(std::abs(ranks[0].bins[5].computing - 1e-3) < 1e-6);
}

BOOST_AUTO_TEST_CASE(rank_0_gets_those_of_all_ranks_and_a_picture_has_a_row_for_each) {
  std::vector<nn::usage> usages;
  auto const results = tutti::spawn<tutti::loopback>(3, [&](auto& world) {
    nn::usage_meter meter(world.size());
    auto const now = tutti::steady_now();
    meter.record({.kind = event_kind::enter, .time = now, .text = "test"});
    meter.record({.kind = event_kind::leave, .time = now + std::chrono::milliseconds(10 * (world.rank() + 1))});
    auto gathered_usages = nn::gather_usage(world, meter);
    if (world.rank() == 0) {
      usages = std::move(gathered_usages);
    }
    return 0;
  });
  for (auto const& result : results) {
    BOOST_REQUIRE(result.has_value());
  }
  BOOST_REQUIRE(usages.size() == 3U);
  for (std::size_t r = 0; r != 3; ++r) {
    BOOST_TEST(std::abs(usages[r].sum().computing - 0.01 * static_cast<double>(r + 1)) < 1e-6);
    BOOST_TEST(usages[r].width == usages[0].width);
    usages[r].role = "worker " + std::to_string(r);
  }
  nn::history history;
  history.epochs.emplace_back().seconds = 1;
  history.faults.push_back({0.02, 3, 2});
  auto const svg = nn::plot_svg(history, {}, usages);
  BOOST_TEST(svg.find(">activity of the ranks over time<") != svg.npos);
  BOOST_TEST(svg.find(">worker 2: % of time; ") != svg.npos);
  BOOST_TEST(svg.find("/s; 0 messages out, 0 in<") != svg.npos);
  BOOST_TEST(nn::plot_svg(history, {}).find("over time") == svg.npos);
  usages.resize(12, usages[0]);
  usages[0].role = "server 0";
  for (std::size_t r = 3; r != usages.size(); ++r) {
    usages[r].role = "worker " + std::to_string(r);
  }
  auto const large_svg = nn::plot_svg(history, {}, usages);
  BOOST_TEST(large_svg.find(">mean of 11 workers: % of time; ") != large_svg.npos);
  BOOST_TEST(large_svg.find(">mean of 1 servers: ") == large_svg.npos);
  BOOST_TEST(large_svg.find(">server 0: % of time; ") != large_svg.npos);
}
