// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include "../../bench/common/settings.hpp"
#include <laws/transport_cases.hpp>
#include <simulation/worlds.hpp>
#include <tutti/simulation/simulated_network.hpp>

namespace {

using namespace tutti::laws;
using tutti::rank_type;

struct amounts : amounts_in_memory {
  static constexpr std::array deliveries{delivery_amount{2, 5 << 20}, delivery_amount{5, 100'003}};
  static constexpr std::array flows{flow_amount{3, 200}};
  static constexpr std::array in_lanes{lane_amount{1000, 1 << 20}};
  static constexpr std::array<std::size_t, 1> view_bytes{100};
  static constexpr std::array<rank_type, 2> ranks_of_faults{4, 5};
  static constexpr std::array<rank_type, 1> ranks_of_mismatches{4};
  static constexpr std::array<std::size_t, 1> left_unread{100};
  static constexpr std::array destructions{delivery_amount{3, 20'000}};
  static constexpr int quiescences = 5;
};
using test_cases = transport_cases<support::simulated_transports, amounts>;

support::cases const delivering = test_cases::delivering();
support::cases const filling_lanes = test_cases::filling_lanes();
support::cases const failing = test_cases::failing();

static_assert(tutti::detects_mismatch<tutti::simulated_transport> && tutti::computes<tutti::simulated_transport>);
static_assert(tutti::waits_for_work<tutti::simulated_transport> && tutti::aggregates<tutti::simulated_transport> &&
              !tutti::in_process<tutti::simulated_transport>);
static_assert(tutti::rendezvous<tutti::detail::simulated_rendezvous> &&
              !tutti::locates_hosts<tutti::detail::simulated_rendezvous>);

}  // namespace

BOOST_AUTO_TEST_CASE(it_tells_its_name) {
  BOOST_TEST(tutti::simulated_transport::name == "simulated");
}

BOOST_AUTO_TEST_CASE(it_is_made_by_simulate) {
  tutti::detail::simulator sim(tutti::one_switch(1, {}), 1, {}, true);
  tutti::detail::simulated_meeting meeting(sim);
  tutti::detail::simulated_rendezvous meet(meeting, 0);
  BOOST_CHECK_THROW(tutti::simulated_transport(meet, tutti::simulated_transport::options{}), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(networks_that_do_not_fit_are_refused) {
  auto const refuses = [](tutti::simulated_network const& net, rank_type n, tutti::simulation_options const& o) {
    BOOST_CHECK_THROW(tutti::detail::simulator(net, n, o, true), tutti::precondition_error);
  };
  auto const net = tutti::one_switch(2, {});
  refuses(net, 0, {});
  refuses({}, 1, {});
  refuses({.switches = {{}}, .hosts = {{1, {}}}}, 1, {});
  refuses({.switches = {{}, {}}, .hosts = {{0, {}}}}, 1, {});
  refuses(net, 2, {.place = {0}});
  refuses(net, 2, {.place = {0, 2}});
  refuses(net, 2, {.faults = {.deaths = {{2, {}}}}});
  refuses(net, 2, {.faults = {.lags = {{2, {}}}}});
  refuses(net, 2, {.window = 0});
}

BOOST_AUTO_TEST_CASE(a_fraction_of_a_rate_reaches_the_simulation) {
  auto const per_byte = [](char const* rate) { return tutti::at_gigabits(bench::bits_per_second("r", rate) * 1e-9); };
  BOOST_TEST(per_byte("2.5G").count() == 3200);
  BOOST_TEST(per_byte("200M").count() == 40'000);
  BOOST_TEST(per_byte("300G").count() == 27);  // 26.7, rounded to the nearest
  BOOST_CHECK_THROW((void)tutti::at_gigabits(0), tutti::precondition_error);
}
