// SPDX-License-Identifier: Apache-2.0
// test: address starved (one thread drives all ranks)
#define BOOST_TEST_MODULE transport_tcp_foreign
#include "tcp_world.hpp"
#include <tutti/detail/net/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <sys/resource.h>
#include <system_error>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

/// A program that found the port of a rank.
struct intruder {
  explicit intruder(tutti::tcp const& victim) {
    tutti::host_port at;
    BOOST_REQUIRE(net::parse(victim.address(), at));
    socket = net::connect(net::resolve(at.host, at.port).front(), steady_now() + std::chrono::seconds(5));
    BOOST_REQUIRE(static_cast<bool>(socket));
  }
  void say(std::span<std::byte const> bytes) const { write_some(socket.get(), bytes); }
  void say(std::string_view text) const { say(bytes_of(text)); }

  descriptor socket;
};

[[nodiscard]] detail::tcp::hello hello_of(detail::tcp::world_id const& world, rank_type from, rank_type to) {
  detail::tcp::hello h;
  h.world = world;
  h.kind = detail::tcp::greeting::hello;
  h.sender = from;
  h.receiver = to;
  h.window = 1 << 20;
  return h;
}
[[nodiscard]] std::span<std::byte const> raw(detail::tcp::hello const& h) {
  return std::as_bytes(std::span(&h, 1));
}
[[nodiscard]] bool tells(tutti::tcp const& t, std::string_view what) {
  return std::any_of(t.incidents().begin(), t.incidents().end(),
                     [&](std::string const& i) { return i.find(what) != i.npos; });
}

constexpr detail::tcp::world_id secret{0x1234, 0x5678};

[[nodiscard]] tcp_options known_world() {
  tcp_options o;
  o.world = secret;
  o.handshake = std::chrono::milliseconds(50);
  return o;
}

