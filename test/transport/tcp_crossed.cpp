// SPDX-License-Identifier: Apache-2.0
// test: address (one thread drives all)
#include <support/toy_hash.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/hello_prover.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/detail/tcp/waiter.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <vector>

namespace {

using namespace tutti;
using namespace std::chrono_literals;
using tutti::detail::descriptor;
using tutti::detail::tcp::connect_attempt;
using tutti::detail::tcp::hello;
using tutti::detail::tcp::hello_kind;
using tutti::detail::tcp::mesh;
namespace net = tutti::detail::net;
namespace tcp = tutti::detail::tcp;

world_secret const secret_of_tests = net::make_secret("sixteen or more letters");

[[nodiscard]] net::address loopback() {
  return net::resolve("127.0.0.1", 0).front();
}

/// Rank 1 of two. The test plays rank 0.
struct half_world {
  explicit half_world(world_secret const& secret, tcp_options const& o)
      : listener(net::listen(loopback())), rank(o, loopback(), 1, 2), prover(net::proof_key(secret), 2) {
    rank.meet({{net::local_address(listener.get()), rank.listening_address()}, {1, 2}, net::proof_key(secret)});
  }

  [[nodiscard]] hello make_hello(hello_kind kind) const {
    hello message;
    message.world = {1, 2};
    message.kind = kind;
    message.sender = 0;
    message.receiver = 1;
    message.window = tcp_options{}.window;
    return message;
  }
  /// Lets rank 1 wait for rank 0 until `is_done()`, for a generous time. Returns "" or the failure.
  template <class Condition>
  [[nodiscard]] std::string run_until(Condition const& is_done) {
    time_point const deadline = steady_now() + 10s;
    while (!is_done()) {
      std::ignore = rank.reach(0);
      rank.poll();
      if (steady_now() > deadline) {
        return "waited too long";
      }
    }
    return "";
  }
  /// Takes a request of rank 1 and its connection.
  [[nodiscard]] descriptor take_request(hello& request) {
    descriptor line;
    std::size_t bytes = 0;
    BOOST_TEST(
        run_until([&] {
          line = line ? std::move(line) : net::accept(listener.get());
          bytes +=
              line ? detail::read_some(line.get(), std::as_writable_bytes(std::span(&request, 1)).subspan(bytes)).bytes
                   : 0;
          return bytes == sizeof request;
        }) == "");
    return line;
  }
  /// Answers a request, and waits until rank 1 has closed its connection.
  void decline(descriptor const& line, hello const& request) {
    hello answer = make_hello(hello_kind::collision);
    prover.prove_answer(answer, request);
    detail::write_some(line.get(), std::as_bytes(std::span(&answer, 1)));
    std::byte byte{};
    BOOST_TEST(run_until([&] {
                 return detail::read_some(line.get(), std::span(&byte, 1)).state == detail::io::hangup;
               }) == "");
  }

  descriptor listener;
  mesh rank;
  tcp::hello_prover prover;
};

/// Rank 0 has asked rank 1 to wait for its own connection, and is killed.
BOOST_AUTO_TEST_CASE(a_rank_that_dies_behind_a_collision_is_lost) {
  tcp_options o;
  o.handshake = 50ms;
  for (world_secret const& secret : {world_secret(), secret_of_tests}) {
    for (bool const has_connected : {false, true}) {
      half_world world(secret, o);
      hello request;
      descriptor line = world.take_request(request);
      world.decline(line, request);
      descriptor connection;
      if (has_connected) {
        connection = net::connect(world.rank.listening_address(), steady_now() + 5s);
        hello own_request = world.make_hello(hello_kind::connect);
        world.prover.prove_request(own_request);
        detail::write_some(connection.get(), std::as_bytes(std::span(&own_request, 1)));
        hello answer;
        std::size_t bytes = 0;
        BOOST_TEST(world.run_until([&] {
          bytes +=
              detail::read_some(connection.get(), std::as_writable_bytes(std::span(&answer, 1)).subspan(bytes)).bytes;
          return bytes == sizeof answer;
        }) == "");
        BOOST_TEST((answer.kind == hello_kind::welcome));
      }
      world.listener.reset();
      connection.reset();
      BOOST_TEST(world.run_until([&] { return static_cast<bool>(world.rank.fault()); }) == "");
      BOOST_TEST((world.rank.fault().kind == failure::peer_lost));
      BOOST_TEST(world.rank.fault().culprit == 0U);
    }
  }
}

/// A peer whose host has been reached gets all of `tcp_options::connect` once more when its connection breaks.
BOOST_AUTO_TEST_CASE(a_peer_that_was_reached_is_tried_for_all_of_the_limit) {
  tcp_options o;
  o.connect = 100ms;
  descriptor const listener([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  net::address const at = loopback();
  BOOST_REQUIRE(::bind(listener.get(), at.data(), at.size()) == 0);
  BOOST_REQUIRE(::listen(listener.get(), 0) == 0);
  net::address const place = net::local_address(listener.get());
  tcp::waiter waiter;
  tcp::hello_prover prover;
  connect_attempt attempt(waiter, place, hello{}, prover, o, 100ms);
  attempt.advance();
  BOOST_TEST(attempt.has_sent());
  descriptor line;
  while (!line) {
    line = net::accept(listener.get());
  }
  std::vector<descriptor> queue;  // connections that leave no room for others
  while (queue.empty() || [&] {
    pollfd entry{queue.back().get(), POLLOUT, 0};
    return ::poll(&entry, 1, 20) == 1;
  }()) {
    queue.push_back(net::begin_connect(place));
  }
  for (time_point const end = steady_now() + 2 * o.connect; steady_now() < end;) {
    attempt.advance();  // the peer is busy
  }
  line.reset();
  time_point const begin = steady_now();
  while (attempt.current_state() != connect_attempt::state::peer_gone && steady_now() - begin < 10s) {
    attempt.advance();
  }
  BOOST_TEST((attempt.current_state() == connect_attempt::state::peer_gone));
  BOOST_TEST((steady_now() - begin >= o.connect));
}

}  // namespace
