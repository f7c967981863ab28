// SPDX-License-Identifier: Apache-2.0
// test: address starved
#define BOOST_TEST_MODULE net_handshake_server
#include <tutti/detail/net/handshake_server.hpp>

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
  std::string text = {};

  [[nodiscard]] int fd() const noexcept { return socket.get(); }
};

/// A greeting is a line; one that begins with '!' is foreign.
struct visitor {
  std::vector<std::string> arrivals;
  std::vector<std::string> refusals;

  [[nodiscard]] static pending begin(descriptor s) { return {std::move(s)}; }
  [[nodiscard]] static net::handshake_state hear(pending& p) {
    char buffer[64];
    auto const m = tutti::detail::read_some(p.fd(), std::as_writable_bytes(std::span(buffer)));
    p.text.append(buffer, m.bytes);
    if (p.text.starts_with('!')) {
      return {.complete = false, .objection = "foreign"};
    }
    bool const complete = p.text.ends_with('\n');
    bool const is_closed = !complete && m.state == tutti::detail::io::hangup;
    return {.complete = complete, .objection = is_closed ? "closed" : nullptr};
  }
  void arrive(pending const& p) { arrivals.push_back(p.text); }
  void turn_away(pending const& p, char const* reason) { refusals.push_back(p.text + ": " + reason); }
};

struct place {
  descriptor listener = net::listen(net::resolve("127.0.0.1", 0).front());
  net::handshake_server<pending> handshake_server;
  visitor results;

  /// Opens a connection that waits at the listener, with a text already sent.
  [[nodiscard]] descriptor connect(std::string_view text) const {
    descriptor s = net::connect(net::local_address(listener.get()), tutti::steady_now() + 5s);
    BOOST_REQUIRE(s);
    tutti::detail::write_some(s.get(), tutti::detail::bytes_of(text));
    while (net::unacknowledged_bytes(s.get()) != 0) {
      std::this_thread::yield();
    }
    return s;
  }
  void accept() { handshake_server.accept_some(listener.get(), results); }
  /// Waits for a pending connection, and reads all that are ready.
  void hear() {
    std::vector<pollfd> set;
    handshake_server.append_to(set);
    tutti::detail::poll_until(set, tutti::steady_now() + 5s);
    handshake_server.hear_ready(set, 0, results);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_is_heard_until_it_has_greeted_or_is_turned_away) {
  place p;
  descriptor const whole = p.connect("a\n");
  descriptor const foreign = p.connect("!");
  descriptor const slow = p.connect("b");
  descriptor leaves = p.connect("c");
  p.accept();
  BOOST_TEST(p.results.arrivals == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_TEST(p.results.refusals == std::vector<std::string>{"!: foreign"}, boost::test_tools::per_element());
  leaves.reset();
  p.hear();
  BOOST_TEST(p.results.refusals.back() == "c: closed");
  tutti::detail::write_some(slow.get(), tutti::detail::bytes_of("\n"));
  p.hear();
  BOOST_TEST(p.results.arrivals.back() == "b\n");
  BOOST_TEST(p.handshake_server.empty());
}

BOOST_AUTO_TEST_CASE(the_oldest_makes_room) {
  place p;
  std::vector<descriptor> crowd;
  for (std::size_t i = 0; i != net::handshake_server<pending>::max_pending + 3; ++i) {
    crowd.push_back(p.connect(std::to_string(i)));
  }
  p.accept();  // fills the server
  BOOST_TEST(p.results.refusals.empty());
  descriptor const member = p.connect("a\n");
  p.accept();
  BOOST_TEST(p.results.arrivals == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_REQUIRE(p.results.refusals.size() == 4U);
  BOOST_TEST(p.results.refusals.front() == "0: it made room for a newer connection");
}

/// Pending connections make room when descriptors run out; if there is none to close, the server reports the errno.
BOOST_AUTO_TEST_CASE(want_of_descriptors_turns_pending_ones_away) {
  place p;
  descriptor const silent = p.connect("b");
  p.accept();
  descriptor const member = p.connect("a\n");
  rlimit usual_limit{};
  ::getrlimit(RLIMIT_NOFILE, &usual_limit);
  std::filesystem::directory_iterator const descriptors("/proc/self/fd");
  rlimit low_limit = usual_limit;
  low_limit.rlim_cur = static_cast<rlim_t>(std::distance(begin(descriptors), end(descriptors))) - 1;
  ::setrlimit(RLIMIT_NOFILE, &low_limit);
  std::vector<descriptor> gaps;  // unused numbers below that limit
  while (descriptor last{[] { return ::dup(0); }}) {
    gaps.push_back(std::move(last));
  }
  p.accept();
  descriptor const replacement = descriptor([] { return ::dup(0); });  // takes the place of the member's
  BOOST_TEST(replacement.get() >= 0);
  bool const more = p.handshake_server.accept_one(p.listener.get(), p.results);
  int const resource_error = p.handshake_server.resource_error();
  ::setrlimit(RLIMIT_NOFILE, &usual_limit);
  BOOST_TEST(p.results.arrivals == std::vector<std::string>{"a\n"}, boost::test_tools::per_element());
  BOOST_TEST(p.results.refusals == std::vector<std::string>{"b: it made room for a newer connection"},
             boost::test_tools::per_element());
  BOOST_TEST(!more);
  BOOST_TEST(resource_error == EMFILE);
  p.accept();
  BOOST_TEST(p.handshake_server.resource_error() == 0);
}
