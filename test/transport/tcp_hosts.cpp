// SPDX-License-Identifier: Apache-2.0
// test: address may_skip (ranks are processes)
#include <support/network_spaces.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/shrink.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <thread>

namespace {

using namespace tutti;
using namespace tutti::detail;
using namespace std::chrono_literals;
using support::network_spaces;

/// Skips all tests, and counts them as skipped, if hosts cannot be made.
boost::test_tools::assertion_result hosts_can_be_made(boost::unit_test::test_unit_id) {
  static std::string const reason = network_spaces::obstacle();
  if (!reason.empty()) {
    std::cout << "SKIP: " << reason << '\n';
  }
  boost::test_tools::assertion_result result(reason.empty());
  result.message() << reason;
  return result;
}
auto const where_hosts_can_be_made = boost::unit_test::precondition(hosts_can_be_made);

/// A folder for a rendezvous.
struct folder {
  folder() {
    char base[] = "/tmp/tutti-test-XXXXXX";
    path = ::mkdtemp(base) == nullptr ? "" : base;
  }
  ~folder() { std::filesystem::remove_all(path); }
  std::string path;
};

struct settings {
  std::string interface[2];
  int node = 0;  ///< port of host 0 for the rendezvous; 0: through files
};

/// Runs ranks 0 and 2 on one host, rank 1 on the other. Returns the result of `f(world)` on each, or its failure.
template <class F>
std::vector<std::string> on_two_hosts(network_spaces& hosts, settings const& s, world_options<tutti::tcp> const& o,
                                      F const& f) {
  folder const place;
  std::vector<std::string> results;
  for (auto const& end : run_processes(3, [&](process_rendezvous& at) -> std::string {
         int const host = at.rank() == 1 ? 1 : 0;
         hosts.enter(host);
         environment e;
         e.rank = at.rank();
         e.size = 3;
         e.patience = 20s;
         e.directory = s.node == 0 ? place.path : "";
         e.master = {"fd00::1", static_cast<std::uint16_t>(s.node)};
         e.network_interface = s.interface[host];
         launched_rendezvous meet(e);
         tutti::communicator<tutti::tcp> world(meet, o);
         return f(world);
       })) {
    results.push_back(end.has_value() ? end.value() : end.failure().text);
  }
  return results;
}

/// A barrier of three processes that have no other connection.
class three_processes {
 public:
  three_processes()
      : come_(::new(::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                           0)) std::atomic<int>(0)) {}
  three_processes(three_processes const&) = delete;
  three_processes& operator=(three_processes const&) = delete;
  ~three_processes() { ::munmap(come_, sizeof *come_); }
  void meet() const {
    auto const end = steady_now() + 20s;
    for (++*come_; *come_ < 3 && steady_now() < end;) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int>* come_;
};

/// Returns "sum 6" if it is correct, over a connection between each two ranks.
std::string sums(tutti::communicator<tutti::tcp>& world) {
  allreduce sum{world, direct{}, tutti::sum<int>{}};
  std::vector<int> v(1000, static_cast<int>(world.rank()) + 1);
  sum(v);
  return "sum " + std::to_string(v.back());
}

void check_all_say(std::vector<std::string> const& results, std::string const& words) {
  for (std::string const& text : results) {
    BOOST_TEST(text.find(words) != text.npos, text);
  }
}

}  // namespace

BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(hosts_with_ipv6_alone_find_each_other) {
  network_spaces hosts;
  hosts.give_addresses();
  for (bool const default_route : {false, true}) {
    for (int host : {0, 1}) {
      if (default_route) {
        hosts.configure(host, "-6 route add default dev " + hosts.port(host));
        hosts.configure(host, "-4 route add default dev " + hosts.port(host));  // without an address
      }
    }
    BOOST_TEST(hosts.complaint() == "");
    check_all_say(on_two_hosts(hosts, {}, {}, sums), "sum 6");
  }
  check_all_say(on_two_hosts(hosts, {.interface = {}, .node = 29500}, {}, sums), "sum 6");
}

BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(link_local_addresses_serve_whatever_the_interfaces_are_called) {
  network_spaces hosts;
  for (int host : {0, 1}) {  // the system assigns one after a second of duplicate detection
    hosts.configure(host, "addr flush dev " + hosts.port(host));
    hosts.configure(host, "addr add fe80::" + std::to_string(host + 1) + "/64 dev " + hosts.port(host) + " nodad");
  }
  BOOST_TEST(hosts.complaint() == "");
  for (settings const& s : {settings{}, settings{{hosts.port(0), hosts.port(1)}, 0}}) {
    check_all_say(on_two_hosts(hosts, s, {},
                               [](tutti::communicator<tutti::tcp>& world) {
                                 std::string const results = sums(world);
                                 failure_detector detector{world};
                                 auto again = detector.shrink();
                                 return results + ", again " + sums(again);
                               }),
                  "sum 6, again sum 6");
  }
}

BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(loopback_addresses_between_hosts_are_refused_by_name) {
  network_spaces hosts;
  hosts.give_addresses();
  check_all_say(on_two_hosts(hosts, {{"", "lo"}, 0}, {}, sums),
                "rank 1 listens at 127.0.0.1, a loopback address that rank 0 on another host cannot reach; name its "
                "interface with TUTTI_INTERFACE");
}

BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(a_world_of_one_host_needs_any_loopback_address) {
  network_spaces hosts;
  auto const spawn_all = [&] {
    auto const ends = run_processes(1, [&](process_rendezvous&) -> std::string {
      hosts.enter(0);
      std::string text;
      for (auto const& end : spawn<tutti::tcp>(3, sums)) {
        text += end.has_value() ? end.value() + " " : end.failure().text;
      }
      return text;
    });
    return ends[0].has_value() ? ends[0].value() : ends[0].failure().text;
  };
  BOOST_TEST(spawn_all() == "sum 6 sum 6 sum 6 ");
  hosts.configure(0, "addr del 127.0.0.1/8 dev lo");
  BOOST_TEST(spawn_all() == "sum 6 sum 6 sum 6 ");
  hosts.configure(0, "addr flush dev lo");
  hosts.configure(0, "link set lo down");
  BOOST_TEST(hosts.complaint() == "");
  std::string const text = spawn_all();
  BOOST_TEST(text.find("neither 127.0.0.1 nor ::1: its interface lo is down") != text.npos, text);
}

BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(an_address_that_two_hosts_have_is_refused) {
  network_spaces hosts;
  hosts.give_addresses();
  for (int host : {0, 1}) {
    hosts.configure(host, "link add docker0 type veth peer name inside0");
    hosts.configure(host, "addr add 172.17.0.1/16 dev docker0");
    hosts.configure(host, "link set docker0 up");
    hosts.configure(host, "link set inside0 up");
  }
  BOOST_TEST(hosts.complaint() == "");
  check_all_say(on_two_hosts(hosts, {{"docker0", "docker0"}, 0}, {}, sums),
                "rank 0 and rank 1 are on different hosts, and both listen at 172.17.0.1");
}

/// A rank that lives but cannot be reached is not reported as gone: all ranks learn which two cannot connect, where and
/// why.
BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(a_rank_that_cannot_be_reached_is_not_gone) {
  struct obstacle {
    char const* route;  // from each host to the other
    int code;
  };
  for (auto const& [route, code] : {obstacle{"unreachable", EHOSTUNREACH}, obstacle{"prohibit", EACCES}}) {
    network_spaces hosts;
    hosts.give_addresses();
    world_options<tutti::tcp> o;
    o.deadline = 30s;
    o.transport.connect = 500ms;
    three_processes const barrier;
    auto const results = on_two_hosts(hosts, {}, o, [&](tutti::communicator<tutti::tcp>& world) -> std::string {
      if (world.rank() != 2) {
        hosts.configure(world.rank() == 0 ? 0 : 1,
                        std::string("-6 route add ") + route + " fd00::" + (world.rank() == 0 ? "2" : "1") + "/128");
      }
      barrier.meet();
      try {
        return sums(world);
      } catch (error const& e) {
        bool const names_both =
            e.at_fault() == std::vector<rank_type>{0, 1} || e.at_fault() == std::vector<rank_type>{1, 2};
        return (e.kind() == failure::unreachable && names_both ? "" : "otherwise: ") + std::string(e.what());
      }
    });
    BOOST_TEST(hosts.complaint() == "");
    bool has_time = false;
    for (std::string const& text : results) {
      BOOST_TEST(text.find("otherwise: ") == text.npos, text);
      BOOST_TEST(text.find("is gone") == text.npos, text);
      BOOST_TEST(text.find(" cannot connect to rank ") != text.npos, text);
      BOOST_TEST(text.find(" at [fd00::") != text.npos, text);
      BOOST_TEST(text.find(describe_errno(code)) != text.npos, text);
      has_time = has_time || text.find(", tried for ") != text.npos;
    }
    BOOST_TEST(has_time);
  }
}

