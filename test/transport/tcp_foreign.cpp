// SPDX-License-Identifier: Apache-2.0
// test: address starved (one thread drives all ranks)
#define BOOST_TEST_MODULE transport_tcp_foreign
#include "tcp_world.hpp"
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/call_checker.hpp>
#include <tutti/detail/tcp/hello_prover.hpp>
#include <tutti/detail/tcp/mesh.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
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
    connect(net::resolve(at.host, at.port).front());
  }
  explicit intruder(net::address const& victim) { connect(victim); }
  void connect(net::address const& victim) {
    socket = net::connect(victim, steady_now() + std::chrono::seconds(5));
    BOOST_REQUIRE(static_cast<bool>(socket));
  }
  void say(std::span<std::byte const> bytes) const { write_some(socket.get(), bytes); }
  void say(std::string_view text) const { say(bytes_of(text)); }

  descriptor socket;
};

[[nodiscard]] detail::tcp::hello hello_of(detail::tcp::world_id const& world, rank_type sender, rank_type receiver) {
  detail::tcp::hello h;
  h.world = world;
  h.kind = detail::tcp::hello_kind::connect;
  h.sender = sender;
  h.receiver = receiver;
  h.window = 1 << 20;
  return h;
}
[[nodiscard]] std::span<std::byte const> raw(detail::tcp::hello const& h) {
  return std::as_bytes(std::span(&h, 1));
}
template <class Rank>
[[nodiscard]] bool tells(Rank const& t, std::string_view text) {
  return std::any_of(t.incidents().begin(), t.incidents().end(),
                     [&](std::string const& i) { return i.find(text) != i.npos; });
}

constexpr detail::tcp::world_id known_id{0x1234, 0x5678};

[[nodiscard]] tcp_options known_world() {
  tcp_options o;
  o.world = known_id;
  o.handshake = std::chrono::milliseconds(50);
  return o;
}

/// Runs a rank until it closes an intruder's connection or has sent `max_bytes`. Returns the bytes that came.
template <class Poll>
[[nodiscard]] std::vector<std::byte> reply_to(intruder const& stranger, std::size_t max_bytes, Poll const& poll) {
  std::vector<std::byte> bytes(max_bytes);
  std::size_t count = 0;
  time_point const deadline = steady_now() + std::chrono::seconds(20);
  for (io state = io::open; state == io::open && steady_now() < deadline;) {
    poll();
    io_result const m = read_some(stranger.socket.get(), std::span(bytes).subspan(count));
    count += m.bytes;
    state = m.state;
  }
  bytes.resize(count);
  return bytes;
}

/// A rank of a world with a secret, and a member of that world whose hellos a test writes.
struct proved_world {
  static constexpr rank_type size = 3;

  proved_world() {
    detail::tcp::directions world{{}, known_id, key()};
    for (rank_type r = 0; r < size; ++r) {
      world.addresses.push_back(r == 1 ? net::local_address(listener.get()) : rank.listening_address());
    }
    rank.meet(world);
  }
  [[nodiscard]] static net::proof_key key(char const* text = "sixteen or more letters") {
    return net::proof_key(net::make_secret(text));
  }
  /// The hello of rank 1, without a proof.
  [[nodiscard]] static detail::tcp::hello request(detail::tcp::hello_kind kind) {
    detail::tcp::hello h = hello_of(known_id, 1, 0);
    h.kind = kind;
    h.fault = fault{failure::deadline, 2, 1}.pack();
    return h;
  }
  [[nodiscard]] std::vector<std::byte> answer_to(detail::tcp::hello const& h) {
    intruder const stranger(rank.listening_address());
    stranger.say(raw(h));
    return reply_to(stranger, sizeof h, [&] { rank.poll(); });
  }
  [[nodiscard]] detail::tcp::hello parsed_answer_to(detail::tcp::hello const& h) {
    std::vector<std::byte> const bytes = answer_to(h);
    detail::tcp::hello answer;
    BOOST_REQUIRE(bytes.size() == sizeof answer);
    std::memcpy(static_cast<void*>(&answer), bytes.data(), sizeof answer);
    return answer;
  }

