// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include "tcp_world.hpp"
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <barrier>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

BOOST_AUTO_TEST_CASE(only_neighbours_are_connected) {
  constexpr rank_type n = 6;
  tcp_ranks world(n);
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world[r].connections() == 0U);
  }
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world.deliver(r, (r + 1) % n, {0, 0}, 1000) == "");
  }
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(world[r].connections() == 2U);
    BOOST_TEST(world[r].incidents().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_only_waits_connects) {
  tcp_ranks world(2);
  for (rank_type const waits : {1U, 0U}) {
    rank_type const other = 1 - waits;
    BOOST_TEST(world.run_until([&] {
      BOOST_TEST(!world[waits].view(other, {0, 0}, {4, 4, nullptr}));
      return world[other].connections() == 1;  // a rank that has only polled
    }) == "");
  }
}

/// Both ranks connect at the same moment, many times: one connection stays, nothing is lost. Every second world has a
/// secret.
BOOST_AUTO_TEST_CASE(both_connect_at_once) {
  constexpr int rounds = 150;
  world_secret const& secret = support::secret_of_tests;
  for (int round = 0; round < rounds; ++round) {
    constexpr rank_type n = 3;
    std::barrier start(n);
    auto const verdicts = support::thread_ranks::run(n, [&](auto& meet) -> support::verdict {
      support::secret_rendezvous at{meet, round % 2 == 0 ? world_secret() : secret};
      tutti::tcp t(at);
      start.arrive_and_wait();
      std::vector<laws::planned_message> const sizes{{0, 100}, {0, 300'000}, {0, 0}};
      support::verdict const bad = support::run(t, {laws::all_to_all_messages(t.rank(), n, {0, 0}, sizes)});
      return !bad.empty()               ? bad
             : t.connections() != n - 1 ? "too many connections"
             : !t.incidents().empty()   ? t.incidents()[0]
                                        : "";
    });
    laws::check_all(verdicts);
  }
}

/// A rank that has welcomed another one, and gets no confirmation in time, connects itself. The other one, which has an
/// answer to confirm and a request to answer by then, chooses one of them: one connection stays.
BOOST_AUTO_TEST_CASE(a_request_that_crosses_a_late_confirmation) {
  tcp_options o;
  o.handshake = std::chrono::milliseconds(1);
  for (bool const accepts_first : {true, false}) {
    tcp_ranks world(2, o, support::secret_of_tests);
    std::vector<std::byte> const message(4);
    auto const offer = [&](rank_type r) { return world[r].send(1 - r, {1, 0}, message, 1).is_accepted; };
    BOOST_TEST(!offer(1));
    for (time_point const end = steady_now() + 20 * o.handshake; steady_now() < end;) {
      BOOST_TEST(!offer(0));
      world[0].poll();
    }
    if (accepts_first) {
      world[1].poll();
    }
    BOOST_TEST(world.run_until([&, has_sent = std::array<bool, 2>{}]() mutable {
      for (rank_type const r : {1U, 0U}) {
        has_sent[r] = has_sent[r] || offer(r);
      }
      return (has_sent[0] && has_sent[1]) || world[0].fault() || world[1].fault();
    }) == "");
    for (rank_type const r : {0U, 1U}) {
      BOOST_TEST(world.deliver(r, 1 - r, {0, 0}, 1000) == "");
      BOOST_TEST(world[r].connections() == 1U);
    }
  }
}

/// Ranks that could not understand each other are named before the first connection, by all ranks.
BOOST_AUTO_TEST_CASE(another_version_secret_or_encryption_is_named) {
  using detail::tcp::endpoint_info;
  world_secret const& secret = support::secret_of_tests;
  world_secret const other = make_secret("another, as long as this");
  net::address const at = net::resolve("127.0.0.1", 4711).front();
  auto const objection = [&](endpoint_info const& first, endpoint_info const& second) -> std::string {
    std::string text;
    try {
      std::ignore = detail::tcp::directions_of({first.text(), second.text()}, at, secret);
    } catch (error const& e) {
      text = e.what();
      BOOST_TEST((e.kind() == failure::join));
      BOOST_TEST(e.at_fault() == std::vector<rank_type>{1}, boost::test_tools::per_element());
    }
    return text;
  };
  endpoint_info const usual = endpoint_info::make(at, {}, secret);
  endpoint_info newer = usual;
  newer.version = detail::tcp::hello::expected_version + 1;
  BOOST_TEST(objection(usual, endpoint_info::make(at, {}, secret)) == "");
  BOOST_TEST(
      objection(usual, newer).starts_with("rank 1 speaks version 9 of the protocol of tcp, and rank 0 version 8"));
  BOOST_TEST(objection(usual, endpoint_info::make(at, {}, {})).starts_with("rank 1 has no secret, and rank 0 has one"));
  BOOST_TEST(objection(endpoint_info::make(at, {}, {}), usual).starts_with("rank 1 has a secret, and rank 0 has none"));
  BOOST_TEST(
      objection(usual, endpoint_info::make(at, {}, other)).starts_with("rank 1 and rank 0 have different secrets"));
  tcp_options encryption;
  encryption.encryption = true;
  endpoint_info const unlike = endpoint_info::make(at, encryption, secret);
  BOOST_TEST(objection(usual, unlike).starts_with("rank 1 encrypts, and rank 0 does not"));
  BOOST_TEST(objection(unlike, usual).starts_with("rank 1 does not encrypt, and rank 0 does"));
}

/// A meeting of one rank that returns another text than the rank has published.
struct changing_rendezvous {
  std::vector<std::string> (*change)(std::string);

  [[nodiscard]] rank_type rank() const { return 0; }
  [[nodiscard]] rank_type size() const { return 1; }
  std::vector<std::string> exchange(std::string_view text) const { return change(std::string(text)); }
};

/// A meeting whose members hear different texts is an error, with or without a secret.
BOOST_AUTO_TEST_CASE(a_meeting_that_changes_the_own_text_is_refused) {
  auto const objection = [](std::vector<std::string> (*change)(std::string),
                            world_secret const& secret) -> std::string {
    changing_rendezvous const at{change};
    support::secret_rendezvous meet{at, secret};
    try {
      tutti::tcp t(meet);
    } catch (error const& e) {
      BOOST_TEST((e.kind() == failure::join));
      return e.what();
    }
    return "";
  };
  std::string const reason = "the meeting returned another text for rank 0 than this rank has published: '";
  for (world_secret const& secret : {world_secret(), support::secret_of_tests}) {
    BOOST_TEST(objection([](std::string text) { return std::vector{text}; }, secret) == "");
    BOOST_TEST(objection([](std::string text) { return std::vector{text + "x"}; }, secret).starts_with(reason));
    BOOST_TEST(objection([](std::string) { return std::vector<std::string>{}; }, secret).starts_with(reason));
  }
}

/// The key of a world's hellos is another in each world of one secret.
BOOST_AUTO_TEST_CASE(each_world_has_a_key_of_its_own) {
  world_secret const& secret = support::secret_of_tests;
  net::address const at = net::resolve("127.0.0.1", 4711).front();
  tcp_options o;
  o.world = {1, 2};
  std::string const text = detail::tcp::endpoint_info::make(at, o, secret).text();
  std::string const next = detail::tcp::endpoint_info::make(at, o, secret).text();
  auto const proof_by = [&](std::vector<std::string> const& texts) {
    return detail::tcp::directions_of(texts, at, secret).key.prove("x", {});
  };
  BOOST_TEST((proof_by({text, text}) == proof_by({text, text})));
  BOOST_TEST((proof_by({text, text}) != proof_by({text, next})));
  BOOST_TEST((proof_by({text, next}) != proof_by({next, text})));
}

BOOST_AUTO_TEST_CASE(the_interface_can_be_named) {
  for (char const* const name : {"lo", "127.0.0.1", "127.0.0.2"}) {
    tcp_options o;
    o.network_interface = name;
    tcp_ranks world(2, o);
    BOOST_TEST(world.deliver(0, 1, {0, 0}, 10) == "");
    BOOST_TEST(world[0].address().starts_with("127.0.0."));
  }
  thread_meeting place(1, std::chrono::seconds(30));
  thread_rendezvous meet(place, 0);
  tcp_options o;
  o.network_interface = "nosuch0";
  BOOST_CHECK_EXCEPTION(tutti::tcp(meet, o), error, [](error const& e) {
    return e.kind() == failure::join && std::string(e.what()).find("nosuch0") != std::string::npos;
  });
}

}  // namespace
