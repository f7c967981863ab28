// SPDX-License-Identifier: Apache-2.0
// test: address starved
#define BOOST_TEST_MODULE net_greeter
#include <tutti/detail/net/greeter.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

namespace net = tutti::detail::net;
using namespace std::chrono_literals;
using tutti::detail::descriptor;

namespace {

struct pending {
  descriptor socket;
  std::string said = {};

  [[nodiscard]] int fd() const noexcept { return socket.get(); }
};

/// A greeting is a line; one that begins with '!' is foreign.
struct visitor {
  std::vector<std::string> arrived;
  std::vector<std::string> turned_away;

  [[nodiscard]] static pending begin(descriptor s) { return {std::move(s)}; }
  [[nodiscard]] static net::heard hear(pending& p) {
    char some[64];
    auto const m = tutti::detail::read_some(p.fd(), std::as_writable_bytes(std::span(some)));
    p.said.append(some, m.bytes);
    if (p.said.starts_with('!')) {
      return {.complete = false, .objection = "foreign"};
    }
    bool const complete = p.said.ends_with('\n');
    bool const closed = !complete && m.state == tutti::detail::io::closed;
    return {.complete = complete, .objection = closed ? "closed" : nullptr};
  }
  void arrive(pending const& p) { arrived.push_back(p.said); }
  void turn_away(pending const& p, char const* why) { turned_away.push_back(p.said + ": " + why); }
};

struct place {
  descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front());
  net::greeter<pending> all;
  visitor at;

  /// A connection that waits, with what it has said.
  [[nodiscard]] descriptor comes(std::string_view saying) const {
    descriptor s = net::connect(net::local_address(listener.get()), tutti::steady_now() + 5s);
    BOOST_REQUIRE(s);
    tutti::detail::write_some(s.get(), tutti::detail::bytes_of(saying));
    while (net::unacknowledged(s.get()) != 0) {
      std::this_thread::yield();
    }
    return s;
  }
  void accept() { all.accept_some(listener.get(), at); }
  /// Waits for one of the pending connections, and hears those that are ready.
  void hear() {
    std::vector<pollfd> set;
    all.append_to(set);
    tutti::detail::poll_until(set, tutti::steady_now() + 5s);
    all.hear_ready(set, 0, at);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_is_heard_until_it_has_greeted_or_is_turned_away) {
  place p;
  descriptor const whole = p.comes("a\n");
  descriptor const foreign = p.comes("!");
  descriptor const slow = p.comes("b");
  descriptor leaves = p.comes("c");
  p.accept();
  BOOST_TEST(p.at.arrived == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_TEST(p.at.turned_away == std::vector<std::string>{"!: foreign"}, boost::test_tools::per_element());
  leaves.reset();
  p.hear();
  BOOST_TEST(p.at.turned_away.back() == "c: closed");
  tutti::detail::write_some(slow.get(), tutti::detail::bytes_of("\n"));
  p.hear();
  BOOST_TEST(p.at.arrived.back() == "b\n");
  BOOST_TEST(p.all.empty());
}

BOOST_AUTO_TEST_CASE(the_oldest_makes_room) {
  place p;
  std::vector<descriptor> crowd;
  for (std::size_t i = 0; i != net::greeter<pending>::most_pending + 3; ++i) {
    crowd.push_back(p.comes(std::to_string(i)));
  }
  p.accept();  // as many as there is room for
  BOOST_TEST(p.at.turned_away.empty());
  descriptor const member = p.comes("a\n");
  p.accept();
  BOOST_TEST(p.at.arrived == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_REQUIRE(p.at.turned_away.size() == 4U);
  BOOST_TEST(p.at.turned_away.front() == "0: it made room for a newer connection");
}

/// Where descriptors run out pending connections make room, too; where there is none, that is said.
BOOST_AUTO_TEST_CASE(want_of_descriptors_turns_pending_ones_away) {
  place p;
  descriptor const silent = p.comes("b");
  p.accept();
  descriptor const member = p.comes("a\n");
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::filesystem::directory_iterator const mine("/proc/self/fd");
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(std::distance(begin(mine), end(mine))) - 1;
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<descriptor> gaps;  // among the numbers of descriptors below that
  while (descriptor last{[] { return ::dup(0); }}) {
    gaps.push_back(std::move(last));
  }
  p.accept();
  descriptor const another = descriptor([] { return ::dup(0); });  // in place of the member's
  BOOST_TEST(another.get() >= 0);
  bool const more = p.all.accept_one(p.listener.get(), p.at);
  int const starved = p.all.starved();
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(p.at.arrived == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_TEST(p.at.turned_away == std::vector<std::string>{"b: it made room for a newer connection"},
             boost::test_tools::per_element());
  BOOST_TEST(!more);
  BOOST_TEST(starved == EMFILE);
  p.accept();
  BOOST_TEST(p.all.starved() == 0);
}
