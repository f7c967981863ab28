// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <support/watched.hpp>
#include <tutti/detail/shared_memory/shared_world.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/shared_memory_options.hpp>

#include <cstring>
#include <span>

namespace {

using world = tutti::laws::world<tutti::shared_memory, tutti::support::process_ranks>;

using test_cases = tutti::laws::transport_cases<world, tutti::laws::amounts_in_memory>;

support::cases const delivering = test_cases::delivering();
support::cases const filling_lanes = test_cases::filling_lanes();
support::cases const of_many_ranks = test_cases::of_many_ranks();

/// Chunks are tiny, and all but short messages are read in the sender's memory.
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

/// Sends a message to the next rank, and receives one from the previous rank.
tutti::support::verdict pass_on(tutti::shared_memory& t) {
  tutti::flow const s{0, 5};
  t.begin(s, {});
  tutti::rank_type const rank = t.rank();
  tutti::rank_type const previous = (rank + t.size() - 1) % t.size();
  tutti::rank_type message = rank;
  auto bad = tutti::support::drive_until(
      t, [&] { return t.send((rank + 1) % t.size(), s, std::as_bytes(std::span(&rank, 1)), 4).is_accepted; });
  bad = !bad.empty() ? bad : tutti::support::drive_until(t, [&] {
    auto const c = t.view(previous, s, {sizeof message, sizeof message, nullptr});
    return static_cast<bool>(c) && std::memcpy(&message, c.data, sizeof message) != nullptr;
  });
  t.release(previous, s);
  t.end(s);
  return !bad.empty() ? bad : message == previous ? "" : "a message of another rank";
}

/// More ranks than the 278 messages of one socket that the system lets wait.
BOOST_AUTO_TEST_CASE(many_ranks, *boost::unit_test::enable_if<!support::is_watched>()) {
  for (tutti::rank_type const n : {300U, 512U}) {
    tutti::laws::check_all(tutti::support::process_ranks::run(n, [](auto& meet) {
      tutti::shared_memory t(meet, {.chunk_bytes = 4096, .ring_bytes = 16384});  // saves 1.1 GB
      return pass_on(t);
    }));
  }
}

}  // namespace
