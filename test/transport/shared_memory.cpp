// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_shared_memory
#include <laws/transport.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using tutti::shared_memory;
using world = tutti::laws::world<shared_memory, tutti::support::process_ranks>;
using namespace tutti::laws;

/// Hardly any memory to copy through, and what is not short is read in the sender's memory.
struct tight_world {
  using transport = shared_memory;

  template <class F>
  static std::vector<verdict> run(tutti::rank_type n, F const& f) {
    return tutti::support::process_ranks::run(n, [&](auto& meet) -> verdict {
      shared_memory t(meet, {.chunk_bytes = 128, .ring_bytes = 256, .attach_from = 1000});
      return f(t);
    });
  }
};

BOOST_AUTO_TEST_CASE(tight_memory) {
  delivers_everything_in_order<tight_world>(3, 10'003);
  keeps_streams_apart<tight_world>(4, 200);
  views_are_stable_until_released<tight_world>(100);
}
BOOST_AUTO_TEST_CASE(delivery) {
  for (tutti::rank_type const n : {1U, 2U, 5U}) {
    delivers_everything_in_order<world>(n, 100'003);
  }
  delivers_everything_in_order<world>(2, 5 << 20);
}
BOOST_AUTO_TEST_CASE(more_ranks_than_processors) {
  delivers_everything_in_order<world>(17, 1000);
  keeps_streams_apart<world>(17, 20);
}
BOOST_AUTO_TEST_CASE(granules) {
  keeps_granules_whole<world>();
}
BOOST_AUTO_TEST_CASE(streams) {
  keeps_streams_apart<world>(2, 1000);
  keeps_streams_apart<world>(4, 200);
}
BOOST_AUTO_TEST_CASE(lanes) {
  for (std::size_t const bytes : {4UL, 1000UL, 100'000UL}) {
    full_lanes_hold_up_no_other<world>(bytes, bytes * 100);
  }
}
BOOST_AUTO_TEST_CASE(views) {
  views_are_stable_until_released<world>(8);
  views_are_stable_until_released<world>(5000);
}

}  // namespace
