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
std::vector<tutti::fault> faults_of_ranks(tutti::schedule_kind kind, bool rank_3_calls) {
  one_case const c{{}, {}, 4, 100, false};
  std::vector<one_rank> ranks;
  for (rank_type r = 0; r != c.n; ++r) {
    ranks.emplace_back(c, tutti::selection(kind), r);
  }
  models::device_world world(c.n, 2, 1024);
  bool const has_ended = models::run_as_fibers(
      c.n, 2, 2, 5,
      [&](rank_type r, std::uint32_t group, models::fiber_group const& g) {
        device::operation operation = ranks[r].operation();
        operation.call_record.count = r == 3 ? 8 : 7;
        if (r != 3 || rank_3_calls) {
          using payload = device::group_combining<tutti::sum<float>>;
          for (operation.number = 5; operation.number != 7; ++operation.number) {
            run_group(g, device::steps_kernel<payload>{world.board_of(r), operation, 2, 4, {}}, group);
          }
        }
      },
      100'000);
  BOOST_REQUIRE(has_ended);
  std::vector<tutti::fault> faults;
  for (rank_type r = 0; r != c.n; ++r) {
    faults.push_back(world.stop(r));
    BOOST_TEST(world.first_failed(r) == (r != 3 || rank_3_calls ? 5U : 0U));
    BOOST_TEST(!world.busy(r));
  }
  return faults;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes) {
  for (auto const kind :
       {tutti::schedule_kind::direct, tutti::schedule_kind::ring, tutti::schedule_kind::binary_tree}) {
    for (tutti::fault const& fault : faults_of_ranks(kind, false)) {
      BOOST_TEST((fault.kind == tutti::failure::deadline));
      BOOST_TEST(fault.culprit == 3U, "also where ranks wait for others that wait for it");
      BOOST_TEST(fault.reporter < 3U);
    }
  }
}
BOOST_AUTO_TEST_CASE(a_rank_that_calls_something_else) {
  for (tutti::fault const& fault : faults_of_ranks(tutti::schedule_kind::direct, true)) {
    BOOST_TEST((fault.kind == tutti::failure::mismatch));
    BOOST_TEST((fault.culprit == 3U) != (fault.reporter == 3U));
  }
}
BOOST_AUTO_TEST_CASE(what_a_device_cannot_run) {
  using tutti::op::allreduce;
  BOOST_CHECK_THROW(device::step_list(tutti::selection(tutti::schedule_kind::ring), allreduce{}, 17, 0, {}),
                    tutti::precondition_error);
}