  net::address place = net::resolve("127.0.0.1", 0).front();
  detail::tcp::mesh rank{known_world(), place, 0, size};
  descriptor listener = net::listen(place);  ///< the place of rank 1
  detail::tcp::hello_prover prover{key(), size};
};

/// A stranger that has heard the number of a world, and does not know its secret, ends no world, learns nothing, and is
/// not taken for a rank.
BOOST_AUTO_TEST_CASE(a_forged_hello_ends_no_world) {
  using detail::tcp::hello_kind;
  proved_world world;
  std::size_t incident_count = 0;
  auto const expect_silence = [&](detail::tcp::hello const& h) {
    BOOST_TEST(world.answer_to(h).empty());
    BOOST_TEST(!world.rank.fault());
    BOOST_TEST(world.rank.connections() == 0U);
    BOOST_REQUIRE(world.rank.incidents().size() == ++incident_count);
    BOOST_TEST(world.rank.incidents().back().ends_with("no proof that it knows the secret"));
  };
  for (hello_kind const kind : {hello_kind::connect, hello_kind::revoke, hello_kind::excuse}) {
    detail::tcp::hello h = world.request(kind);
    expect_silence(h);
    detail::tcp::hello_prover other(proved_world::key("another, as long as this"), proved_world::size);
    other.prove_request(h);
    expect_silence(h);
    world.prover.prove_answer(h, h);
    expect_silence(h);
    for (std::size_t const place : {48U, 56U, 64U, 72U, 103U}) {
      h = world.request(kind);
      world.prover.prove_request(h);
      std::as_writable_bytes(std::span(&h, 1))[place] ^= std::byte{1};
      expect_silence(h);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_replayed_hello_is_refused) {
  using detail::tcp::hello_kind;
  proved_world world;
  detail::tcp::hello request = world.request(hello_kind::connect);
  world.prover.prove_request(request);
  detail::tcp::hello const answer = world.parsed_answer_to(request);
  BOOST_TEST((answer.kind == hello_kind::welcome));
  BOOST_TEST(world.prover.objection_to_answer(answer, request) == nullptr);
  for (int copy = 1; copy < 3; ++copy) {  // each may be the original
    detail::tcp::hello const next = world.parsed_answer_to(request);
    BOOST_TEST((next.kind == hello_kind::welcome));
    BOOST_TEST((world.prover.confirm(request, next) != world.prover.confirm(request, answer)));
  }
  BOOST_TEST(world.answer_to(request).empty());
  BOOST_TEST(tells(world.rank, "a greeting that came before"));
  detail::tcp::hello const first = request;
  world.prover.prove_request(request);
  BOOST_TEST(world.prover.objection_to_answer(world.parsed_answer_to(request), request) == nullptr);
  BOOST_TEST(world.prover.objection_to_answer(answer, request) != nullptr);
  BOOST_TEST(world.answer_to(first).empty());
  BOOST_TEST(world.rank.connections() == 0U);
}

/// Nothing is accepted before the addresses of the ranks are known.
BOOST_AUTO_TEST_CASE(no_connection_precedes_the_meeting) {
  detail::tcp::mesh rank(known_world(), net::resolve("127.0.0.1", 0).front(), 0, 2);
  intruder const early(rank.listening_address());
  early.say("GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    rank.poll();
    rank.probe();
  }
  rank.lose(1);
  BOOST_TEST(rank.incidents().empty());
}

/// Complete hellos that are refused are as few in a call as other strangers, and a pause follows.
BOOST_AUTO_TEST_CASE(complete_hellos_of_another_world_make_a_pause) {
  for (bool const has_secret : {false, true}) {
    tcp_ranks world(2, known_world(), has_secret ? support::secret_of_tests : world_secret());
    std::vector<intruder> flood;
    for (std::size_t i = 0; i < 200; ++i) {
      flood.emplace_back(world[1]).say(raw(hello_of(has_secret ? known_id : detail::tcp::world_id{1, 2}, 0, 1)));
    }
    world[1].poll();
    auto const is_closed = [](intruder const& i) {
      std::byte target{};
      return read_some(i.socket.get(), {&target, 1}).state == io::hangup;
    };
    BOOST_TEST(std::ranges::count_if(flood, is_closed) == 32);
    BOOST_TEST(tells(world[1], has_secret ? "no proof" : "another world"));
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 100) == "");
  }
}