/// Each is refused and noted while messages travel, and disturbs none.
BOOST_AUTO_TEST_CASE(unknown_peers_are_refused_while_messages_travel) {
  tcp_ranks world(2, known_world());
  std::vector<intruder> all;
  auto const attack = [&](auto const&... what) {
    for (rank_type victim : {0U, 1U}) {
      all.emplace_back(world[victim]);
      (all.back().say(what), ...);
      BOOST_TEST(world.deliver(0, 1, {0, 0}, 300'000) == "");
      BOOST_TEST(world.deliver(1, 0, {1, 0}, 5) == "");
    }
  };
  attack("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  attack(std::string(100'000, '\xff'));
  attack();  // says nothing, and may not even be let in
  attack("tutti");
  detail::tcp::hello h = hello_of({1, 2}, 0, 1);
  attack(raw(h));
  h = hello_of(secret, 7, 1);
  attack(raw(h));
  h = hello_of(secret, 1, 1);
  attack(raw(h));
  h = hello_of(secret, 0, 0);
  attack(raw(h));
  h = hello_of(secret, 0, 1);
  h.version = 77;
  attack(raw(h));
  h.version = detail::tcp::hello::expected_version;
  h.order = 0x04030201;
  attack(raw(h));
  h.order = detail::tcp::hello::expected_order;
  h.kind = static_cast<detail::tcp::greeting>(99);
  attack(raw(h));
  all.clear();  // those that said nothing close
  all.emplace_back(world[0]).say("tut");
  all.clear();
  all.emplace_back(world[0]).say("tutti");

  BOOST_TEST(world.until([&] {
    return tells(world[0], "did not say which rank it is") && tells(world[0], "closed early");
  }) == "");
  for (char const* const reason :
       {"not the protocol", "another world", "nonsense", "another version", "another byte order"}) {
    BOOST_TEST(tells(world[1], reason), reason);
  }
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(!world[r].fault());
    BOOST_TEST(world[r].connections() == 1U);
  }
}

/// How many descriptors this process has.
[[nodiscard]] std::size_t descriptors() {
  std::filesystem::directory_iterator const all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Floods neither keep members out for long, nor take many descriptors, nor are they remembered without bound. When
/// all that came have been seen, nothing of them wakes a rank any more.
BOOST_AUTO_TEST_CASE(floods_are_survived) {
  for (std::string_view const words : {"", "tut"}) {
    tcp_options o = known_world();
    o.handshake = std::chrono::hours(1);
    tcp_ranks world(2, o);
    std::size_t const before = descriptors();
    std::vector<intruder> flood;
    for (std::size_t i = 0; i < 400; ++i) {
      flood.emplace_back(world[1]).say(words);
    }
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 100) == "");
    BOOST_TEST(world.until([&] {
      pollfd bell{world[1].arm(), POLLIN, 0};
      int const ready = ::poll(&bell, 1, 0);
      world[1].disarm();
      return ready == 0;
    }) == "");
    BOOST_TEST(descriptors() <= before + flood.size() + 2 + 64);
    BOOST_TEST(world[1].incidents().size() < 100U);
    BOOST_TEST(world.deliver(1, 0, {1, 0}, 100) == "");
  }
}

/// Where there are no descriptors left a rank says so, and names itself.
BOOST_AUTO_TEST_CASE(too_few_descriptors_are_reported) {
  tcp_ranks world(2, known_world());
  std::vector<descriptor> all;
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit few = usual;
  few.rlim_cur = descriptors() + 8;
  ::setrlimit(RLIMIT_NOFILE, &few);
  do {
    all.emplace_back([] { return ::dup(0); });
  } while (all.back());
  std::string what;
  try {
    for (int i = 0; i < 100; ++i) {
      std::ignore = world[0].send(1, {0, 0}, {}, 1);
    }
  } catch (error const& e) {
    what = e.what();
    BOOST_TEST(e.at_fault() == std::vector<rank_type>{0}, boost::test_tools::per_element());
  }
  all.clear();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(what.find("no connection to rank 1 can be made: Too many open files") != what.npos, what);
  BOOST_TEST(what.find("ulimit -n") != what.npos, what);
  BOOST_TEST(world.until([&] { return static_cast<bool>(world[1].fault()); }) == "");
  BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(cancelled, culprit 0, reporter 0)");
}

/// A host that is lost before it was needed answers nothing, not even that no process listens.
BOOST_AUTO_TEST_CASE(a_host_that_does_not_answer_is_lost_after_connect) {
  descriptor const deaf = net::listen(net::resolve("127.0.0.1", 0).front(), 0);  // its queue will be full
  net::address const at = net::local_address(deaf.get());
  std::vector<descriptor> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(net::begin_connect(at));
  }
  tcp_options o = known_world();
  o.connect = std::chrono::milliseconds(50);
  detail::tcp::waiter w;
  detail::tcp::connect_attempt d(w, at, hello_of(secret, 0, 1), o, duration::zero());
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (d.current_state() != detail::tcp::connect_attempt::state::peer_gone && steady_now() < deadline) {
    d.advance();
  }
  BOOST_TEST((d.current_state() == detail::tcp::connect_attempt::state::peer_gone));
}

/// The sockets of this process, each with a number that no other one has.
[[nodiscard]] std::set<std::string> sockets() {
  std::set<std::string> all;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the directory itself
    all.insert(std::filesystem::read_symlink(entry, gone).string());
  }
  return all;
}

/// The system asks less and less often whether a full listener has room, so a connect_attempt does that itself.
BOOST_AUTO_TEST_CASE(a_full_listener_is_tried_anew) {
  descriptor const listener = net::listen(net::resolve("127.0.0.1", 0).front(), 0);
  net::address const at = net::local_address(listener.get());
  std::vector<descriptor> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.push_back(net::begin_connect(at));
  }
  detail::tcp::waiter w;
  detail::tcp::connect_attempt d(w, at, hello_of(secret, 0, 1), known_world(), duration::zero());
  auto const until = [&](auto done) {
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    while (!done() && steady_now() < deadline) {
      d.advance();
    }
    return done();
  };
  d.advance();
  BOOST_REQUIRE(!d.has_sent());
  std::set<std::string> const first = sockets();
  BOOST_TEST(until([&] { return !std::ranges::includes(first, sockets()); }), "there is no second attempt");
  crowd.clear();
  std::vector<descriptor> guests;
  BOOST_TEST(until([&] {
    if (descriptor one = net::accept(listener.get())) {
      guests.push_back(std::move(one));
    }
    return d.is_delivered();
  }));
  std::set<std::string> const last = sockets();
  time_point const later = steady_now() + std::chrono::milliseconds(1500);  // an attempt that is heard stays
  while (steady_now() < later) {
    d.advance();
  }
  BOOST_TEST(std::ranges::includes(last, sockets()));
}

