// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/wire.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>

namespace {

using namespace tutti;
using namespace tutti::detail;
using detail::tcp::frame;
using detail::tcp::frame_kind;

constexpr std::size_t window = 1 << 20;

/// A frame writer and the other end of its connection.
struct written_wire {
  /// Sends a message of this many bytes. Returns true if it was accepted.
  bool offer(std::uint32_t lane, std::size_t bytes) {
    return writer.offer(near_end, {lane, 0}, std::span(data).first(bytes), 1, {}).is_accepted;
  }
  frame read() {
    frame f;
    BOOST_REQUIRE(read_some(far_end.get(), std::as_writable_bytes(std::span(&f, 1))).state == io::complete);
    return f;
  }

  std::array<std::byte, 64> data{};
  std::array<int, 2> ends = [] {
    std::array<int, 2> numbers{};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, numbers.data()) == 0);
    return numbers;
  }();
  detail::tcp::wire near_end{descriptor([this] { return ends[0]; })};
  descriptor far_end{[this] { return ends[1]; }};
  detail::tcp::frame_writer writer{1 << 16, window, window};
};

BOOST_AUTO_TEST_CASE(the_next_piece_carries_the_credits_of_all_lanes) {
  written_wire w;
  w.writer.return_credit(3, 256);
  w.writer.return_credit(5, 512);
  w.writer.return_credit(3, 64);
  BOOST_TEST(w.writer.is_empty());  // credit alone sends nothing
  BOOST_TEST(w.offer(1, 64));
  BOOST_TEST(w.offer(1, 64));
  for (bool const first : {true, false}) {
    frame const f = w.read();
    BOOST_TEST((f.kind == frame_kind::piece));
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      BOOST_TEST(f.credits[lane] == (!first ? 0U : lane == 3 ? 320U : lane == 5 ? 512U : 0U));
    }
    BOOST_TEST((read_some(w.far_end.get(), w.data).state == io::complete));
  }
}

BOOST_AUTO_TEST_CASE(messages_of_any_length_come_out_behind_their_frame_and_before_zeros) {
  written_wire w;
  std::array<std::byte, 4096> message{};
  for (std::size_t i = 0; i < message.size(); ++i) {
    message[i] = static_cast<std::byte>(i % 251 + 1);
  }
  for (std::size_t const bytes : {1U, 64U, 1856U, 1857U, 4096U}) {  // up to 1856 bytes are gathered
    BOOST_TEST(w.writer.offer(w.near_end, {1, 0}, std::span(message).first(bytes), 1, {}).bytes == bytes);
    BOOST_TEST(w.read().part == bytes);
    std::array<std::byte, message.size()> payload{};
    std::size_t const padded_bytes = bytes + detail::tcp::padding(bytes);
    BOOST_TEST((read_some(w.far_end.get(), std::span(payload).first(padded_bytes)).state == io::complete));
    BOOST_TEST(std::equal(payload.begin(), payload.begin() + bytes, message.begin()));
    BOOST_TEST(std::all_of(payload.begin() + bytes, payload.begin() + padded_bytes,
                           [](std::byte b) { return b == std::byte{}; }));
  }
}

BOOST_AUTO_TEST_CASE(a_piece_that_is_refused_loses_no_credit) {
  written_wire w;
  std::size_t count = 0;
  while (w.offer(1, 64)) {  // until the system takes no more
    ++count;
  }
  w.writer.return_credit(2, 320);
  BOOST_TEST(!w.offer(1, 64));
  for (std::size_t i = 0; i < count; ++i) {
    BOOST_TEST(w.read().credits[2] == 0U);
    BOOST_TEST((read_some(w.far_end.get(), w.data).state == io::complete));
  }
  BOOST_TEST(w.writer.flush(w.near_end));
  BOOST_TEST(w.offer(1, 64));
  BOOST_TEST(w.read().credits[2] == 320U);
}

BOOST_AUTO_TEST_CASE(a_large_credit_does_not_wait_for_a_piece) {
  written_wire w;
  w.writer.return_credit(0, detail::tcp::max_withheld_credit(window));
  BOOST_TEST(w.writer.is_empty());
  w.writer.return_credit(0, 64);
  BOOST_TEST(w.writer.flush(w.near_end));
  frame const f = w.read();
  BOOST_TEST((f.kind == frame_kind::credit));
  BOOST_TEST(f.credits[0] == detail::tcp::max_withheld_credit(window) + 64);
}

BOOST_AUTO_TEST_CASE(credit_in_advance_lets_more_than_a_window_go) {
  written_wire w;
  frame ahead;
  ahead.credits[1] = 2 * window;
  w.writer.add_credit(ahead);
  std::size_t sent_cost = 0;
  std::vector<std::byte> drain(1 << 16);
  for (; w.offer(1, 64); sent_cost += detail::tcp::window_cost(64)) {
    static_cast<void>(read_some(w.far_end.get(), drain));
  }
  BOOST_TEST(w.writer.awaits_credit(1));
  BOOST_TEST(sent_cost == 3 * window);
}

}  // namespace