/// A program that answers in place of a peer must prove that it knows the secret, too.
BOOST_AUTO_TEST_CASE(answers_are_proved) {
  using detail::tcp::hello_kind;
  detail::tcp::hello_prover other(proved_world::key("another, as long as this"), proved_world::size);
  for (std::string_view const forgery : {"none", "no proof", "another key", "another number", "a request"}) {
    proved_world world;
    descriptor socket;
    detail::tcp::hello request;
    std::size_t request_bytes = 0;
    bool is_answered = false;
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    while (!world.rank.fault() && world.rank.find(1) == nullptr && steady_now() < deadline) {
      std::ignore = world.rank.reach(1);
      if (!socket) {
        socket = net::accept(world.listener.get());
      } else if (!is_answered) {
        auto const rest = std::as_writable_bytes(std::span(&request, 1)).subspan(request_bytes);
        request_bytes += read_some(socket.get(), rest).bytes;
        if (request_bytes == sizeof request) {
          BOOST_TEST(world.prover.objection_to_request(request) == nullptr);
          detail::tcp::hello answer = world.request(hello_kind::welcome);
          if (forgery == "another key") {
            other.prove_answer(answer, request);
          } else if (forgery == "another number") {
            ++request.number;
            world.prover.prove_answer(answer, request);
          } else if (forgery == "a request") {
            world.prover.prove_request(answer);
          } else if (forgery == "none") {
            world.prover.prove_answer(answer, request);
          }
          write_some(socket.get(), raw(answer));
          is_answered = true;
        }
      }
    }
    BOOST_TEST((world.rank.find(1) != nullptr) == (forgery == "none"), forgery);
    BOOST_TEST(tells(world.rank, "no proof that it knows the secret") == (forgery != "none"), forgery);
    BOOST_TEST(support::describe_fault(world.rank.fault()) ==
               (forgery == "none" ? support::describe_fault({}) : "fault(peer lost, culprit 1, reporter 0)"));
  }
}

/// A peer of version 5 sends 64 bytes and waits for as many, in which it finds the version. With a secret it is a
/// stranger, which learns nothing.
BOOST_AUTO_TEST_CASE(an_older_version_is_told) {
  detail::tcp::hello old = hello_of(known_id, 0, 1);
  old.version = 5;
  for (bool const has_secret : {false, true}) {
    tcp_ranks world(2, known_world(), has_secret ? net::make_secret("sixteen or more letters") : world_secret());
    intruder const stranger(world[1]);
    stranger.say(raw(old).first(64));
    std::vector<std::byte> const bytes = reply_to(stranger, 100, [&] { world.poll(); });
    BOOST_TEST(bytes.size() == (has_secret ? 0U : 64U));
    if (!has_secret) {
      detail::tcp::hello answer{};
      std::memcpy(static_cast<void*>(&answer), bytes.data(), bytes.size());
      BOOST_TEST(answer.version == detail::tcp::hello::expected_version);
      BOOST_TEST(answer.objection(known_id, 0, 2) != nullptr);
    }
    BOOST_TEST(tells(world[1], "another version of the protocol"));
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 100) == "");
  }
}

