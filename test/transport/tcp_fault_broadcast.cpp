// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include "tcp_world.hpp"
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/detail/tcp/fault_broadcast.hpp>
#include <tutti/detail/tcp/hello_prover.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <thread>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

[[nodiscard]] tcp_options known_world() {
  tcp_options o;
  o.world = {1, 2};
  return o;
}
[[nodiscard]] detail::tcp::hello greeting(detail::tcp::hello_kind kind, rank_type sender, rank_type receiver) {
  detail::tcp::hello h;
  h.world = known_world().world;
  h.kind = kind;
  h.sender = sender;
  h.receiver = receiver;
  return h;
}
/// Connects to a rank and sends a hello, as another rank would.
[[nodiscard]] descriptor say(tutti::tcp const& rank, detail::tcp::hello const& words) {
  tutti::host_port at;
  BOOST_REQUIRE(net::parse(rank.address(), at));
  descriptor socket = net::connect(net::resolve(at.host, at.port).front(), steady_now() + std::chrono::seconds(5));
  write_some(socket.get(), std::as_bytes(std::span(&words, 1)));
  return socket;
}

BOOST_AUTO_TEST_CASE(a_fault_reaches_those_without_a_connection) {
  tcp_ranks world(5);
  BOOST_TEST(world.deliver(0, 1, {0, 0}, 10) == "");
  BOOST_TEST(world.deliver(1, 2, {0, 0}, 10) == "");
  fault const f{failure::deadline, 4, 0};
  world[0].revoke(f);
  BOOST_TEST(world.run_until([&] {
    return std::all_of(world.ranks.begin(), world.ranks.end(), [&](auto const& t) { return t->fault() == f; });
  }) == "");
}

/// The rank that found the fault may have told only one other: ranks forward it along their connections.
BOOST_AUTO_TEST_CASE(a_fault_is_passed_on) {
  tcp_ranks world(5, known_world());
  for (rank_type r = 0; r < 3; ++r) {
    BOOST_TEST(world.deliver(r, r + 1, {0, 0}, 10) == "");
  }
  fault const f{failure::cancelled, 4, 4};
  detail::tcp::hello last_words = greeting(detail::tcp::hello_kind::revoke, 4, 0);
  last_words.fault = f.pack();
  descriptor const socket = say(world[0], last_words);
  BOOST_TEST(world.run_until([&] { return world[3].fault() && world[2].fault() && world[1].fault(); }) == "");
  for (rank_type r = 0; r < 4; ++r) {
    BOOST_TEST(support::describe_fault(world[r].fault()) == support::describe_fault(f));
  }
  BOOST_TEST(!world[4].fault());
  BOOST_TEST(!world[4].send(0, {0, 0}, {}, 1).is_accepted);
  BOOST_TEST(world.run_until([&] {  // a rank that connects later learns it, too
    std::ignore = world[4].send(0, {0, 0}, {}, 1);
    return world[4].fault() == f;
  }) == "");
}

/// The requests to one peer may arrive in any order, however many requests to other peers were between them.
BOOST_AUTO_TEST_CASE(requests_that_overtake_each_other_are_taken) {
  constexpr rank_type n = 100;
  net::proof_key const key(net::make_secret("sixteen or more letters"));
  detail::tcp::hello_prover sender(key, n);
  std::vector<detail::tcp::hello> requests;
  for (int round = 0; round < 3; ++round) {
    for (rank_type peer = 1; peer < n; ++peer) {
      requests.push_back(greeting(detail::tcp::hello_kind::revoke, 0, peer));
      sender.prove_request(requests.back());
    }
  }
  std::vector<detail::tcp::hello_prover> receivers(n, detail::tcp::hello_prover(key, n));
  std::reverse(requests.begin(), requests.end());
  for (bool const is_first : {true, false}) {
    for (detail::tcp::hello const& request : requests) {
      BOOST_REQUIRE((receivers[request.receiver].objection_to_request(request) == nullptr) == is_first);
    }
  }
}

/// A connection in the middle of a message cannot carry the fault, and the peer does not read it.
BOOST_AUTO_TEST_CASE(a_fault_overtakes_a_message_that_will_never_be_complete) {
  tcp_ranks world(2);
  std::vector<std::byte> const large(64 << 20);
  flow const s{0, 0};
  BOOST_TEST(world.run_until([&] {
    std::ignore = world[1].view(0, s, {large.size(), 1, nullptr});
    return world[0].send(1, s, large, 1).bytes != 0;
  }) == "");
  fault const f{failure::cancelled, 0, 0};
  world[0].revoke(f);
  BOOST_TEST(world.run_until([&] { return static_cast<bool>(world[1].fault()); }) == "");
  BOOST_TEST(support::describe_fault(world[1].fault()) == support::describe_fault(f));
  BOOST_TEST(!world[1].view(0, s, {large.size(), 1, nullptr}));
}

