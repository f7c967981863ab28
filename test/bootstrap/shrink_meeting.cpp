// SPDX-License-Identifier: Apache-2.0
// test: address thread starved
#define BOOST_TEST_MODULE bootstrap_shrink_meeting
#include <support/process_ranks.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/packing.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
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
static std::atomic<int> connects{0};

/// Replaces the C library's poll, to count the calls of this process.
extern "C" int poll(pollfd* set, nfds_t size, int milliseconds) {
  ++polls;
  timespec const limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return static_cast<int>(::syscall(SYS_ppoll, set, size, milliseconds < 0 ? nullptr : &limit, nullptr, 0));
}

/// Replaces the C library's connect, to count the calls of this process.
extern "C" int connect(int socket, sockaddr const* address, socklen_t length) {
  ++connects;
  return static_cast<int>(::syscall(SYS_connect, socket, address, length));
}

namespace {

/// Leaves this process `spare` free descriptors, and returns the limit from before.
rlim_t leave_descriptors(rlim_t spare) {
  std::filesystem::directory_iterator const descriptors("/proc/self/fd");
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlim_t const old_limit = limit.rlim_cur;
  limit.rlim_cur = static_cast<rlim_t>(std::distance(begin(descriptors), end(descriptors))) - 1 + spare;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return old_limit;
}

/// The listeners of n members, and their addresses.
struct listeners {
  explicit listeners(rank_type n) {
    for (rank_type r = 0; r != n; ++r) {
      sockets.push_back(net::listen(net::resolve("127.0.0.1", 0).front()));
      places.push_back(net::local_address(sockets.back().get()));
    }
  }
  /// Member r, which takes over its listener.
  [[nodiscard]] shrink_meeting member(rank_type r) { return {r, std::move(sockets[r]), places, "a world"}; }

