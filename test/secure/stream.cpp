// SPDX-License-Identifier: Apache-2.0
// test: address
#include <transport/tcp_world.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/secure.hpp>
#include <tutti/secure/detail/openssl_stream.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <openssl/err.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;
using detail::tcp::wire;

[[nodiscard]] proof_key key_of(char const* text) {
  return proof_key(make_secret(text));
}
[[nodiscard]] std::pair<descriptor, descriptor> socket_pair() {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  return {descriptor([&] { return ends[0]; }), descriptor([&] { return ends[1]; })};
}

/// Two streams whose bytes pass through the test, which can hear, cut and change them.
template <std::uint64_t records_per_key = 1000>
struct watched_streams {
  explicit watched_streams(char const* server_secret = "sixteen or more letters")
      : client(std::move(first.first), calls, true, key_of("sixteen or more letters")),
        server(std::move(second.first), calls, false, key_of(server_secret)) {}

  /// Passes up to `limit` bytes in each direction on. Returns true if there were any.
  bool pass(std::size_t limit = SIZE_MAX) {
    bool const has_passed = pass(first.second, second.second, limit);
    return pass(second.second, first.second, limit) || has_passed;
  }
  bool pass(descriptor const& source, descriptor const& target, std::size_t limit) {
    std::array<std::byte, 100'000> bytes;
    std::size_t const n = read_some(source.get(), std::span(bytes).first(std::min(limit, bytes.size()))).bytes;
    traffic.append(reinterpret_cast<char const*>(bytes.data()), n);
    if (n != 0 && traffic.size() > damaged_place) {
      bytes[n - 1] ^= std::byte{1};
      damaged_place = SIZE_MAX;
    }
    BOOST_REQUIRE(write_some(target.get(), std::span(bytes).first(n)).bytes == n);
    return n != 0;
  }
  /// Sends a text from the client to the server. Returns what arrives, or the error.
  [[nodiscard]] std::string deliver(std::string_view text, std::size_t limit = SIZE_MAX) {
    std::string result;
    std::size_t sent_bytes = 0;
    for (int idle = 0; result.size() != text.size() && idle < 100; ++idle) {
      if (sent_bytes != text.size()) {
        iovec const rest{const_cast<char*>(text.data()) + sent_bytes, text.size() - sent_bytes};
        ssize_t const n = client.write({&rest, 1});
        sent_bytes += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      }
      client.flush();
      idle = pass(limit) ? 0 : idle;
      std::array<std::byte, 5000> bytes;
      ssize_t n = 0;
      while ((n = server.read(bytes.data(), bytes.size())) > 0) {
        result.append(reinterpret_cast<char const*>(bytes.data()), static_cast<std::size_t>(n));
      }
      if (n == 0 || errno != EAGAIN) {
        return n != 0 && errno == EBADMSG ? "changed" : "ended";
      }
    }
    return result;
  }

  static constexpr detail::tcp::stream_calls const& calls =
      detail::tcp::calls_of<secure::openssl_stream<records_per_key>>;
  std::pair<descriptor, descriptor> first = socket_pair();
  std::pair<descriptor, descriptor> second = socket_pair();
  wire client;
  wire server;
  std::string traffic;
  std::size_t damaged_place = SIZE_MAX;
};

