// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/memory_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using world = tutti::laws::world<tutti::shared_memory, tutti::support::process_ranks>;

support::cases const test_cases = tutti::laws::through_memory<world>::delivering();

/// Hardly any memory to copy through, and what is not short is read in the sender's memory.
struct tight_world {
  using transport = tutti::shared_memory;

  template <class F>
  static std::vector<tutti::support::verdict> run(tutti::rank_type n, F const& f) {
    return tutti::support::process_ranks::run(n, [&](auto& meet) -> tutti::support::verdict {
      tutti::shared_memory t(meet, {.chunk_bytes = 128, .ring_bytes = 256, .attach_from = 1000});
      return f(t);
    });
  }
};

BOOST_AUTO_TEST_CASE(tight_memory) {
  tutti::laws::delivers_everything_in_order<tight_world>(3, 10'003);
  tutti::laws::keeps_flows_apart<tight_world>(4, 200);
  tutti::laws::views_are_stable_until_released<tight_world>(100);
  tutti::laws::keeps_granules_whole<tight_world>();
}

}  // namespace
