// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_by_locality_loopback
#include <laws/locality.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using tutti::loopback;
using ranks = tutti::support::thread_ranks;
using mixed = tutti::laws::world<tutti::support::emulated_hosts<loopback, tutti::tcp, 2>, ranks>;
using uneven = tutti::laws::world<tutti::support::emulated_hosts<loopback, tutti::tcp, 3>, ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(delivery) {
  on_some_hosts<loopback, ranks>([]<class World>() {
    for (tutti::rank_type const n : {1U, 2U, 5U}) {
      delivers_everything_in_order<World>(n, 100'003);
    }
  });
  delivers_everything_in_order<mixed>(4, 5 << 20);
  delivers_everything_in_order<uneven>(5, 100'003);
}
BOOST_AUTO_TEST_CASE(more_ranks_than_processors) {
  delivers_everything_in_order<uneven>(17, 1000);
}
BOOST_AUTO_TEST_CASE(granules) {
  on_some_hosts<loopback, ranks>([]<class World>() { keeps_granules_whole<World>(); });
}
BOOST_AUTO_TEST_CASE(streams) {
  on_some_hosts<loopback, ranks>([]<class World>() { keeps_streams_apart<World>(2, 300); });
  keeps_streams_apart<mixed>(4, 200);
  keeps_streams_apart<uneven>(17, 20);
}
BOOST_AUTO_TEST_CASE(lanes) {
  full_lanes_hold_up_no_other<mixed>(1000, 100'000);
}
BOOST_AUTO_TEST_CASE(views) {
  on_some_hosts<loopback, ranks>([]<class World>() {
    views_are_stable_until_released<World>(8);
    views_are_stable_until_released<World>(5000);
  });
}
BOOST_AUTO_TEST_CASE(only_neighbours_read_a_message_where_it_is) {
  check_all(mixed::run(4, [](auto& t) -> verdict {
    tutti::stream const s{0, 1};
    std::vector<std::byte> const data(1 << 20);
    t.begin(s, a_call(1));
    for (tutti::rank_type peer = 0; peer < 4; ++peer) {
      if (t.shares(peer, s, data) != (peer / 2 == t.rank() / 2)) {
        return "rank " + std::to_string(peer) + (peer / 2 == t.rank() / 2 ? " may read it" : " cannot read it");
      }
    }
    return "";
  }));
}

}  // namespace