  std::vector<descriptor> sockets;
  std::vector<net::address> places;
};

/// Agrees to shrink, and returns the rendezvous of the survivors.
tutti::detail::survivors survivors_of(shrink_meeting& meeting, tutti::duration patience) {
  meeting.agree(detector_call::shrink, 0, patience);
  return meeting.take_survivors(patience);
}
tutti::detail::survivors survivors_of(shrink_meeting&& meeting, tutti::duration patience) {
  return survivors_of(meeting, patience);
}

/// A connection to a listener that says nothing, or the beginning of a frame.
descriptor stranger(shrink_listener const& listener, std::string_view words) {
  std::string const info = listener.endpoint_info();
  unpacker u(info);
  std::string const host(u.text());
  descriptor line = net::connect(net::resolve(host, u.number_as<std::uint16_t>()).front(), steady_now() + 5s);
  BOOST_REQUIRE(line);
  BOOST_REQUIRE(::send(line.get(), words.data(), words.size(), 0) == static_cast<ssize_t>(words.size()));
  return line;
}

/// The number of connections that wait at a listener to be accepted, once there are `least`.
std::size_t waiting_connections(shrink_listener const& listener, std::size_t least) {
  std::string const info = listener.endpoint_info();
  unpacker u(info);
  u.text();
  auto const port = u.number_as<std::uint16_t>();
  std::size_t count = 0;
  for (time_point const deadline = steady_now() + 20s; count < least && steady_now() < deadline;) {
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues;
      words >> number >> local >> remote >> state >> queues;
      if (state == "0A" && std::stoul(local.substr(local.find(':') + 1), nullptr, 16) == port) {
        count = std::stoul(queues.substr(queues.find(':') + 1), nullptr, 16);
      }
    }
  }
  return count;
}

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
  shrink_message original{"a world", 3, shrink_message::step::proposal, 7, {8, 9}, detector_call::shrink, 10, {}};
  original.content = {11, {12, 13}, detector_call::shrink, 14, {0, 3, 70'000}};
  std::string const text = original.text();
  shrink_message copy;
  BOOST_REQUIRE(copy.parse(text));
  BOOST_TEST(copy.world == original.world);
  BOOST_TEST(copy.rank == original.rank);
  BOOST_TEST((copy.kind == original.kind && copy.round == original.round && copy.number == original.number));
  BOOST_TEST((copy.call == original.call && copy.value == original.value && copy.content == original.content));
  BOOST_TEST(copy.content.counts(70'000));
  BOOST_TEST(!copy.content.counts(1));
  for (std::size_t less = 0; less != text.size(); ++less) {
    BOOST_TEST(!copy.parse(std::string_view(text).substr(0, less)));
  }
  BOOST_TEST(!copy.parse(text + "x"));
}

BOOST_AUTO_TEST_CASE(a_table_without_the_text_of_this_rank_is_an_error) {
  shrink_listener const other("127.0.0.1");
  for (rank_type const rank : {0U, 1U, 2U}) {
    shrink_listener listener_of_rank("127.0.0.1");
    std::vector<std::string> const table{listener_of_rank.endpoint_info(), other.endpoint_info()};
    auto const is_told = [&](error const& e) {
      return e.kind() == failure::join && e.at_fault() == std::vector{rank} &&
             std::string_view(e.what()).find("that of rank " + std::to_string(rank) + " is not the one that it gave") !=
                 std::string_view::npos;
    };
    if (rank == 0) {
      BOOST_TEST(listener_of_rank.meeting(rank, table).members().size() == 2U);
    } else {
      BOOST_CHECK_EXCEPTION(std::ignore = listener_of_rank.meeting(rank, table), error, is_told);
    }
  }
}

BOOST_AUTO_TEST_CASE(silent_connections_take_no_room_at_a_listener) {
  shrink_listener const listener("127.0.0.1");
  descriptor const silent = stranger(listener, "");
  descriptor const speaking = stranger(listener, frame_magic);
  BOOST_TEST(waiting_connections(listener, 1) == 1U);
}

/// The host's watch is no silent connection, so the system closes it when the member ends.
BOOST_AUTO_TEST_CASE(a_member_that_ends_is_noticed_at_a_listener_that_awaits_data) {
  shrink_listener first("127.0.0.1");
  std::vector<std::string> table{first.endpoint_info()};
  std::thread host;
  rank_type size = 0;
  {
    shrink_listener second("127.0.0.1");
    table.push_back(second.endpoint_info());
    host = std::thread([&] { size = survivors_of(first.meeting(0, table), 20s).size(); });
    BOOST_TEST(waiting_connections(second, 1) == 1U);
  }
  host.join();
  BOOST_TEST(size == 1U);
}

/// The system repeats its attempts to connect to a full queue after one second, two, four, and so on.
BOOST_AUTO_TEST_CASE(a_guest_of_a_host_with_a_full_queue_begins_again) {
  descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front(), 0);
  std::vector<net::address> places{net::local_address(listener.get())};
  std::vector<descriptor> crowd;
  do {
    crowd.push_back(net::connect(places[0], steady_now() + 100ms));
  } while (crowd.back());
  descriptor listener_of_rank = net::listen(net::resolve("127.0.0.1", 0).front());
  places.push_back(net::local_address(listener_of_rank.get()));
  int const first_count = connects;
  rank_type size = 0;
  std::thread guest(
      [&] { size = survivors_of(shrink_meeting(1, std::move(listener_of_rank), places, "a world"), 20s).size(); });
  time_point const deadline = steady_now() + 10s;
  while (connects < first_count + 3 && steady_now() < deadline) {
    std::this_thread::yield();
  }
  BOOST_TEST(connects >= first_count + 3);
  BOOST_TEST(survivors_of(shrink_meeting(0, std::move(listener), places, "a world"), 20s).size() == 2U);
  guest.join();
  BOOST_TEST(size == 2U);
}

/// Silent connections queue before a member at the host's listener: more than the host reads at a time, and more than
/// it has descriptors for.
BOOST_AUTO_TEST_CASE(pending_connections_keep_no_member_out) {
  for (bool const few_descriptors : {false, true}) {
    auto const verdicts = support::process_ranks::run(2, [&](process_rendezvous& meet) -> support::verdict {
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
      return survivors_of(members, 10s).size() == 2 ? "" : "continued alone";
    });
    for (support::verdict const& verdict : verdicts) {
      BOOST_TEST(verdict == "");
    }
  }
}

/// Texts of an exchange are short: an oversized one is not stored.
BOOST_AUTO_TEST_CASE(a_text_without_end_is_named_and_not_kept) {
  listeners group(2);
  std::string guest_text;
  std::thread other([&] {
    try {
      std::ignore = survivors_of(group.member(1), 20s).exchange(std::string(10'000'000, 'x'));
    } catch (error const& e) {
      guest_text = e.what();
    }
  });
  BOOST_CHECK_EXCEPTION(std::ignore = survivors_of(group.member(0), 20s).exchange(""), error, [](error const& e) {
    return std::string_view(e.what()).find("rank 1 of the world before gave a text of more than 2097152 bytes") !=
               std::string_view::npos &&
           e.at_fault() == std::vector<rank_type>{1};
  });
  other.join();
  BOOST_TEST(!guest_text.empty());
}

/// Only its listener shows that a host has died; a closed connection does not.
BOOST_AUTO_TEST_CASE(a_host_that_closes_a_line_is_not_taken_for_gone) {
  listeners group(2);
  std::thread host(turn_one_away, group.sockets[0].get());
  shrink_meeting guest = group.member(1);
  BOOST_CHECK_EXCEPTION(std::ignore = survivors_of(guest, 500ms), error, fails_to_shrink);
  host.join();
}

BOOST_AUTO_TEST_CASE(a_guest_that_is_turned_away_comes_again) {
  listeners group(2);
  rank_type size = 0;
  std::thread host([&] {
    turn_one_away(group.sockets[0].get());
    size = survivors_of(group.member(0), 20s).size();
  });
  shrink_meeting guest = group.member(1);
  BOOST_TEST(survivors_of(guest, 20s).size() == 2U);
  host.join();
  BOOST_TEST(size == 2U);
}

/// A member that closes the host's watch on its listener does not count as dead.
BOOST_AUTO_TEST_CASE(a_member_that_closes_a_watch_is_not_taken_for_gone) {
  listeners group(3);
  std::thread first(turn_one_away, group.sockets[1].get());
  std::thread second(turn_one_away, group.sockets[2].get());
  shrink_meeting host = group.member(0);
  BOOST_CHECK_EXCEPTION(std::ignore = survivors_of(host, 500ms), error, fails_to_shrink);
  first.join();
  second.join();
}

/// A host without a free descriptor waits for one without busy polling; a member that comes while it waits is accepted
/// as soon as one is free.
BOOST_AUTO_TEST_CASE(a_host_without_descriptors_rests) {
  auto const verdicts = support::process_ranks::run(2, [&](process_rendezvous& meet) -> support::verdict {
    descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front());
    std::vector<net::address> places;
    for (std::string const& port : meet.exchange(std::to_string(net::local_address(listener.get()).port()))) {
      places.push_back(net::resolve("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port))).front());
    }
    shrink_meeting members(meet.rank(), std::move(listener), places, "a world");
    if (meet.rank() == 1) {
      return survivors_of(members, 20s).size() == 2 ? "" : "continued alone";
    }
    rlim_t const old_limit = leave_descriptors(0);
    std::vector<descriptor> gaps;  // fill the free descriptor numbers below the limit
    while (descriptor last{[] { return ::dup(0); }}) {
      gaps.push_back(std::move(last));
    }
    int const first_count = polls;
    std::thread relief([&] {
      ::usleep(1'000'000);
      rlimit limit{};
      ::getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = old_limit;
      ::setrlimit(RLIMIT_NOFILE, &limit);
    });
    rank_type const size = survivors_of(members, 20s).size();
    relief.join();
    int const count = polls - first_count;
    return size != 2 ? "continued alone" : count < 200 ? "" : "asked " + std::to_string(count) + " times in a second";
  });
  for (support::verdict const& verdict : verdicts) {
    BOOST_TEST(verdict == "");
  }
}
