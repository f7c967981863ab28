// SPDX-License-Identifier: Apache-2.0
// test: address (fibers of one thread)
//
// A rank that never comes, or calls something else, is named, and every rank ends.
#include <laws/device.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace {

using tutti::rank_type;
namespace device = tutti::detail::device;
using one_case = laws::device_case<tutti::op::allreduce, tutti::sum<float>>;
using one_rank = laws::device_rank<tutti::op::allreduce, tutti::sum<float>>;

/// Runs an allreduce on 4 ranks, of which the last one begins something else or nothing.
std::vector<device::failure_report> after_trouble(tutti::schedule_kind kind, bool it_comes) {
  one_case const c{{}, {}, 4, 100, false};
  std::vector<one_rank> ranks;
  for (rank_type r = 0; r != c.n; ++r) {
    ranks.emplace_back(c, tutti::selection(kind), r);
  }
  models::device_world world(c.n, 2, 1024);
  bool const ended = models::run_as_fibers(
      c.n, 2, 2, 5,
      [&](rank_type r, std::uint32_t group, models::fiber_group const& g) {
        device::operation what = ranks[r].operation();
        what.call = r == 3 ? 8 : 7;
        if (r != 3 || it_comes) {
          device::group_combining<tutti::sum<float>> const payload{};
          BOOST_TEST(!device::interpreter(g, world.of(r), group, 2, what, payload).run());
        }
      },
      100'000);
  BOOST_REQUIRE(ended);
  std::vector<device::failure_report> all;
  for (rank_type r = 0; r != c.n; ++r) {
    all.push_back(world.fault(r));
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes) {
  auto const seen = after_trouble(tutti::schedule_kind::direct, false);
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST((seen[r].kind == device::failure_kind::late));
    BOOST_TEST(seen[r].peer == 3U);
  }
}
BOOST_AUTO_TEST_CASE(a_rank_that_never_comes_to_its_neighbours) {
  auto const seen = after_trouble(tutti::schedule_kind::ring, false);
  for (rank_type r : {0U, 2U}) {
    BOOST_TEST((seen[r].kind == device::failure_kind::late));
    BOOST_TEST(seen[r].peer == 3U);
  }
  BOOST_TEST((seen[1].kind == device::failure_kind::late));  // of one that waits itself
}
BOOST_AUTO_TEST_CASE(a_rank_that_calls_something_else) {
  auto const seen = after_trouble(tutti::schedule_kind::direct, true);
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST((seen[r].kind == device::failure_kind::differs));
    BOOST_TEST(seen[r].peer == 3U);
  }
  BOOST_TEST((seen[3].kind == device::failure_kind::differs));
}
BOOST_AUTO_TEST_CASE(what_a_device_cannot_run) {
  using tutti::op::allreduce;
  BOOST_CHECK_THROW(device::step_list(tutti::selection(tutti::schedule_kind::ring), allreduce{}, 17, 0, {}),
                    tutti::precondition_error);
}
