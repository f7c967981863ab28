// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/socket_options.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/transport/tcp_options.hpp>

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>

namespace {

using namespace tutti;
using namespace tutti::detail;

/// Both ends of a new connection within this host.
struct connection {
  connection() {
    descriptor const listener = net::listen(net::resolve("127.0.0.1", 0).front());
    near_end = net::connect(net::local_address(listener.get()), steady_now() + std::chrono::seconds(5));
    while (!far_end) {
      far_end = net::accept(listener.get());
    }
  }
  descriptor near_end;
  descriptor far_end;
};

[[nodiscard]] int option(descriptor const& d, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  BOOST_REQUIRE(::getsockopt(d.get(), SOL_SOCKET, name, &value, &size) == 0);
  return value;
}

BOOST_AUTO_TEST_CASE(within_a_host_nothing_is_paced_and_the_window_is_large) {
  connection c;
  int const usual_value = option(c.near_end, SO_RCVBUF);
  detail::tcp::suit_one_host(c.near_end.get(), {});
  char algorithm[16] = {};
  socklen_t size = sizeof algorithm;
  BOOST_REQUIRE(::getsockopt(c.near_end.get(), IPPROTO_TCP, TCP_CONGESTION, algorithm, &size) == 0);
  BOOST_TEST(std::string_view(algorithm) == "reno");
  BOOST_TEST(option(c.near_end, SO_RCVBUF) > usual_value);
  BOOST_TEST(option(c.near_end, SO_RCVLOWAT) == 1);  // every byte wakes a rank that sleeps
}

BOOST_AUTO_TEST_CASE(a_buffer_that_is_asked_for_is_given) {
  connection c;
  tcp_options o;
  o.receive_buffer = 50'000;
  detail::tcp::size_buffers(c.near_end.get(), o);
  int const usual_value = option(c.near_end, SO_RCVBUF);
  detail::tcp::suit_one_host(c.near_end.get(), o);
  BOOST_TEST(option(c.near_end, SO_RCVBUF) == usual_value);
}

/// The longest silence is limited to what the system accepts: beyond that it would use its own two hours.
BOOST_AUTO_TEST_CASE(a_silence_may_be_as_long_as_it_likes) {
  connection c;
  detail::tcp::keep_alive(c.near_end.get(), no_deadline);
  int seconds = 0;
  socklen_t size = sizeof seconds;
  BOOST_REQUIRE(::getsockopt(c.near_end.get(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &size) == 0);
  BOOST_TEST(seconds == 4 * 3600);
}

/// Times can be added to others: the longest one is reduced, a negative one refused.
BOOST_AUTO_TEST_CASE(times_are_finite_and_not_negative) {
  for (duration tcp_options::*const time :
       {&tcp_options::handshake, &tcp_options::connect, &tcp_options::silence, &tcp_options::linger}) {
    world_options<tutti::tcp> o;
    o.transport.*time = no_deadline;
    BOOST_TEST((steady_now() <= no_deadline - tutti::detail::tcp::with_finite_times(o.transport).*time));
    for (auto const& end : spawn<tutti::tcp>(
             3, [](auto& world) { return world.size(); }, o)) {
      BOOST_TEST((end.has_value() && end.value() == 3U));
    }
    o.transport.*time = std::chrono::seconds(-1);
    for (auto const& end : spawn<tutti::tcp>(
             2, [](auto& world) { return world.size(); }, o)) {
      BOOST_TEST((!end.has_value() && end.failure().text.find("tutti::no_deadline") != std::string::npos));
    }
  }
}

}  // namespace