/// A host that is lost before its first use is noticed after `connect`, not at the deadline.
BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(a_host_that_is_lost_before_its_first_use_is_named) {
  network_spaces hosts;
  hosts.give_addresses();
  world_options<tutti::tcp> o;
  o.deadline = 60s;
  o.transport.connect = 500ms;
  o.transport.silence = 2s;
  void* const page =
      ::mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(page != MAP_FAILED);
  auto* const is_lost = ::new (page) std::atomic<bool>(false);
  auto const begin = steady_now();
  auto const results = on_two_hosts(hosts, {}, o, [&](tutti::communicator<tutti::tcp>& world) -> std::string {
    if (world.rank() == 1) {
      hosts.configure(1, "link set " + hosts.port(1) + " down");
      *is_lost = true;
    }
    while (!*is_lost) {
      std::this_thread::yield();
    }
    return sums(world);
  });
  ::munmap(page, sizeof(std::atomic<bool>));
  BOOST_TEST((steady_now() - begin < 40s));
  for (rank_type const r : {0U, 2U}) {
    BOOST_TEST(results[r].find("rank 1 (") != std::string::npos, results[r]);
    BOOST_TEST(results[r].find(" cannot connect to rank ") != std::string::npos, results[r]);
    BOOST_TEST(results[r].find("TUTTI_INTERFACE") != std::string::npos, results[r]);
  }
}

/// True if this host has a connection with bytes that nobody has read: a greeting that waits for its answer.
bool has_unread_greeting() {
  std::ifstream table("/proc/net/tcp6");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues;
    words >> number >> local >> remote >> state >> queues;
    if (state == "01" && !queues.ends_with(":00000000")) {
      return true;
    }
  }
  return false;
}

/// A host that is lost between a greeting and its answer is noticed by the system's probes, not at the deadline.
BOOST_TEST_DECORATOR(*where_hosts_can_be_made)
BOOST_AUTO_TEST_CASE(a_host_that_is_lost_before_it_answers_a_greeting_is_named) {
  network_spaces hosts;
  hosts.give_addresses();
  world_options<tutti::tcp> o;
  o.deadline = 60s;
  o.transport.connect = 500ms;
  o.transport.silence = 2s;
  three_processes const barrier;
  auto const begin = steady_now();
  auto const results = on_two_hosts(hosts, {}, o, [&](tutti::communicator<tutti::tcp>& world) -> std::string {
    if (world.rank() == 1) {
      while (!has_unread_greeting() && steady_now() - begin < 20s) {
        std::this_thread::yield();
      }
      hosts.configure(1, "link set " + hosts.port(1) + " down");
      barrier.meet();  // until then its process lives
      return "lost";
    }
    std::string result;
    try {
      result = sums(world);
    } catch (error const& e) {
      result = e.what();
    }
    barrier.meet();
    return result;
  });
  BOOST_TEST((steady_now() - begin < 40s));
  for (rank_type const r : {0U, 2U}) {
    BOOST_TEST(results[r].find("rank 1 (") != std::string::npos, results[r]);
    BOOST_TEST(results[r].find("in time") == std::string::npos, results[r]);
  }
}
