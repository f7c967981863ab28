// SPDX-License-Identifier: Apache-2.0
// test: address (one thread drives all ranks)
#include <transport/overheard_world.hpp>
#include <transport/tcp_world.hpp>
#include <tutti/secure.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace tutti;

[[nodiscard]] tcp_options encrypted_world() {
  tcp_options o;
  o.encryption = true;
  o.linger = std::chrono::hours(1);
  return o;
}

BOOST_AUTO_TEST_CASE(copies_of_hellos_take_no_place) {
  support::check_overheard_worlds(encrypted_world());
}

BOOST_AUTO_TEST_CASE(copies_without_an_original_lose_no_rank) {
  support::check_swallowed_requests(encrypted_world());
}

/// A rank may leave before its peer has taken part in the handshake of encryption: it does not wait for that, and the
/// peer names it only when it needs it.
BOOST_AUTO_TEST_CASE(a_rank_leaves_before_encryption_begins) {
  for (rank_type const leaver : {0U, 1U}) {
    support::tcp_ranks world(2, encrypted_world(), support::secret_of_tests);
    rank_type const other = 1 - leaver;
    BOOST_TEST(world.run_until([&] {
      std::ignore = world[leaver].send(other, {0, 0}, {}, 1);
      return world[leaver].connections() == 1 && world[other].connections() == 1;
    }) == "");
    world.ranks[leaver].reset();
    for (int i = 0; i < 100; ++i) {
      world[other].poll();
    }
    BOOST_TEST(!world[other].fault());
    BOOST_TEST(world.run_until([&] {
      std::ignore = world[other].send(leaver, {0, 0}, {}, 1);
      return static_cast<bool>(world[other].fault());
    }) == "");
    BOOST_TEST(support::describe_fault(world[other].fault()) ==
               support::describe_fault({failure::peer_lost, leaver, other}));
  }
}

}  // namespace
