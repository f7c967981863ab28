// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/bootstrap/pending_hello.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>

using tutti::detail::bootstrap_frame_kind;
using tutti::detail::descriptor;

namespace {

constexpr std::uint64_t limit = 100;

/// An accepted connection, and its other end.
struct connection {
  connection() {
    int ends[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    peer = descriptor([&] { return ends[0]; });
    receiver = {tutti::detail::channel(descriptor([&] { return ends[1]; })), "a peer"};
  }
  void say(std::string_view bytes) const {
    BOOST_REQUIRE(::send(peer.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  /// The outcome of one `hear`: "complete", an objection, or empty while more is expected.
  [[nodiscard]] std::string hear() {
    tutti::detail::net::handshake_state const h = receiver.hear(limit);
    BOOST_TEST((!h.complete || h.objection == nullptr));
    return h.complete ? "complete" : h.objection != nullptr ? h.objection : "";
  }

  descriptor peer;
  tutti::detail::pending_hello receiver;
};

std::string head(std::uint64_t kind, std::uint64_t length) {
  std::string text = "tut1";
  for (int i = 0; i != 4; ++i) {
    text += static_cast<char>(kind >> (8 * i));
  }
  for (int i = 0; i != 8; ++i) {
    text += static_cast<char>(length >> (8 * i));
  }
  return text;
}
std::string frame(bootstrap_frame_kind kind, std::string const& payload) {
  return head(static_cast<std::uint64_t>(kind), payload.size()) + payload;
}
std::string hello(std::string const& payload) {
  return frame(bootstrap_frame_kind::hello, payload);
}

constexpr char const* foreign = "not a greeting of tutti";
constexpr char const* too_long = "a frame too long for a greeting";
constexpr char const* early_close = "it closed before its greeting";

}  // namespace

BOOST_AUTO_TEST_CASE(a_hello_is_complete_with_its_last_byte_and_not_before) {
  for (std::string const& payload : {std::string(), std::string("rank 3 of a job"), std::string(limit, '\0')}) {
    connection c;
    std::string const bytes = hello(payload);
    for (std::size_t i = 0; i != bytes.size(); ++i) {
      BOOST_TEST(c.hear() == "");
      c.say(bytes.substr(i, 1));
    }
    BOOST_TEST(c.hear() == "complete");
    BOOST_TEST(c.receiver.frame.payload == payload);
    BOOST_TEST(c.receiver.line.unread() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(the_head_of_a_longer_one_is_enough_to_refuse_it) {
  for (std::uint64_t const length : {limit + 1, std::uint64_t{1} << 32U, ~std::uint64_t{0}}) {
    connection c;
    c.say(head(static_cast<std::uint64_t>(bootstrap_frame_kind::hello), length));
    BOOST_TEST(c.hear() == too_long);
  }
}

BOOST_AUTO_TEST_CASE(other_bytes_are_foreign_from_the_first_that_differs_on) {
  for (char const* bytes : {"GET / HTTP/1.1\r\n", "\x16\x03\x01", "t\x01", "tut2", "\n"}) {
    connection c;
    c.say(bytes);
    BOOST_TEST(c.hear() == foreign, "of " << bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_frame_of_another_kind_is_no_hello) {
  for (std::uint64_t kind = 0; kind != 12; ++kind) {
    connection c;
    c.say(head(kind, 3) + "abc");
    bool const is_hello = kind == static_cast<std::uint64_t>(bootstrap_frame_kind::hello);
    BOOST_TEST(c.hear() == (is_hello ? "complete" : foreign), "of kind " << kind);
  }
}

BOOST_AUTO_TEST_CASE(a_connection_that_closes_has_said_all) {
  for (std::size_t length = 0; length <= hello("abc").size(); ++length) {
    connection c;
    c.say(hello("abc").substr(0, length));
    c.peer.reset();
    BOOST_TEST(c.hear() == (length == hello("abc").size() ? "complete" : early_close), "after " << length << " bytes");
  }
}

/// Bytes after a hello are stored up to a bound; the owner judges them.
BOOST_AUTO_TEST_CASE(a_flood_behind_a_hello_is_not_stored) {
  connection c;
  c.say(hello("abc") + std::string(10'000, 'x'));
  BOOST_TEST(c.hear() == "complete");
  BOOST_TEST(c.receiver.frame.payload == "abc");
  BOOST_TEST(c.receiver.line.unread() != 0U);
  BOOST_TEST(c.receiver.line.unread() <= limit + 64);
}
