// SPDX-License-Identifier: Apache-2.0
// test: plain (one thread)
#include <tutti/detail/tuning/explanation.hpp>
#include <tutti/detail/tuning/probe.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;
using edges = std::map<std::pair<rank_type, rank_type>, int>;

/// Runs the probes of all ranks with unbuffered messages: a step ends when its peers have reached theirs. Returns the
/// number of messages over each edge; an empty map if the probes deadlock.
edges run(probe::kind kind, std::vector<rank_type> const& group, rank_type ranks, std::uint32_t repeats) {
  std::vector<probe> probes;
  std::vector<std::uint32_t> at(ranks, 0);
  std::vector<std::vector<bool>> half(ranks, std::vector<bool>(2, false));  // sent and received, for the current step
  for (rank_type r = 0; r != ranks; ++r) {
    probes.emplace_back(kind, group, r, repeats, action::copy);
  }
  auto const current = [&](rank_type r) { return probes[r].at(op::allreduce{}, ranks, r, at[r]); };
  auto const busy = [&](rank_type r) { return at[r] != probes[r].steps(op::allreduce{}, ranks, r); };
  edges message_counts;
  for (bool has_progressed = true; has_progressed;) {
    has_progressed = false;
    for (rank_type r = 0; r != ranks; ++r) {
      if (busy(r) && current(r).sends() && !half[r][0]) {
        rank_type const receiver = current(r).send.peer;
        if (busy(receiver) && current(receiver).receives() && current(receiver).receive.peer == r &&
            !half[receiver][1]) {
          half[r][0] = half[receiver][1] = has_progressed = true;
          ++message_counts[{r, receiver}];
        }
      }
    }
    for (rank_type r = 0; r != ranks; ++r) {
      if (busy(r) && half[r][0] == current(r).sends() && half[r][1] == current(r).receives()) {
        half[r].assign(2, false);
        ++at[r];
        has_progressed = true;
      }
    }
  }
  for (rank_type r = 0; r != ranks; ++r) {
    if (busy(r)) {
      return {};
    }
  }
  return message_counts;
}

BOOST_AUTO_TEST_CASE(probes_end_and_go_where_they_are_to) {
  for (rank_type n = 2; n <= 7; ++n) {
    std::vector<rank_type> group(n);
    std::iota(group.begin(), group.end(), 1U);  // rank 0 and the last one are in no group
    for (auto const& [kind, forth, back] : {std::tuple{probe::kind::shift, 3, 0}, std::tuple{probe::kind::swap, 3, 0},
                                            std::tuple{probe::kind::loan, 3, 3}, std::tuple{probe::kind::relay, 3, 0},
                                            std::tuple{probe::kind::trade, 1, 0}}) {
      auto const message_counts = run(kind, group, n + 2, 3);
      int total = 0;
      for (auto const& [edge, count] : message_counts) {
        BOOST_TEST((edge.first != 0 && edge.first != n + 1));
        total += count;
      }
      BOOST_TEST(total == (forth + back) * static_cast<int>(n), "kind " << static_cast<int>(kind) << ", " << n);
    }
    auto const solo = run(probe::kind::solo, group, n + 2, 3);
    BOOST_TEST(solo.size() == n / 2 * 2);
    for (rank_type i = 0; i + 1 < n; i += 2) {
      BOOST_TEST(solo.at({group[i], group[i + 1]}) == 3);
      BOOST_TEST(solo.at({group[i + 1], group[i]}) == 3);
    }
    auto const train = run(probe::kind::train, group, n + 2, 4);
    BOOST_TEST(train.size() == n / 2);
    for (rank_type i = 0; i + 1 < n; i += 2) {
      BOOST_TEST(train.at({group[i], group[i + 1]}) == 4);
    }
    auto const flood = run(probe::kind::flood, group, n + 2, 5);
    BOOST_TEST(flood.size() == n / 2 * 2);
    for (rank_type i = 0; i + 1 < n; i += 2) {
      BOOST_TEST(flood.at({group[i], group[i + 1]}) == 5);
      BOOST_TEST(flood.at({group[i + 1], group[i]}) == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(times_and_sizes_in_words) {
  BOOST_TEST(explanation::in_words(std::int64_t{12'340'000}) == "12.3 us");
  BOOST_TEST(explanation::in_words(std::int64_t{4'500'000'000}) == "4.5 ms");
  BOOST_TEST(explanation::bytes_in_words(1000) == "1000 bytes");
  BOOST_TEST(explanation::bytes_in_words(0) == "0 bytes");
  BOOST_TEST(explanation::bytes_in_words(64 << 10) == "64 KiB");
  BOOST_TEST(explanation::bytes_in_words(3 << 20) == "3 MiB");
  BOOST_TEST(explanation::percent(1, 3) == 33);
  BOOST_TEST(explanation::percent(1, 0) == 0);
}

}  // namespace