/// Each stranger is refused and recorded while messages travel, and disturbs none.
BOOST_AUTO_TEST_CASE(unknown_peers_are_refused_while_messages_travel) {
  tcp_ranks world(2, known_world());
  std::vector<intruder> intruders;
  auto const attack = [&](auto const&... words) {
    for (rank_type victim : {0U, 1U}) {
      intruders.emplace_back(world[victim]);
      (intruders.back().say(words), ...);
      BOOST_TEST(world.deliver(0, 1, {0, 0}, 300'000) == "");
      BOOST_TEST(world.deliver(1, 0, {1, 0}, 5) == "");
    }
  };
  attack("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  attack(std::string(100'000, '\xff'));
  attack();  // sends nothing, and may not even be accepted
  attack("tutti");
  detail::tcp::hello h = hello_of({1, 2}, 0, 1);
  attack(raw(h));
  h = hello_of(known_id, 7, 1);
  attack(raw(h));
  h = hello_of(known_id, 1, 1);
  attack(raw(h));
  h = hello_of(known_id, 0, 0);
  attack(raw(h));
  h = hello_of(known_id, 0, 1);
  h.version = 77;
  attack(raw(h));
  h.version = detail::tcp::hello::expected_version;
  h.order = 0x04030201;
  attack(raw(h));
  h.order = detail::tcp::hello::expected_order;
  h.kind = static_cast<detail::tcp::hello_kind>(99);
  attack(raw(h));
  intruders.clear();  // closes the silent ones
  intruders.emplace_back(world[0]).say("tut");
  intruders.clear();
  intruders.emplace_back(world[0]).say("tutti");

  BOOST_TEST(world.run_until([&] {
    return tells(world[0], "did not say which rank it is") && tells(world[0], "closed early");
  }) == "");
  for (char const* const reason :
       {"not the protocol", "another world", "an invalid greeting", "another version", "another byte order"}) {
    BOOST_TEST(tells(world[1], reason), reason);
  }
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(!world[r].fault());
    BOOST_TEST(world[r].connections() == 1U);
  }
}

/// Returns the number of descriptors of this process.
[[nodiscard]] std::size_t descriptors() {
  std::filesystem::directory_iterator const entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// Floods keep members out only briefly, take few descriptors, and are recorded up to a bound. Once all their
/// connections are seen, they wake no rank.
BOOST_AUTO_TEST_CASE(floods_are_survived) {
  for (std::string_view const words : {"", "tut"}) {
    tcp_options o = known_world();
    o.handshake = std::chrono::hours(1);
    tcp_ranks world(2, o);
    std::size_t const usual_count = descriptors();
    std::vector<intruder> flood;
    for (std::size_t i = 0; i < 400; ++i) {
      flood.emplace_back(world[1]).say(words);
    }
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 100) == "");
    BOOST_TEST(world.run_until([&] {
      pollfd bell{world[1].arm(), POLLIN, 0};
      int const ready = ::poll(&bell, 1, 0);
      world[1].disarm();
      return ready == 0;
    }) == "");
    BOOST_TEST(descriptors() <= usual_count + flood.size() + 2 + 64);
    BOOST_TEST(world[1].incidents().size() < 100U);
    BOOST_TEST(world.deliver(1, 0, {1, 0}, 100) == "");
  }
}

/// A rank without descriptors reports that, and names itself.
BOOST_AUTO_TEST_CASE(too_few_descriptors_are_reported) {
  tcp_ranks world(2, known_world());
  std::vector<descriptor> fillers;
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit low_limit = usual;
  low_limit.rlim_cur = descriptors() + 8;
  ::setrlimit(RLIMIT_NOFILE, &low_limit);
  do {
    fillers.emplace_back([] { return ::dup(0); });
  } while (fillers.back());
  std::string text;
  try {
    for (int i = 0; i < 100; ++i) {
      std::ignore = world[0].send(1, {0, 0}, {}, 1);
    }
  } catch (error const& e) {
    text = e.what();
    BOOST_TEST(e.at_fault() == std::vector<rank_type>{0}, boost::test_tools::per_element());
  }
  fillers.clear();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(text.find("no connection to rank 1 can be made: Too many open files") != text.npos, text);
  BOOST_TEST(text.find("ulimit -n") != text.npos, text);
  BOOST_TEST(world.run_until([&] { return static_cast<bool>(world[1].fault()); }) == "");
  BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(cancelled, culprit 0, reporter 0)");
}

/// A host that was lost before its first use answers nothing, not even that no process listens.
BOOST_AUTO_TEST_CASE(a_host_that_does_not_answer_is_lost_after_connect) {
  descriptor const deaf = net::listen(net::resolve("127.0.0.1", 0).front(), 0);  // its queue fills up
  net::address const at = net::local_address(deaf.get());
  std::vector<descriptor> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(net::begin_connect(at));
  }
  tcp_options o = known_world();
  o.connect = std::chrono::milliseconds(50);
  detail::tcp::waiter w;
  detail::tcp::hello_prover no_prover;
  detail::tcp::connect_attempt d(w, at, hello_of(known_id, 0, 1), no_prover, o, duration::zero());
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (d.current_state() != detail::tcp::connect_attempt::state::peer_gone && steady_now() < deadline) {
    d.advance();
  }
  BOOST_TEST((d.current_state() == detail::tcp::connect_attempt::state::peer_gone));
}

