// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/contenders/limit_sockets.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

BOOST_AUTO_TEST_CASE(places_are_namespaces_with_addresses) {
  BOOST_TEST(bench::places("").empty());
  auto const places = bench::places("a@10.0.0.1,@10.0.0.2,c@::1");
  BOOST_REQUIRE(places.size() == 3);
  BOOST_TEST(places[0].space == "a");
  BOOST_TEST(places[0].address == "10.0.0.1");
  BOOST_TEST(places[1].space == "");
  BOOST_TEST(places[1].address == "10.0.0.2");
  BOOST_TEST(places[2].space == "c");
  for (char const* const wrong : {"a", "a,b@c", "a@b,c", ",a@b"}) {
    BOOST_CHECK_THROW(bench::places(wrong), std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(every_two_ranks_have_a_connection_of_their_own) {
  bench::sockets const net(3, bench::places("@127.0.0.1,@127.0.0.2,@127.0.0.3"));
  for (unsigned a = 0; a < 3; ++a) {
    for (unsigned b = 0; b < 3; ++b) {
      if (a != b) {
        char const sent_byte = static_cast<char>('a' + 3 * a + b);
        BOOST_TEST(::send(net.socket(a, b), &sent_byte, 1, 0) == 1);
      }
    }
  }
  for (unsigned a = 0; a < 3; ++a) {
    for (unsigned b = 0; b < 3; ++b) {
      if (a != b) {
        char received_byte = 0;
        BOOST_TEST(::recv(net.socket(b, a), &received_byte, 1, MSG_WAITALL) == 1);
        BOOST_TEST(received_byte == static_cast<char>('a' + 3 * a + b));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_an_error) {
  BOOST_CHECK_THROW(bench::sockets(2, bench::places("no-such-namespace@127.0.0.1,@127.0.0.1")), std::runtime_error);
  BOOST_CHECK_THROW(bench::sockets(2, bench::places("@no-address,@no-address")), std::runtime_error);
  BOOST_CHECK_THROW(bench::sockets(2, bench::places("@127.0.0.1")), std::runtime_error);
}
