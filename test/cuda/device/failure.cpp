// SPDX-License-Identifier: Apache-2.0
// test: address (fibers of one thread)
//
// Every rank ends and names the rank that never arrives, or calls something else.
#include <laws/device.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace {

using tutti::rank_type;
namespace device = tutti::detail::device;
using one_case = laws::device_case<tutti::op::allreduce, tutti::sum<float>>;
using one_rank = laws::device_rank<tutti::op::allreduce, tutti::sum<float>>;

/// Runs an allreduce on 4 ranks; the last one starts a different operation or none.
std::vector<tutti::fault> after_trouble(tutti::schedule_kind kind, bool it_comes) {
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
        what.what.count = r == 3 ? 8 : 7;
        if (r != 3 || it_comes) {
          using payload = device::group_combining<tutti::sum<float>>;
          for (what.number = 5; what.number != 7; ++what.number) {
            run_group(g, device::by_steps<payload>{world.board_of(r), what, 2, 4, {}}, group);
          }
        }
      },
      100'000);
  BOOST_REQUIRE(ended);
  std::vector<tutti::fault> all;
  for (rank_type r = 0; r != c.n; ++r) {
    all.push_back(world.stop(r));
    BOOST_TEST(world.first_failed(r) == (r != 3 || it_comes ? 5U : 0U));
    BOOST_TEST(!world.busy(r));
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes) {
  for (auto const kind :
       {tutti::schedule_kind::direct, tutti::schedule_kind::ring, tutti::schedule_kind::binary_tree}) {
    for (tutti::fault const& seen : after_trouble(kind, false)) {
      BOOST_TEST((seen.kind == tutti::failure::deadline));
      BOOST_TEST(seen.culprit == 3U, "also where ranks wait for others that wait for it");
      BOOST_TEST(seen.reporter < 3U);
    }
  }
}
BOOST_AUTO_TEST_CASE(a_rank_that_calls_something_else) {
  for (tutti::fault const& seen : after_trouble(tutti::schedule_kind::direct, true)) {
    BOOST_TEST((seen.kind == tutti::failure::mismatch));
    BOOST_TEST((seen.culprit == 3U) != (seen.reporter == 3U));
  }
}
BOOST_AUTO_TEST_CASE(what_a_device_cannot_run) {
  using tutti::op::allreduce;
  BOOST_CHECK_THROW(device::step_list(tutti::selection(tutti::schedule_kind::ring), allreduce{}, 17, 0, {}),
                    tutti::precondition_error);
}
