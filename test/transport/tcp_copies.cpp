// SPDX-License-Identifier: Apache-2.0
// test: address waits (one thread drives all ranks)
#include "overheard_world.hpp"
#include "puppet_stream.hpp"
#include <tutti/detail/tcp/wire.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace tutti;
using support::puppet_stream;

bool const has_streams = (detail::tcp::registered_streams = &detail::tcp::calls_of<puppet_stream>, true);

[[nodiscard]] tcp_options encrypted_world() {
  tcp_options o;
  o.encryption = has_streams;
  return o;
}

BOOST_AUTO_TEST_CASE(copies_of_hellos_take_no_place) {
  support::check_overheard_worlds({});
  support::check_overheard_worlds(encrypted_world());
}

BOOST_AUTO_TEST_CASE(copies_without_an_original_lose_no_rank) {
  support::check_swallowed_requests({});
  support::check_swallowed_requests(encrypted_world());
}

/// A rank that leaves does not wait for copies, and tells a rank that confirms late.
BOOST_AUTO_TEST_CASE(a_rank_leaves_in_spite_of_copies) {
  tcp_options o;
  o.linger = std::chrono::hours(1);
  support::overheard_world world({.copies_before = 2, .drops_requests = true}, o);
  BOOST_TEST(world.run_until([&] {
    std::ignore = world.reach(0);
    return world.copies() == 2;
  }) == "");
  world.ranks[1].reset();
  BOOST_TEST(!world.ranks[0]->fault());
}

}  // namespace
