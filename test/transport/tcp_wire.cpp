// SPDX-License-Identifier: Apache-2.0
// test: address thread optimised waits
#include "puppet_stream.hpp"
#include "tcp_world.hpp"
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/wire.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

namespace {

using namespace tutti;
using namespace tutti::laws;
using tutti::support::puppet_stream;
using tutti::support::tcp_ranks;

bool const has_streams = (tutti::detail::tcp::registered_streams = &tutti::detail::tcp::calls_of<puppet_stream>, true);
world_secret const& secret = tutti::support::secret_of_tests;

/// The transport tcp, over puppet streams.
struct puppet_tcp : tutti::tcp {
  template <locates_hosts M>
  explicit puppet_tcp(M& meet, tcp_options settings = {})
      : tcp(meet, (settings.encryption = true, std::move(settings))) {}
};

struct amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{2, 1 << 20}, delivery_amount{5, 100'003}};
  static constexpr std::array flows{flow_amount{2, 500}, flow_amount{4, 100}};
  static constexpr std::array<std::size_t, 2> left_unread{8, 300'000};
  static constexpr std::array destructions{delivery_amount{2, 10'000}, delivery_amount{5, 100}};
  static constexpr int quiescences = 20;
  static constexpr std::array slept{sleep_amount{2, 1000, 4}, sleep_amount{3, 200, 1000}, sleep_amount{3, 10, 300'000}};
  static constexpr std::array<release_amount, 0> releases{};  // a release sends nothing to a sender that has copied
};
using ranks_by_puppet = world<puppet_tcp, tutti::support::secret_ranks<>>;
using connected_ranks = world_with_connections<puppet_tcp, tutti::support::secret_ranks<>>;
using test_cases = transport_cases<ranks_by_puppet, amounts, connected_ranks>;

::support::cases const delivering = test_cases::delivering();
::support::cases const failing = test_cases::failing();
::support::cases const sleeping = test_cases::sleeping();

[[nodiscard]] tcp_options encrypted_world() {
  tcp_options o;
  o.encryption = true;
  return o;
}

/// Bytes that a stream has read, and the socket no longer shows, keep a rank awake until it has taken them.
BOOST_AUTO_TEST_CASE(hidden_bytes_keep_a_rank_awake) {
  tcp_ranks world(2, encrypted_world(), secret);
  BOOST_TEST(world.deliver(0, 1, {0, 0}, 8) == "");
  std::vector<std::byte> const message(20'000);
  std::vector<std::byte> place(message.size());
  for (int round = 0; round < 50; ++round) {
    auto const send = [&](std::uint32_t lane, std::size_t bytes) {
      for (std::size_t sent_bytes = 0; sent_bytes != bytes; world[0].poll()) {
        sent_bytes += world[0].send(1, {lane, 0}, std::span(message).subspan(sent_bytes, bytes - sent_bytes), 1).bytes;
      }
    };
    auto const is_awake = [&] {
      pollfd bell{world[1].arm(), POLLIN, 0};
      int const ready = ::poll(&bell, 1, 0);
      world[1].disarm();
      return ready != 0;
    };
    send(0, message.size());
    send(1, 8);
    for (std::size_t received_bytes = 0; received_bytes != message.size();) {
      world[0].poll();
      if (chunk const c =
              world[1].view(0, {0, 0}, {message.size() - received_bytes, 1, place.data() + received_bytes})) {
        received_bytes += c.bytes;
        world[1].release(0, {0, 0});
      }
    }
    BOOST_TEST(is_awake());
    BOOST_TEST(world.run_until([&] { return !is_awake(); }) == "");
    BOOST_TEST(static_cast<bool>(world[1].view(0, {1, 0}, {8, 1, nullptr})));
    world[1].release(0, {1, 0});
  }
}

/// A peer whose bytes were changed on the path is a fault, and no message of it arrives.
BOOST_AUTO_TEST_CASE(changed_bytes_are_a_fault) {
  tcp_ranks world(2, encrypted_world(), secret);
  BOOST_TEST(world.deliver(0, 1, {0, 0}, 1000) == "");
  puppet_stream::damaged_records = 1;
  BOOST_TEST(world.deliver(0, 1, {0, 0}, 1000) == "fault(protocol, culprit 0, reporter 1)");
  BOOST_REQUIRE(!world[1].incidents().empty());
  BOOST_TEST(world[1].incidents().back() == "rank 0, or somebody on the path, sent bytes that cannot be decrypted");
}

BOOST_AUTO_TEST_CASE(encryption_needs_a_secret_and_a_library) {
  auto const objection_to = [](world_secret const& key) -> std::string {
    tutti::detail::thread_meeting place(1, std::chrono::seconds(30));
    tutti::detail::thread_rendezvous at(place, 0);
    tutti::support::secret_rendezvous meet{at, key};
    try {
      tutti::tcp t(meet, encrypted_world());
    } catch (error const& e) {
      BOOST_TEST((e.kind() == failure::join));
      return e.what();
    }
    return "";
  };
  BOOST_TEST(objection_to(secret) == "");
  BOOST_TEST(objection_to({}).find("set TUTTI_SECRET_FILE or TUTTI_SECRET") != std::string::npos);
  auto const* const streams = std::exchange(tutti::detail::tcp::registered_streams, nullptr);
  BOOST_TEST(objection_to(secret).find("include <tutti/secure.hpp>") != std::string::npos);
  tutti::detail::tcp::registered_streams = streams;
}

}  // namespace
