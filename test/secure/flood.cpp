// SPDX-License-Identifier: Apache-2.0
// test: plain waits (processes that meet while another one floods their ports)
//
// A world with a secret joins and sums while a process makes connections to its ports as fast as it can.
#include <support/flood.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/join.hpp>
#include <tutti/secure.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tutti::rank_type;
using tutti::support::flood_kind;

constexpr rank_type size = 4;
constexpr char const* secret = "sixteen or more letters";
constexpr std::uint64_t most_connections = 10'000;
constexpr auto limit = 20s;  // time to join, and for each operation

/// A port of 127.0.0.1 at which nothing listens.
std::uint16_t free_port() {
  return tutti::detail::net::local_address(
             tutti::detail::net::listen(tutti::detail::net::resolve("127.0.0.1", 0).front()).get())
      .port();
}

/// A claim that a rank of a larger world with this secret has made. Copies of a rank's own claim may keep that rank
/// from joining; those of others may not.
std::string other_claim() {
  auto [guest, host] = tutti::detail::stream_pair();
  tutti::detail::channel line(std::move(guest));
  std::ignore = tutti::detail::claim_rank(line, tutti::detail::net::proof_key(tutti::detail::net::make_secret(secret)),
                                          size, tutti::steady_now());
  std::string claim(256, '\0');
  ssize_t const bytes = ::recv(host.get(), claim.data(), claim.size(), 0);
  BOOST_REQUIRE(bytes > 0);
  claim.resize(static_cast<std::size_t>(bytes));
  return claim;
}

/// Joins and sums. Returns a complaint, or "".
template <class Transport>
std::string join_and_sum(tutti::support::flood_board& board) {
  auto const begin = tutti::steady_now();
  auto world = tutti::join<Transport>();
  if (tutti::steady_now() - begin > limit) {
    return "it took too long to join";
  }
  tutti::support::greetings_of = &board;  // notes hellos
  world.deadline(limit);
  tutti::host_port at;
  if (!tutti::detail::net::parse(world.transport().address(), at)) {
    return "a rank has no address";
  }
  board.add(at.port);
  std::vector<rank_type> const own_numbers(size, world.rank());
  std::vector<rank_type> numbers(size);
  tutti::alltoall{world, tutti::direct{}}(own_numbers, numbers);  // makes all connections
  for (rank_type r = 0; r != size; ++r) {
    if (numbers[r] != r) {
      return "an alltoall is wrong";
    }
  }
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  bool is_flooded = true;
  for (int k = 0; is_flooded; ++k) {
    std::vector<int> v(1000, k + static_cast<int>(world.rank()));
    v.back() = world.rank() == 0 && board.connection_count < most_connections ? 1 : 0;
    sum(v);
    is_flooded = v.back() != 0;
    int const expected = static_cast<int>(size) * k + 6;
    if (std::count(v.begin(), v.end() - 1, expected) != static_cast<std::ptrdiff_t>(v.size()) - 1) {
      return "a sum is not " + std::to_string(expected);
    }
  }
  return "";
}

template <class Transport>
void check(flood_kind kind) {
  std::uint16_t const port = free_port();
  auto const begin = tutti::steady_now();
  tutti::support::flood const strangers(kind, port);
  strangers.board().add(port, other_claim());
  for (auto const& end : tutti::detail::run_processes(size, [&](tutti::detail::process_rendezvous& at) {
         auto const set = [](char const* name, std::string const& value) { ::setenv(name, value.c_str(), 1); };
         set("TUTTI_RANK", std::to_string(at.rank()));
         set("TUTTI_SIZE", std::to_string(size));
         set("TUTTI_JOB", "flood");
         set("TUTTI_MASTER_ADDR", "127.0.0.1");
         set("TUTTI_MASTER_PORT", std::to_string(port));
         set("TUTTI_SECRET", secret);
         return join_and_sum<Transport>(strangers.board());
       })) {
    std::string const complaint = end ? end.value() : end.failure().text;
    BOOST_TEST(complaint == "");
  }
  double const seconds = std::chrono::duration<double>(tutti::steady_now() - begin).count();
  std::printf("%s, %s: %.0f connections a second for %.2f s\n", std::string(Transport::name).c_str(),
              tutti::support::name_of(kind), static_cast<double>(strangers.board().connection_count) / seconds,
              seconds);
}

}  // namespace

BOOST_AUTO_TEST_CASE(silent_connections) {
  check<tutti::tcp>(flood_kind::silence);
}

BOOST_AUTO_TEST_CASE(random_bytes) {
  check<tutti::tcp>(flood_kind::noise);
}

// Copies of hellos come closest to OpenSSL.
using transports = std::tuple<tutti::tcp, tutti::secure_tcp>;
BOOST_AUTO_TEST_CASE_TEMPLATE(copied_claims_and_hellos, Transport, transports) {
  check<Transport>(flood_kind::copies);
}

BOOST_AUTO_TEST_CASE(beginnings_of_claims_and_hellos) {
  check<tutti::tcp>(flood_kind::beginnings);
}
