// SPDX-License-Identifier: Apache-2.0
// test: address thread full_speed
//
// Processes of one host: their parent draws a secret for them.
#define BOOST_TEST_MODULE secure_spawn
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/secure.hpp>
#include <tutti/secure/detail/openssl_stream.hpp>
#include <tutti/shrink.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace detail = tutti::detail;

/// The number of encrypted connections that this process has begun.
int streams = 0;

/// Streams of OpenSSL that are counted.
detail::tcp::stream_calls const counted_streams = [] {
  detail::tcp::stream_calls calls = detail::tcp::calls_of<detail::secure::openssl_stream<>>;
  calls.open = [](int fd, bool is_client, detail::net::proof_key const& key) {
    ++streams;
    return detail::tcp::calls_of<detail::secure::openssl_stream<>>.open(fd, is_client, key);
  };
  return calls;
}();
bool const is_counting = [] {
  detail::tcp::registered_streams = &counted_streams;
  return detail::secure::is_registered;
}();

template <class World>
[[nodiscard]] std::string facts_of(World& world) {
  std::vector<int> values(100'000, static_cast<int>(world.rank()) + 1);
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  sum(values);
  int const expected = static_cast<int>(world.size() * (world.size() + 1) / 2);
  bool const is_sum = std::ranges::all_of(values, [&](int value) { return value == expected; });
  auto const secret = tutti::group_rendezvous(world, {world.rank()}, 0).secret();
  return std::string(is_sum ? "sum" : "no sum") + (secret ? ", secret" : ", no secret") +
         (streams != 0 ? ", encrypted" : "");
}

template <class Transport>
void check_facts(std::string const& expected) {
  BOOST_REQUIRE(is_counting);
  for (auto const& end : tutti::spawn<Transport>(3, [](auto& world) { return facts_of(world); })) {
    BOOST_TEST((end ? end.value() : end.failure().text) == expected);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_of_tcp_have_a_secret) {
  check_facts<tutti::tcp>("sum, secret");
}

BOOST_AUTO_TEST_CASE(processes_of_secure_tcp_encrypt) {
  check_facts<tutti::secure_tcp>("sum, secret, encrypted");
}

BOOST_AUTO_TEST_CASE(a_smaller_world_of_processes_has_the_secret) {
  auto const ends = tutti::spawn<tutti::secure_tcp>(3, [](auto& world) -> std::string {
    tutti::failure_detector detector(world);
    if (world.rank() == 1) {
      return "left";
    }
    try {
      return "not failed: " + facts_of(world);
    } catch (tutti::error const&) {
      streams = 0;
      auto smaller = detector.shrink();
      return facts_of(smaller);
    }
  });
  for (tutti::rank_type const r : {0U, 2U}) {
    BOOST_TEST((ends[r] ? ends[r].value() : ends[r].failure().text) == "sum, secret, encrypted");
  }
}
