// SPDX-License-Identifier: Apache-2.0
// test: address
//
// The first frames of a connection: hellos, claims, and the frames of a sealed channel.
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/net/proof.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

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
    bool const is_claim = kind == static_cast<std::uint64_t>(bootstrap_frame_kind::claim);
    BOOST_TEST(c.hear() == (is_hello   ? "complete"
                            : is_claim ? "it has a TUTTI_SECRET, but this rank has none"
                                       : foreign),
               "of kind " << kind);
  }
}

BOOST_AUTO_TEST_CASE(a_hello_before_a_claim_is_refused) {
  connection c;
  c.receiver.expected_kind = bootstrap_frame_kind::claim;
  c.say(hello("abc"));
  BOOST_TEST(c.hear() == "it does not prove that it knows this TUTTI_SECRET");
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

namespace {

using tutti::detail::channel;
using tutti::detail::io;
namespace net = tutti::detail::net;

net::proof_key key_of(char const* text = "sixteen or more letters") {
  return net::proof_key(net::make_secret(text));
}

/// The two ends of a connection, for a guest and a host.
struct line {
  line() {
    int ends[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    guest = channel(descriptor([&] { return ends[0]; }));
    host = channel(descriptor([&] { return ends[1]; }));
  }

  /// Lets the guest claim a rank, changes a byte of the claim or of the challenge, if there is such a byte, and returns
  /// the rank that the host accepts and the guest's result.
  std::pair<tutti::rank_type, io> prove(net::proof_key const& guest_key, net::proof_key const& host_key,
                                        std::size_t claim_byte = ~std::size_t{0},
                                        std::size_t challenge_byte = ~std::size_t{0}) {
    io result = io::late;
    std::thread claimant([&] {
      result = tutti::detail::claim_rank(guest, guest_key, 3, tutti::steady_now() + std::chrono::seconds(20));
    });
    tutti::detail::bootstrap_frame claim;
    io const state = host.receive(claim, limit, tutti::steady_now() + std::chrono::seconds(20));
    tutti::rank_type rank = tutti::no_rank;
    if (state == io::complete && claim.kind == bootstrap_frame_kind::claim) {
      if (claim_byte < claim.payload.size()) {
        claim.payload[claim_byte] = static_cast<char>(claim.payload[claim_byte] ^ 1);
      }
      line answer;  // the host's answer, which goes to the guest through the test's hands
      if (auto const proved_guest = tutti::detail::read_claim(host_key, claim.payload)) {
        tutti::detail::answer_claim(answer.host, host_key, *proved_guest);
        rank = proved_guest->rank;
      }
      std::array<char, 200> bytes{};
      ssize_t const size = ::recv(answer.guest.fd(), bytes.data(), bytes.size(), 0);
      if (size > 0 && challenge_byte < static_cast<std::size_t>(size)) {
        bytes[challenge_byte] = static_cast<char>(bytes[challenge_byte] ^ 1);
      }
      if (size > 0) {
        BOOST_REQUIRE(::send(host.fd(), bytes.data(), static_cast<std::size_t>(size), 0) == size);
      }
      keys_of_host = std::move(answer.host);
    }
    if (rank == tutti::no_rank) {
      host.close();
    }
    claimant.join();
    return {rank, result};
  }

  channel guest;
  channel host;
  channel keys_of_host;  ///< sealed as the host's side is
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_claim_proves_a_rank_to_hosts_that_know_the_key_and_to_no_other) {
  BOOST_TEST((line().prove(key_of(), key_of()) == std::pair(tutti::rank_type{3}, io::complete)));
  BOOST_TEST((line().prove(key_of("another secret text"), key_of()) == std::pair(tutti::no_rank, io::hangup)));
  for (std::size_t byte = 0; byte != tutti::detail::claim_size; ++byte) {
    BOOST_TEST((line().prove(key_of(), key_of(), byte) == std::pair(tutti::no_rank, io::hangup)), byte);
  }
  for (std::size_t byte = 0; byte != 16 + tutti::detail::challenge_size; ++byte) {
    BOOST_TEST((line().prove(key_of(), key_of(), ~std::size_t{0}, byte).second != io::complete), byte);
  }
}

/// A hello behind it could be that of any rank.
BOOST_AUTO_TEST_CASE(a_claim_to_be_no_rank_proves_nothing) {
  line l;
  (void)tutti::detail::claim_rank(l.guest, key_of(), tutti::no_rank, tutti::steady_now());
  tutti::detail::bootstrap_frame claim;
  BOOST_REQUIRE((l.host.receive(claim, limit, tutti::steady_now()) == io::complete));
  BOOST_TEST(!tutti::detail::read_claim(key_of(), claim.payload).has_value());
}

BOOST_AUTO_TEST_CASE(claims_of_other_lengths_prove_nothing) {
  for (std::size_t const length :
       {std::size_t{0}, std::size_t{16}, std::size_t{87}, std::size_t{88}, std::size_t{89}}) {
    BOOST_TEST(!tutti::detail::read_claim(key_of(), std::string(length, 'x')).has_value());
  }
}

/// A mark is equal for one world and key, and tells a program without the key nothing of the world.
BOOST_AUTO_TEST_CASE(a_mark_belongs_to_one_world_and_one_key) {
  std::string const mark = tutti::detail::mark_of(key_of(), "a world");
  BOOST_TEST(mark.size() == tutti::detail::mark_size);
  BOOST_TEST(mark == tutti::detail::mark_of(key_of(), "a world"));
  BOOST_TEST(mark != tutti::detail::mark_of(key_of(), "another world"));
  BOOST_TEST(mark != tutti::detail::mark_of(key_of("another secret text"), "a world"));
}

/// Frames of a sealed channel that are changed, left out, repeated, sent back or taken from another channel are
/// foreign.
BOOST_AUTO_TEST_CASE(a_sealed_channel_takes_its_frames_once_and_in_order) {
  net::proof_key const key = key_of();
  net::proof_key const other = key_of("another secret text");
  auto const frames_of = [&](net::proof_key const& receive_key, net::proof_key const& send_key) {
    line l;
    l.guest.seal(receive_key, send_key);
    std::vector<std::string> frames;
    for (char const* const payload : {"first", "second", ""}) {
      l.guest.queue(bootstrap_frame_kind::text, payload);
      BOOST_REQUIRE(l.guest.flush());
      std::array<char, 200> bytes{};
      ssize_t const size = ::recv(l.host.fd(), bytes.data(), bytes.size(), 0);
      frames.emplace_back(bytes.data(), static_cast<std::size_t>(size));
    }
    return frames;
  };
  auto const frames = frames_of(other, key);
  /// The payloads that a host takes from these bytes, until one is foreign.
  auto const take = [&](std::string const& bytes) {
    line l;
    l.host.seal(key, other);
    BOOST_REQUIRE(::send(l.guest.fd(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    (void)l.host.fill();
    std::string payloads;
    tutti::detail::bootstrap_frame frame;
    channel::parse_result result = l.host.next(frame, limit);
    for (; result == channel::parse_result::frame; result = l.host.next(frame, limit)) {
      payloads += frame.payload + ",";
    }
    return payloads + (result == channel::parse_result::foreign ? "foreign" : "");
  };
  BOOST_TEST(frames[0].size() == 16U + 5U + 16U);
  BOOST_TEST(take(frames[0] + frames[1] + frames[2]) == "first,second,,");
  BOOST_TEST(take(frames[0] + frames[0]) == "first,foreign");
  BOOST_TEST(take(frames[0] + frames[2]) == "first,foreign");
  BOOST_TEST(take(frames[1]) == "foreign");
  BOOST_TEST(take(frames_of(key, other)[0]) == "foreign");
  BOOST_TEST(take(frame(bootstrap_frame_kind::text, "first") + std::string(16, '\0')) == "foreign");
  for (std::size_t i = 4; i != frames[0].size(); ++i) {
    std::string forgery = frames[0];
    forgery[i] = static_cast<char>(forgery[i] ^ 1);
    BOOST_TEST(take(forgery).find("first") == std::string::npos, i);
  }
}