/// The sockets of this process, each with a unique number.
[[nodiscard]] std::set<std::string> sockets() {
  std::set<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code result;  // the directory itself
    names.insert(std::filesystem::read_symlink(entry, result).string());
  }
  return names;
}

/// The system repeats its request to a full listener ever more rarely, so a connect_attempt tries again itself.
BOOST_AUTO_TEST_CASE(a_full_listener_is_tried_anew) {
  descriptor const listener = net::listen(net::resolve("127.0.0.1", 0).front(), 0);
  net::address const at = net::local_address(listener.get());
  std::vector<descriptor> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.push_back(net::begin_connect(at));
  }
  detail::tcp::waiter w;
  detail::tcp::hello_prover no_prover;
  detail::tcp::connect_attempt d(w, at, hello_of(known_id, 0, 1), no_prover, known_world(), duration::zero());
  auto const advance_until = [&](auto is_done) {
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    while (!is_done() && steady_now() < deadline) {
      d.advance();
    }
    return is_done();
  };
  d.advance();
  BOOST_REQUIRE(!d.has_sent());
  std::set<std::string> const first = sockets();
  BOOST_TEST(advance_until([&] { return !std::ranges::includes(first, sockets()); }), "there is no second attempt");
  crowd.clear();
  std::vector<descriptor> guests;
  BOOST_TEST(advance_until([&] {
    if (descriptor accepted_socket = net::accept(listener.get())) {
      guests.push_back(std::move(accepted_socket));
    }
    return d.is_delivered();
  }));
  std::set<std::string> const last = sockets();
  time_point const later = steady_now() + std::chrono::milliseconds(1500);  // an attempt that was accepted stays
  while (steady_now() < later) {
    d.advance();
  }
  BOOST_TEST(std::ranges::includes(last, sockets()));
}

/// A rank whose own attempt is stuck at a full listener takes the peer's connection.
BOOST_AUTO_TEST_CASE(the_peer_of_a_full_listener_is_reached) {
  tcp_ranks world(2, known_world());
  tutti::host_port at;
  BOOST_REQUIRE(net::parse(world[1].address(), at));
  net::address const listener = net::resolve(at.host, at.port).front();
  for (bool room = true; room;) {  // closed connections wait at the listener, too
    descriptor const caller = net::begin_connect(listener);
    room = wait_ready(caller.get(), POLLOUT, steady_now() + std::chrono::milliseconds(100));
    write_some(caller.get(), bytes_of("x"));
  }
  std::ignore = world[0].send(1, {0, 0}, {}, 1);
  std::ignore = world[1].send(0, {0, 0}, {}, 1);
  time_point const deadline = steady_now() + std::chrono::seconds(10);
  while (world[0].connections() == 0 && steady_now() < deadline) {
    world[0].poll();  // only this rank: the other one would empty its queue
  }
  BOOST_TEST(world[0].connections() == 1U);
}

/// A member that sends invalid frames after the handshake is a fault that names it.
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
    detail::tcp::hello const h = hello_of(known_id, 0, 1);
    member.say(raw(h));
    member.say(detail::tcp::bytes_of(f));
    BOOST_TEST(world.run_until([&] { return static_cast<bool>(world[1].fault()); }) == "");
    BOOST_TEST(support::describe_fault(world[1].fault()) == "fault(protocol, culprit 0, reporter 1)");
  }
}

/// Random bytes after the handshake end in a fault or in nothing, never worse.
BOOST_AUTO_TEST_CASE(random_bytes_of_a_member) {
  std::uint32_t dice = 1;
  for (int round = 0; round < 100; ++round) {
    tcp_ranks world(2, known_world());
    intruder const member(world[1]);
    detail::tcp::hello const h = hello_of(known_id, 0, 1);
    member.say(raw(h));
    for (int i = 0; i < 20; ++i) {
      detail::tcp::frame f;
      auto bytes = std::as_writable_bytes(std::span(&f, 1)).subspan(4);  // a valid mark, so that parsing continues
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