[[nodiscard]] std::string long_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += "a plain word ";
  }
  text.resize(bytes);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_on_the_path_hears_a_plain_word) {
  watched_streams streams;
  std::string const text = long_text(300'000);
  BOOST_TEST((streams.deliver(text) == text));
  BOOST_TEST(streams.traffic.size() > text.size());
  BOOST_TEST(streams.traffic.find("plain") == std::string::npos);
  BOOST_TEST(streams.deliver("short") == "short");
  BOOST_TEST(streams.traffic.find("short") == std::string::npos);
}

/// The handshake continues wherever its bytes are cut.
BOOST_AUTO_TEST_CASE(bytes_may_be_cut_anywhere) {
  watched_streams streams;
  BOOST_TEST(streams.deliver("text", 1) == "text");
  std::string const text = long_text(40'000);
  BOOST_TEST((streams.deliver(text, 7) == text));
}

BOOST_AUTO_TEST_CASE(keys_are_renewed) {
  watched_streams<3> streams;
  for (int i = 0; i < 200; ++i) {
    std::string const text = long_text(static_cast<std::size_t>(1 + i * 300));
    BOOST_REQUIRE((streams.deliver(text) == text));
  }
}

/// A byte that somebody changes, in the handshake or later, ends the stream; nothing that follows is read.
BOOST_AUTO_TEST_CASE(changed_bytes_end_the_stream) {
  watched_streams whole;
  BOOST_TEST(whole.deliver("text") == "text");
  for (std::size_t place = 0; place < whole.traffic.size(); place += 13) {
    watched_streams streams;
    streams.damaged_place = place;
    std::string const result = streams.deliver("text");
    std::byte target{};
    bool const client_knows = streams.client.read(&target, 1) < 0 && errno == EBADMSG;
    BOOST_TEST((result == "changed" || (result.empty() && client_knows)), "byte " << place << ": " << result);
    BOOST_TEST(streams.deliver("text") != "text");
  }
}

BOOST_AUTO_TEST_CASE(another_key_is_refused) {
  watched_streams streams("another, as long as this");
  BOOST_TEST(streams.deliver("text") == "changed");
}

/// The errors of a program that uses OpenSSL itself are not taken for a stream's, and stay in its queue; those of a
/// stream do not.
BOOST_AUTO_TEST_CASE(errors_are_kept_apart) {
  ERR_raise(ERR_LIB_USER, 1);
  watched_streams streams;
  BOOST_TEST(streams.deliver("text") == "text");
  ERR_clear_error();
  ERR_raise(ERR_LIB_USER, 77);
  BOOST_TEST(streams.deliver("text") == "text");
  BOOST_TEST(ERR_GET_REASON(ERR_get_error()) == 77);
  watched_streams unlike("another, as long as this");
  BOOST_TEST(unlike.deliver("text") == "changed");
  BOOST_TEST(ERR_get_error() == 0U);
}

/// A full socket keeps one record back, and takes no more until it has room.
BOOST_AUTO_TEST_CASE(one_record_is_kept_back) {
  watched_streams streams;
  BOOST_TEST(streams.deliver("text") == "text");
  std::string const text = long_text(1 << 20);
  std::size_t sent_bytes = 0;
  std::size_t last_bytes = 1;
  while (last_bytes != 0) {
    iovec const rest{const_cast<char*>(text.data()) + sent_bytes, text.size() - sent_bytes};
    last_bytes = static_cast<std::size_t>(std::max<ssize_t>(streams.client.write({&rest, 1}), 0));
    sent_bytes += last_bytes;
  }
  BOOST_TEST(sent_bytes < text.size());
  BOOST_TEST(streams.client.has_output());
  std::string result;
  while (result.size() != sent_bytes) {
    streams.pass(50'000);
    streams.client.flush();
    std::array<std::byte, 5000> bytes;
    ssize_t const n = streams.server.read(bytes.data(), bytes.size());
    BOOST_REQUIRE((n > 0 || errno == EAGAIN));
    result.append(reinterpret_cast<char const*>(bytes.data()), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  BOOST_TEST((result == text.substr(0, sent_bytes)));
  BOOST_TEST(!streams.client.has_output());
}

/// A stranger that knows the number of the world never reaches OpenSSL: no stream begins.
BOOST_AUTO_TEST_CASE(strangers_never_reach_tls) {
  static int streams = 0;
  static detail::tcp::stream_calls counting = *detail::tcp::registered_streams;
  counting.open = [](int fd, bool is_client, proof_key const& key) {
    ++streams;
    return detail::tcp::calls_of<secure::openssl_stream<>>.open(fd, is_client, key);
  };
  auto const* const usual = std::exchange(detail::tcp::registered_streams, &counting);
  tcp_options o;
  o.encryption = true;
  o.world = {1, 2};
  support::tcp_ranks world(2, o, support::secret_of_tests);
  detail::tcp::hello request;
  request.world = o.world;
  request.kind = detail::tcp::hello_kind::connect;
  request.sender = 0;
  request.receiver = 1;
  request.flags = detail::tcp::hello::encrypts;
  host_port at;
  BOOST_REQUIRE(net::parse(world[1].address(), at));
  descriptor const stranger =
      net::connect(net::resolve(at.host, at.port).front(), steady_now() + std::chrono::seconds(5));
  write_some(stranger.get(), std::as_bytes(std::span(&request, 1)));
  BOOST_TEST(world.run_until([&] { return !world[1].incidents().empty(); }) == "");
  BOOST_TEST(streams == 0);
  BOOST_TEST(world.deliver(0, 1, {0, 0}, 100'000) == "");
  BOOST_TEST(streams == 2);
  detail::tcp::registered_streams = usual;
}
