// SPDX-License-Identifier: Apache-2.0
// test: address thread left_to_sanitizers starved
#define BOOST_TEST_MODULE bootstrap_shrink_meeting
#include <support/process_ranks.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tutti;
using namespace tutti::detail;

static std::atomic<int> polls{0};

/// Replaces the C library's poll, to count the calls of this process.
extern "C" int poll(pollfd* set, nfds_t size, int milliseconds) {
  ++polls;
  timespec const limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return static_cast<int>(::syscall(SYS_ppoll, set, size, milliseconds < 0 ? nullptr : &limit, nullptr, 0));
}

namespace {

/// Leaves this process `spare` free descriptors, and returns the limit from before.
rlim_t leave_descriptors(rlim_t spare) {
  std::filesystem::directory_iterator const mine("/proc/self/fd");
  rlimit few{};
  ::getrlimit(RLIMIT_NOFILE, &few);
  rlim_t const before = few.rlim_cur;
  few.rlim_cur = static_cast<rlim_t>(std::distance(begin(mine), end(mine))) - 1 + spare;
  ::setrlimit(RLIMIT_NOFILE, &few);
  return before;
}

/// The listeners of n members, and their addresses.
struct listeners {
  explicit listeners(rank_type n) {
    for (rank_type r = 0; r != n; ++r) {
      all.push_back(net::listen(net::resolve("127.0.0.1", 0).front()));
      places.push_back(net::local_address(all.back().get()));
    }
  }
  /// Member r, which takes over its listener.
  [[nodiscard]] shrink_meeting member(rank_type r) { return {r, std::move(all[r]), places, "a world"}; }

  std::vector<descriptor> all;
  std::vector<net::address> places;
};

/// Waits for a connection, and closes it.
void turn_one_away(int listener) {
  wait_ready(listener, POLLIN, steady_now() + 20s);
  std::ignore = net::accept(listener);
}

/// True for the error of a member that finds too few of the others.
[[nodiscard]] bool fails_to_shrink(error const& e) {
  return e.kind() == failure::join && std::string_view(e.what()).find("may be alive") != std::string_view::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_travel_and_nothing_else_is_one) {
  shrink_message const sent{"a world", 3, {0, 3, 70'000}};
  std::string const text = sent.text();
  shrink_message got;
  BOOST_REQUIRE(got.parse(text));
  BOOST_TEST(got.world == sent.world);
  BOOST_TEST(got.rank == sent.rank);
  BOOST_TEST(got.members == sent.members);
  BOOST_TEST(got.counts(70'000));
  BOOST_TEST(!got.counts(1));
  for (std::size_t less = 0; less != text.size(); ++less) {
    BOOST_TEST(!got.parse(std::string_view(text).substr(0, less)));
  }
  BOOST_TEST(!got.parse(text + "x"));
}

/// Silent connections queue before a member at the host's listener: more than the host reads at a time, and more than
/// it has descriptors for.
BOOST_AUTO_TEST_CASE(pending_connections_keep_no_member_out) {
  for (bool const few_descriptors : {false, true}) {
    auto const said = support::process_ranks::run(2, [&](process_rendezvous& meet) -> support::verdict {
      descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front());
      std::vector<net::address> places;
      for (std::string const& port : meet.exchange(std::to_string(net::local_address(listener.get()).port()))) {
        places.push_back(net::resolve("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port))).front());
      }
      std::vector<descriptor> crowd;
      while (meet.rank() == 1 && crowd.size() != 300) {
        crowd.push_back(net::connect(places[0], steady_now() + 10s));
      }
      meet.exchange("");
      if (few_descriptors && meet.rank() == 0) {
        leave_descriptors(32);
      }
      shrink_meeting members(meet.rank(), std::move(listener), places, "a world");
      return members.meet(10s).size() == 2 ? "" : "went on alone";
    });
    for (support::verdict const& one : said) {
      BOOST_TEST(one == "");
    }
  }
}

/// Only its listener shows that a host has died; a closed connection does not.
BOOST_AUTO_TEST_CASE(a_host_that_closes_a_line_is_not_taken_for_gone) {
  listeners at(2);
  std::thread host(turn_one_away, at.all[0].get());
  shrink_meeting guest = at.member(1);
  BOOST_CHECK_EXCEPTION(std::ignore = guest.meet(500ms), error, fails_to_shrink);
  host.join();
}

BOOST_AUTO_TEST_CASE(a_guest_that_is_turned_away_comes_again) {
  listeners at(2);
  rank_type together = 0;
  std::thread host([&] {
    turn_one_away(at.all[0].get());
    together = at.member(0).meet(20s).size();
  });
  shrink_meeting guest = at.member(1);
  BOOST_TEST(guest.meet(20s).size() == 2U);
  host.join();
  BOOST_TEST(together == 2U);
}

/// A member that closes the host's watch on its listener does not count as dead.
BOOST_AUTO_TEST_CASE(a_member_that_closes_a_watch_is_not_taken_for_gone) {
  listeners at(3);
  std::thread first(turn_one_away, at.all[1].get());
  std::thread second(turn_one_away, at.all[2].get());
  shrink_meeting host = at.member(0);
  BOOST_CHECK_EXCEPTION(std::ignore = host.meet(500ms), error, fails_to_shrink);
  first.join();
  second.join();
}

/// A host without a free descriptor waits for one without busy polling; a member that comes while it waits is accepted
/// as soon as one is free.
BOOST_AUTO_TEST_CASE(a_host_without_descriptors_rests) {
  auto const said = support::process_ranks::run(2, [&](process_rendezvous& meet) -> support::verdict {
    descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front());
    std::vector<net::address> places;
    for (std::string const& port : meet.exchange(std::to_string(net::local_address(listener.get()).port()))) {
      places.push_back(net::resolve("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port))).front());
    }
    shrink_meeting members(meet.rank(), std::move(listener), places, "a world");
    if (meet.rank() == 1) {
      return members.meet(20s).size() == 2 ? "" : "went on alone";
    }
    rlim_t const before = leave_descriptors(0);
    std::vector<descriptor> gaps;  // fill the free descriptor numbers below the limit
    while (descriptor last{[] { return ::dup(0); }}) {
      gaps.push_back(std::move(last));
    }
    int const asked = polls;
    std::thread relief([&] {
      ::usleep(1'000'000);
      rlimit many{};
      ::getrlimit(RLIMIT_NOFILE, &many);
      many.rlim_cur = before;
      ::setrlimit(RLIMIT_NOFILE, &many);
    });
    rank_type const together = members.meet(20s).size();
    relief.join();
    int const polled = polls - asked;
    return together != 2  ? "went on alone"
           : polled < 200 ? ""
                          : "asked " + std::to_string(polled) + " times in a second";
  });
  for (support::verdict const& one : said) {
    BOOST_TEST(one == "");
  }
}