/// A rank whose own attempt is stuck at a full listener takes the peer's.
BOOST_AUTO_TEST_CASE(the_peer_of_a_full_listener_is_reached) {
  tcp_ranks world(2, known_world());
  tutti::host_port at;
  BOOST_REQUIRE(net::parse(world[1].address(), at));
  net::address const listener = net::resolve(at.host, at.port).front();
  for (bool room = true; room;) {  // those that have closed again wait at the listener, too
    descriptor const one = net::begin_connect(listener);
    room = wait_ready(one.get(), POLLOUT, steady_now() + std::chrono::milliseconds(100));
    write_some(one.get(), bytes_of("x"));
  }
  std::ignore = world[0].send(1, {0, 0}, {}, 1);
  std::ignore = world[1].send(0, {0, 0}, {}, 1);
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (world[0].connections() == 0 && steady_now() < deadline) {
    world[0].poll();  // and the other one, which would empty its queue, does not
  }
  BOOST_TEST(world[0].connections() == 1U);
}

/// A member that turns mad after the handshake is a fault that names it, whatever it sends.
BOOST_AUTO_TEST_CASE(unsound_frames_are_a_fault) {
  auto const frame_with = [](auto change) {
    detail::tcp::frame f;
    f.kind = detail::tcp::frame_kind::piece;
    f.sender_call = laws::a_call(1);
    f.bytes = f.part = 4;
    change(f);
    return f;
  };
  std::vector<detail::tcp::frame> const mad{
      frame_with([](auto& f) { f.mark = 0; }),
      frame_with([](auto& f) { f.kind = static_cast<detail::tcp::frame_kind>(0); }),
      frame_with([](auto& f) { f.kind = static_cast<detail::tcp::frame_kind>(200); }),
      frame_with([](auto& f) { f.lane = lane_count; }),
      frame_with([](auto& f) { f.part = 5; }),
      frame_with([](auto& f) { f.part = 0; }),
      frame_with([](auto& f) { f.sender_call.kind = static_cast<operation_kind>(250); }),
  };
  for (detail::tcp::frame const& f : mad) {
    tcp_ranks world(2, known_world());
    intruder const member(world[1]);
    detail::tcp::hello const h = hello_of(secret, 0, 1);
    member.say(raw(h));
    member.say(detail::tcp::bytes_of(f));
    BOOST_TEST(world.until([&] { return static_cast<bool>(world[1].fault()); }) == "");
    BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(protocol, culprit 0, reporter 1)");
  }
}

/// Random bytes after the handshake end in a fault or in nothing, never worse.
BOOST_AUTO_TEST_CASE(random_bytes_of_a_member) {
  std::uint32_t dice = 1;
  for (int round = 0; round < 100; ++round) {
    tcp_ranks world(2, known_world());
    intruder const member(world[1]);
    detail::tcp::hello const h = hello_of(secret, 0, 1);
    member.say(raw(h));
    for (int i = 0; i < 20; ++i) {
      detail::tcp::frame f;
      auto bytes = std::as_writable_bytes(std::span(&f, 1)).subspan(4);  // a good mark, so that it goes on
      for (std::byte& b : bytes) {
        dice = dice * 1664525U + 1013904223U;
        b = static_cast<std::byte>(dice >> 24);
      }
      f.kind = static_cast<detail::tcp::frame_kind>(1 + dice % 5);
      f.lane = static_cast<std::uint8_t>(dice % lane_count);
      f.sender_call.kind = operation_kind::allreduce;
      f.part %= 1000;
      f.bytes = f.part + f.bytes % 1000;
      member.say(detail::tcp::bytes_of(f));
    }
    for (int i = 0; i < 50; ++i) {
      world[1].poll();
      try {
        for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
          if (world[1].view(0, {lane, 0}, {4, 4, nullptr})) {
            world[1].release(0, {lane, 0});
          }
        }
      } catch (error const& e) {
        BOOST_TEST((e.kind() == failure::mismatch));
      }
    }
  }
}

}  // namespace