/// A rank that leaves because of a fault is not at fault. Its reason may be behind a message that is never read.
BOOST_AUTO_TEST_CASE(a_fault_behind_unread_data_is_found_before_a_rank_is_named) {
  tcp_ranks world(4, known_world());
  std::vector<std::byte> const message(200'000);
  flow const s{0, 0};
  descriptor bearer = say(world[1], greeting(detail::tcp::hello_kind::connect, 2, 1));
  BOOST_TEST(world.run_until([&] {  // rank 1 waits for another message, so it leaves this one in the stream
    std::ignore = world[1].view(0, s, {message.size(), 1, nullptr});
    return world[1].connections() == 2 && world[0].send(1, s, message, 1).bytes == message.size();
  }) == "");
  fault const f{failure::peer_lost, 3, 0};
  world[0].revoke(f);
  bearer.reset();
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (!world[1].fault() && steady_now() < deadline) {
    std::ignore = world[1].view(2, {1, 0}, {1, 1, nullptr});
  }
  BOOST_TEST(support::describe_fault(world[1].fault()) == support::describe_fault(f));
}

/// The system discards unsent bytes when a connection with unread bytes is closed.
BOOST_AUTO_TEST_CASE(a_fault_outlives_a_connection_that_is_reset) {
  tcp_options o = known_world();
  o.send_buffer = 4 << 20;
  o.receive_buffer = 64 << 10;
  o.linger = std::chrono::milliseconds(100);
  tcp_ranks world(3, o);
  std::vector<std::byte> const message(1'000'000);
  flow const s{0, 0};
  BOOST_TEST(world.deliver(0, 1, {1, 0}, 1) == "");
  std::ignore =
      world[0].view(1, s, {message.size(), 1, nullptr});  // the reader begins this message, and never takes it
  BOOST_TEST(world[1].send(0, s, message, 1).is_accepted);
  BOOST_TEST(world[0].send(1, s, message, 1).bytes == message.size());
  fault const f{failure::peer_lost, 2, 0};
  world[0].revoke(f);
  world.ranks[0].reset();  // rank 1 does nothing, as if it were stopped
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (!world[1].fault() && steady_now() < deadline) {
    std::ignore = world[1].view(0, {2, 0}, {1, 1, nullptr});
  }
  BOOST_TEST(support::describe_fault(world[1].fault()) == support::describe_fault(f));
}

/// A rank that is being connected to may leave because of a fault before the connection is made.
BOOST_AUTO_TEST_CASE(a_rank_that_has_left_is_named_only_if_no_fault_is_told) {
  tcp_ranks world(3, known_world());
  world.ranks[1].reset();
  std::byte const element{};
  BOOST_TEST(!world[0].send(1, {0, 0}, {&element, 1}, 1).is_accepted);  // no rank listens there any more
  detail::tcp::hello last_words = greeting(detail::tcp::hello_kind::revoke, 1, 0);
  fault const f{failure::peer_lost, 2, 1};
  last_words.fault = f.pack();
  descriptor const socket = say(world[0], last_words);
  BOOST_TEST(world.run_until([&] {
    std::ignore = world[0].send(1, {0, 0}, {&element, 1}, 1);
    return static_cast<bool>(world[0].fault());
  }) == "");
  BOOST_TEST(support::describe_fault(world[0].fault()) == support::describe_fault(f));
}

/// A rank that leaves in the middle of a message is at fault.
BOOST_AUTO_TEST_CASE(leaving_in_the_middle_of_a_message) {
  tcp_ranks world(2);
  std::vector<std::byte> const large(64 << 20);
  flow const s{0, 0};
  std::size_t received_bytes = 0;
  BOOST_TEST(world.run_until([&] {
    std::ignore = world[1].view(0, s, {large.size(), 1, nullptr});
    return world[0].send(1, s, large, 1).bytes != 0;
  }) == "");
  world.ranks[0].reset();
  BOOST_TEST(world.run_until([&] {
    if (chunk const c = world[1].view(0, s, {large.size() - received_bytes, 1, nullptr})) {
      received_bytes += c.bytes;
      world[1].release(0, s);
    }
    return static_cast<bool>(world[1].fault());
  }) == "");
  BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(peer lost, culprit 0, reporter 1)");
  BOOST_TEST(received_bytes < large.size());
}

/// Accepted messages arrive although the sender is gone, even if the reader is late.
BOOST_AUTO_TEST_CASE(accepted_messages_outlive_their_sender) {
  tcp_ranks world(2);
  std::vector<std::byte> const message(50'000, std::byte{3});
  std::size_t const count = 8 * 9;
  for (std::size_t k = 0; k < count; ++k) {
    BOOST_TEST(world.run_until([&] {
      return world[0].send(1, {static_cast<std::uint32_t>(k % 9), 0}, message, message.size()).bytes == message.size();
    }) == "");
  }
  std::thread leaver([&] { world.ranks[0].reset(); });
  for (std::size_t k = 0; k < count; ++k) {
    flow const s{static_cast<std::uint32_t>(k % 9), 0};
    time_point const deadline = steady_now() + std::chrono::seconds(10);
    chunk c;
    while (!(c = world[1].view(0, s, {message.size(), message.size(), nullptr})) && steady_now() < deadline) {
    }
    BOOST_REQUIRE(c.bytes == message.size());
    BOOST_TEST(std::equal(message.begin(), message.end(), c.data));
    world[1].release(0, s);
  }
  leaver.join();
  BOOST_TEST(!world[1].fault());
  BOOST_TEST(world.run_until([&] {
    std::ignore = world[1].view(0, {0, 0}, {1, 1, nullptr});
    return static_cast<bool>(world[1].fault());
  }) == "");
  BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(peer lost, culprit 0, reporter 1)");
}

/// No rank listens where one has listened.
BOOST_AUTO_TEST_CASE(a_peer_that_left_before_the_connection) {
  tcp_ranks world(3);
  world.ranks[1].reset();
  std::byte const element{};
  BOOST_TEST(world.run_until([&] {
    return !world[0].send(1, {0, 0}, {&element, 1}, 1).is_accepted && world[0].fault() && world[2].fault();
  }) == "");
  for (rank_type const r : {0U, 2U}) {
    BOOST_TEST(support::describe_fault(world[r].fault()) == "fault(peer lost, culprit 1, reporter 0)");
  }
}

/// Messages of another size than the receiver's are mismatches, small or large.
BOOST_AUTO_TEST_CASE(other_sizes_are_mismatches) {
  for (auto const& [sends, expects] : {std::pair{4UL, 8UL},
                                       {0UL, 8UL},
                                       {8UL, 0UL},
                                       {8UL, 1'000'000UL},
                                       {1'000'000UL, 8UL},
                                       {1'000'000UL, 2'000'000UL}}) {
    tcp_ranks world(2);
    std::vector<std::byte> const message(sends);
    std::string text;
    bool is_sent = false;
    BOOST_TEST(world.run_until([&] {
      is_sent = is_sent || world[0].send(1, {transfer_lane, 0}, message, 1).is_accepted;
      try {
        return static_cast<bool>(world[1].view(0, {transfer_lane, 0}, {expects, 1, nullptr}));
      } catch (error const& e) {
        BOOST_TEST((e.kind() == failure::mismatch));
        text = e.what();
        return true;
      }
    }) == "");
    BOOST_TEST(text.find("a message of " + std::to_string(sends) + " bytes") != text.npos, text);
    BOOST_TEST(text.find(" expects " + std::to_string(expects)) != text.npos, text);
    BOOST_TEST((world[1].fault().kind == failure::mismatch));
  }
}

/// A peer at the same flow with another call is found even if it sends no message.
BOOST_AUTO_TEST_CASE(calls_that_differ_without_a_message) {
  tcp_ranks world(2);
  flow const s{3, 11};
  call const own_call = laws::a_call(1000);
  world[0].begin(s, own_call);
  for (std::uint64_t const count : {1000UL, 2000UL}) {  // neither the same call nor an earlier one is a mismatch
    std::string text;
    int queries = 0;
    if (count == 2000) {
      world[1].begin(s, laws::a_call(count));
    } else {
      world[1].begin({3, 3}, laws::a_call(7));
    }
    BOOST_TEST(world.run_until([&] {
      try {
        world[0].detect_mismatch(1, s);
      } catch (error const& e) {
        text = e.what();
      }
      return !text.empty() || (count == 1000 && ++queries == 1000);
    }) == "");
    BOOST_TEST(text.empty() == (count == 1000));
    BOOST_TEST((text.empty() || (text.find("x 1000") != text.npos && text.find("x 2000") != text.npos)), text);
    if (count == 1000) {
      BOOST_TEST(!world[0].fault());
      world[1].begin(s, own_call);
      BOOST_CHECK_NO_THROW(for (int i = 0; i < 1000; ++i) {
        world.poll();
        world[0].detect_mismatch(1, s);
      });
    }
  }
  BOOST_TEST((world[0].fault().kind == failure::mismatch));
}

/// A rank that fails closes its connections without a bye. A rank that is leaving sees that, and must not report that
/// rank as lost.
BOOST_AUTO_TEST_CASE(a_rank_that_leaves_accuses_none) {
  tcp_ranks world(3, known_world());
  descriptor needs = say(world[0], greeting(detail::tcp::hello_kind::connect, 1, 0));
  BOOST_TEST(world.run_until([&] { return world[0].connections() == 1; }) == "");
  needs.reset();
  world.ranks[0].reset();
  world[2].poll();
  world[2].probe();
  BOOST_TEST(support::describe_fault(world[2].fault()) == support::describe_fault({}));
}

/// A rank that leaves answers no query, and is not at fault.
BOOST_AUTO_TEST_CASE(a_question_to_a_rank_that_leaves_is_no_fault) {
  for (int round = 0; round < 50; ++round) {
    tcp_ranks world(2);
    flow const s{1, 0};
    BOOST_TEST(world.deliver(0, 1, {2, 0}, 8) == "");
    world[0].detect_mismatch(1, s);
    world[0].poll();
    world.ranks[1].reset();
    for (int i = 0; i < 20; ++i) {
      world[0].poll();
      BOOST_REQUIRE(!world[0].fault());
    }
  }
}

}  // namespace
