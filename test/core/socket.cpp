// SPDX-License-Identifier: Apache-2.0
// test: address
#include <support/forked_child.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/environment.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace net = tutti::detail::net;
using namespace std::chrono_literals;

namespace {

tutti::time_point deadline_after(tutti::duration d) {
  return tutti::steady_now() + d;
}

net::address loopback(std::uint16_t port) {
  return net::resolve("127.0.0.1", port).at(0);
}

struct connection {
  tutti::detail::descriptor local;
  tutti::detail::descriptor remote;
};

connection make_connection() {
  auto const listener = net::listen(loopback(0));
  connection c;
  c.local = net::connect(net::local_address(listener.get()), deadline_after(5s));
  BOOST_REQUIRE(c.local);
  BOOST_REQUIRE(tutti::detail::wait_ready(listener.get(), POLLIN, deadline_after(5s)));
  c.remote = net::accept(listener.get());
  BOOST_REQUIRE(c.remote);
  return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(host_and_port_are_read_and_written) {
  struct {
    char const* text;
    char const* host;
    std::uint16_t port;
  } const valid_texts[] = {{"node7:29500", "node7", 29500},
                           {"10.0.0.1:0", "10.0.0.1", 0},
                           {"[::1]:65535", "::1", 65535},
                           {"[fe80::1%eth0]:80", "fe80::1%eth0", 80}};
  for (auto const& g : valid_texts) {
    tutti::host_port at;
    BOOST_TEST_REQUIRE(net::parse(g.text, at), g.text);
    BOOST_TEST(at.host == g.host);
    BOOST_TEST(at.port == g.port);
    BOOST_TEST(net::format(at) == g.text);
  }
  for (char const* text :
       {"", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:8o", "::1:80", "[::1]", "[]:1", "[host]:1",
        "host:+80", "a b:80", "host: 80", "host:000080", "http://x:80", "[::1:80"}) {
    tutti::host_port at;
    BOOST_TEST(!net::parse(text, at), text);
  }
}

BOOST_AUTO_TEST_CASE(an_address_says_what_it_is) {
  auto const four = loopback(80);
  BOOST_TEST(four.text() == "127.0.0.1:80");
  BOOST_TEST(four.port() == 80);
  BOOST_TEST(four.is_loopback());
  BOOST_TEST(four.with_port(81).text() == "127.0.0.1:81");
  auto const six = net::resolve("::1", 80).at(0);
  BOOST_TEST(six.text() == "[::1]:80");
  BOOST_TEST(six.is_loopback());
  auto const mapped_address = net::resolve("::ffff:127.0.0.1", 80).at(0);
  BOOST_TEST(mapped_address.host() == "127.0.0.1");
  BOOST_TEST(mapped_address.is_loopback());
  BOOST_TEST(!net::resolve("192.0.2.7", 80).at(0).is_loopback());
  BOOST_TEST(!net::resolve("2001:db8::7", 80).at(0).is_loopback());
  BOOST_TEST(!net::address());
}

BOOST_AUTO_TEST_CASE(an_unknown_host_and_an_unknown_interface_are_named) {
  auto const names = [](std::string const& word) {
    return [word](tutti::error const& e) {
      return e.kind() == tutti::failure::join && std::string(e.what()).find(word) != std::string::npos;
    };
  };
  BOOST_CHECK_EXCEPTION((void)net::resolve("no such host", 1), tutti::error, names("'no such host'"));
  BOOST_CHECK_EXCEPTION((void)net::interface_address("nope0"), tutti::error, names("'nope0'"));
  BOOST_CHECK_EXCEPTION((void)net::interface_address("nope0"), tutti::error, names("lo 127.0.0.1"));
  BOOST_TEST(net::interface_address("lo").host() == "127.0.0.1");
}

BOOST_AUTO_TEST_CASE(the_route_to_this_host_is_the_loopback_interface) {
  BOOST_TEST(net::local_towards(loopback(0)).host() == "127.0.0.1");
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_named) {
  auto const first = net::listen(loopback(0));
  auto const address = net::local_address(first.get());
  BOOST_CHECK_EXCEPTION((void)net::listen(address), tutti::error, [&](tutti::error const& e) {
    return std::string(e.what()).find(address.text() + ": Address already in use") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(listening_at_every_address_takes_ipv4_and_ipv6) {
  auto const listener = net::listen(std::uint16_t{0});
  auto const port = net::local_address(listener.get()).port();
  BOOST_TEST(port != 0);
  BOOST_TEST(static_cast<bool>(net::connect(loopback(port), deadline_after(5s))));
  if (net::local_address(listener.get()).family() == AF_INET6 &&
      net::local_towards(net::resolve("::1", port).at(0)).host() == "::1") {
    BOOST_TEST(static_cast<bool>(net::connect(net::resolve("::1", port).at(0), deadline_after(5s))));
  }
}

BOOST_AUTO_TEST_CASE(a_connection_to_no_listener_is_refused) {
  net::address free_port;
  {
    auto const listener = net::listen(loopback(0));
    free_port = net::local_address(listener.get());
  }
  auto const s = net::connect(free_port, deadline_after(5s));
  int const code = errno;
  BOOST_TEST(!s);
  BOOST_TEST(code == ECONNREFUSED);
}

BOOST_AUTO_TEST_CASE(descriptors_are_closed_on_exec_and_do_not_block) {
  auto const c = make_connection();
  for (int const fd : {c.local.get(), c.remote.get()}) {
    BOOST_TEST((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    BOOST_TEST((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    int option = 0;
    socklen_t length = sizeof option;
    ::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &option, &length);
    BOOST_TEST(option != 0);
  }
}

BOOST_AUTO_TEST_CASE(a_message_larger_than_every_buffer_arrives) {
  auto const c = make_connection();
  std::vector<std::byte> message(8U << 20U);
  for (std::size_t i = 0; i < message.size(); ++i) {
    message[i] = static_cast<std::byte>(i * 2654435761U >> 13U);
  }
  std::vector<std::byte> received_message(message.size());
  tutti::detail::io write_state = tutti::detail::io::open;
  std::thread writer([&] { write_state = tutti::detail::write_all(c.local.get(), message, deadline_after(20s)); });
  auto const read_state = tutti::detail::read_all(c.remote.get(), received_message, deadline_after(20s));
  writer.join();
  BOOST_TEST((write_state == tutti::detail::io::complete));
  BOOST_TEST((read_state == tutti::detail::io::complete));
  BOOST_TEST((received_message == message));
}

BOOST_AUTO_TEST_CASE(silence_is_late_and_a_full_pipe_too) {
  auto const c = make_connection();
  std::array<std::byte, 4> four{};
  auto const begin = tutti::steady_now();
  BOOST_TEST((tutti::detail::read_all(c.local.get(), four, begin + 50ms) == tutti::detail::io::late));
  auto const wait_time = tutti::steady_now() - begin;
  BOOST_TEST((wait_time >= 50ms));
  BOOST_TEST((wait_time < 5s));
  std::vector<std::byte> const data(64U << 20U);
  BOOST_TEST((tutti::detail::write_all(c.local.get(), data, deadline_after(100ms)) == tutti::detail::io::late));
}

BOOST_AUTO_TEST_CASE(a_closed_connection_is_closed_and_raises_no_signal) {
  auto c = make_connection();
  std::array<std::byte, 4> four{};
  BOOST_TEST((tutti::detail::write_all(c.remote.get(), std::span(four).first(2), deadline_after(5s)) ==
              tutti::detail::io::complete));
  c.remote.reset();
  BOOST_TEST((tutti::detail::read_all(c.local.get(), four, deadline_after(5s)) == tutti::detail::io::hangup));
  std::vector<std::byte> const data(1U << 20U);
  tutti::detail::io state = tutti::detail::io::complete;
  for (int i = 0; i < 100 && state == tutti::detail::io::complete; ++i) {
    state = tutti::detail::write_all(c.local.get(), data, deadline_after(5s));
  }
  BOOST_TEST((state == tutti::detail::io::hangup));  // the default SIGPIPE has not ended this process
}

BOOST_AUTO_TEST_CASE(signals_do_not_end_a_wait) {
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &old);  // no SA_RESTART: poll returns EINTR
  auto const c = make_connection();
  std::atomic<bool> is_waiting{false};
  tutti::detail::io state = tutti::detail::io::open;
  std::array<std::byte, 1> data{};
  std::thread reader([&] {
    is_waiting = true;
    state = tutti::detail::read_all(c.local.get(), data, deadline_after(20s));
  });
  while (!is_waiting) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 200; ++i) {
    ::pthread_kill(reader.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  BOOST_TEST((tutti::detail::write_all(c.remote.get(), data, deadline_after(5s)) == tutti::detail::io::complete));
  reader.join();
  ::sigaction(SIGUSR1, &old, nullptr);
  BOOST_TEST((state == tutti::detail::io::complete));
}

BOOST_AUTO_TEST_CASE(a_descriptor_owns_exactly_one) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  tutti::detail::descriptor a([&] { return ends[0]; });
  tutti::detail::descriptor b([&] { return ends[1]; });
  b = std::move(a);
  BOOST_TEST(!a);
  BOOST_TEST(b.get() == ends[0]);
  BOOST_TEST(::fcntl(ends[1], F_GETFD) == -1);  // the previous descriptor of b is closed
  BOOST_TEST(::fcntl(ends[0], F_GETFD) != -1);
  { tutti::detail::descriptor const c(std::move(b)); }
  BOOST_TEST(::fcntl(ends[0], F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(no_descriptor_takes_the_number_of_a_standard_stream) {
  auto const is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  for (unsigned closed_streams = 0; closed_streams != 8; ++closed_streams) {  // a bit for each of the standard streams
    bool const is_kept_off = ends_in_a_forked_child([&] {
      for (int fd = 0; fd != 3; ++fd) {
        if ((closed_streams >> fd & 1U) != 0) {
          ::close(fd);
        }
      }
      std::vector<tutti::detail::descriptor> descriptors;
      auto ends = tutti::detail::stream_pair();
      descriptors.push_back(std::move(ends.first));
      descriptors.push_back(std::move(ends.second));
      descriptors.push_back(net::listen(loopback(0)));
      descriptors.push_back(net::connect(net::local_address(descriptors.back().get()), deadline_after(5s)));
      descriptors.push_back(net::accept(descriptors[2].get()));
      descriptors.emplace_back([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
      for (auto const& d : descriptors) {
        if (d.get() < 3 || ::fcntl(d.get(), F_GETFD) != FD_CLOEXEC) {
          throw std::runtime_error("a descriptor is not kept off the standard streams");
        }
      }
      for (int fd = 0; fd != 3; ++fd) {
        if (is_open(fd) == ((closed_streams >> fd & 1U) != 0)) {
          throw std::runtime_error("the standard streams are not as they were");
        }
      }
    });
    BOOST_TEST(is_kept_off, "with the standard streams " << closed_streams << " closed");
  }
}

/// The signal that would end the process comes neither now nor later, and the program's signal settings stay.
BOOST_AUTO_TEST_CASE(a_file_beyond_the_limit_of_sizes_is_an_error) {
  BOOST_TEST(ends_in_a_forked_child([] {
    auto const expect = [](bool holds, char const* text) {
      if (!holds) {
        throw std::runtime_error(text);
      }
    };
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1000;
    expect(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
    sigset_t limit_signal;
    ::sigemptyset(&limit_signal);
    ::sigaddset(&limit_signal, SIGXFSZ);
    for (bool const is_blocked : {false, true}) {
      ::pthread_sigmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &limit_signal, nullptr);
      for (bool const is_pending : {false, true}) {
        if (is_pending && is_blocked) {
          ::raise(SIGXFSZ);
        }
        tutti::detail::descriptor const file([] { return ::memfd_create("tutti", MFD_CLOEXEC); });
        std::vector<std::byte> const contents(3000);
        expect(tutti::detail::write_file(file.get(), std::span(contents).first(900)) == 0, "short enough");
        expect(tutti::detail::write_file(file.get(), contents) == EFBIG, "too long");
        expect(::lseek(file.get(), 0, SEEK_CUR) == 1000, "up to the limit");
        sigset_t blocked_signals;
        sigset_t pending_signals;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked_signals);
        ::sigpending(&pending_signals);
        expect(::sigismember(&blocked_signals, SIGXFSZ) == static_cast<int>(is_blocked), "the mask has changed");
        expect(::sigismember(&pending_signals, SIGXFSZ) == static_cast<int>(is_pending && is_blocked),
               "a signal waits");
      }
    }
  }));
  BOOST_TEST(tutti::detail::replace_file("/nowhere/at/all", "text") == ENOENT);
  BOOST_TEST(tutti::detail::replace_file("/dev/full", "text") == ENOSPC);
  BOOST_TEST(tutti::detail::describe_write_error(EFBIG).find("ulimit -f") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_drawn_is_drawn_once) {
  std::vector<std::string> nonces;
  for (int i = 0; i != 1000; ++i) {
    nonces.push_back(net::draw_nonce());
    BOOST_TEST(nonces.back().size() == 16U);
    BOOST_TEST(nonces.back().find_first_not_of("0123456789abcdef") == std::string::npos);
  }
  std::sort(nonces.begin(), nonces.end());
  BOOST_TEST((std::adjacent_find(nonces.begin(), nonces.end()) == nonces.end()));
}
