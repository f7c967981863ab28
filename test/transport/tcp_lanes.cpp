// SPDX-License-Identifier: Apache-2.0
// test: address waits (one thread drives all ranks)
#include "tcp_world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

/// Offers the same message until it is refused many times. Returns the number of times that it was accepted.
[[nodiscard]] std::size_t pour(tcp_ranks& world, flow s, std::span<std::byte const> message, std::size_t limit) {
  std::size_t accepted_count = 0;
  for (int refusals = 0; refusals < 100 && accepted_count < limit;) {
    world.poll();
    bool const is_accepted = world[0].send(1, s, message, message.size()).is_accepted;
    accepted_count += is_accepted ? 1 : 0;
    refusals = is_accepted ? 0 : refusals + 1;
  }
  return accepted_count;
}

/// Unread messages are bounded on each lane by itself, and nothing of them is lost.
BOOST_AUTO_TEST_CASE(windows_bound_what_piles_up) {
  for (std::size_t const bytes : {1UL, 1000UL, 60'000UL}) {
    tcp_ranks world(2);
    std::size_t const window = tcp_options().window;
    std::vector<std::byte> message(bytes, std::byte{7});
    for (std::uint32_t const lane : {0U, 3U, transfer_lane}) {
      BOOST_TEST(world.run_until([&] { return world[0].send(1, {lane, 0}, message, bytes).is_accepted; }) == "");
      std::size_t const accepted_count = 1 + pour(world, {lane, 0}, message, 100'000);
      BOOST_TEST(accepted_count * bytes <= window);
      BOOST_TEST(accepted_count * detail::tcp::window_cost(bytes) > window / 2);
      // Other lanes are free: the last one, read below, must get through at once.
      BOOST_TEST(world.deliver(0, 1, {5, 0}, 10) == "");
      BOOST_TEST(world.deliver(0, 1, {6, 0}, 1 << 20) == "");
      BOOST_TEST(world.deliver(1, 0, {lane, 0}, 1 << 20) == "");
      // The refused message is the next, and everything behind it flows again.
      bool last = false;
      for (std::size_t k = 0; k <= accepted_count; ++k) {
        chunk c;
        std::size_t received_bytes = 0;
        BOOST_TEST(world.run_until([&] {
          last = last || world[0].send(1, {lane, 0}, message, bytes).is_accepted;
          c = world[1].view(0, {lane, 0}, {bytes - received_bytes, 1, nullptr});
          if (c) {
            received_bytes += c.bytes;
            world[1].release(0, {lane, 0});
          }
          return received_bytes == bytes;
        }) == "");
      }
      BOOST_TEST(last);
      // Most of what was read may be sent again at once.
      BOOST_TEST(world.run_until([&] { return world[0].send(1, {lane, 0}, message, bytes).is_accepted; }) == "");
      std::size_t const again = 1 + pour(world, {lane, 0}, message, 100'000);
      BOOST_TEST(again > accepted_count / 2);
    }
  }
}

/// Two lanes that are read in opposite order, one with a message larger than every buffer.
BOOST_AUTO_TEST_CASE(opposite_orders) {
  tcp_ranks world(2);
  std::vector<std::byte> const large(20 << 20, std::byte{1});
  std::vector<std::byte> const small(1000, std::byte{2});
  flow const a{0, 0};
  flow const b{1, 0};
  std::size_t sent_bytes = 0;
  BOOST_TEST(
      world.run_until([&] { return world[0].connections() == 1 || !world[0].send(1, a, large, 4).is_accepted; }) == "");
  for (int i = 0; i < 1000; ++i) {
    world.poll();
    sent_bytes += world[0].send(1, a, std::span(large).subspan(sent_bytes), 4).bytes;
  }
  // Without a reader no more than a window is accepted.
  BOOST_TEST(sent_bytes > tcp_options().window / 2);
  BOOST_TEST(sent_bytes <= tcp_options().window);
  BOOST_TEST(world.run_until([&] { return world[0].send(1, b, small, 4).is_accepted; }) == "");
  BOOST_TEST(world.run_until([&] { return static_cast<bool>(world[1].view(0, b, {small.size(), 4, nullptr})); }) == "");
  world[1].release(0, b);
  std::size_t received_bytes = 0;
  std::size_t placed_bytes = 0;
  std::vector<std::byte> target(large.size());
  BOOST_TEST(world.run_until([&] {
    sent_bytes += sent_bytes == large.size() ? 0 : world[0].send(1, a, std::span(large).subspan(sent_bytes), 4).bytes;
    if (chunk const c = world[1].view(0, a, {large.size() - received_bytes, 4, target.data() + received_bytes})) {
      placed_bytes += c.data == target.data() + received_bytes ? c.bytes : 0;
      std::copy_n(c.data, c.data == target.data() + received_bytes ? 0 : c.bytes, target.data() + received_bytes);
      received_bytes += c.bytes;
      world[1].release(0, a);
    }
    return received_bytes == large.size();
  }) == "");
  BOOST_TEST((target == large));
  // All bytes are read straight to their place, but for those before the first `view` and those read with a header.
  BOOST_TEST(placed_bytes >= large.size() - tcp_options().window - (std::size_t{1} << 20));
}

/// The sender of a long message with a waiting reader never waits for credit.
BOOST_AUTO_TEST_CASE(a_window_does_not_stop_what_is_waited_for) {
  tcp_options o;
  o.piece = 1 << 14;
  o.window = 1 << 16;
  tcp_ranks world(2, o);
  std::vector<std::byte> const large(1 << 20, std::byte{1});
  flow const s{0, 0};
  BOOST_TEST(!world[1].view(0, s, {large.size(), 4, nullptr}));
  std::size_t sent_bytes = 0;
  BOOST_TEST(world.run_until([&] {
    sent_bytes += world[0].send(1, s, std::span(large).subspan(sent_bytes), 4).bytes;
    static_cast<void>(world[1].view(0, s, {large.size(), 4, nullptr}));  // a slow reader: it releases nothing
    return sent_bytes > 4 * o.window;
  }) == "");
}

/// Chunks that readers keep on many lanes do not stop the connection.
BOOST_AUTO_TEST_CASE(held_chunks_stay_while_others_pass) {
  tcp_ranks world(2);
  std::vector<std::byte> const message(50'000, std::byte{9});
  std::vector<chunk> chunks(8);
  for (std::uint32_t lane = 0; lane < 8; ++lane) {
    BOOST_TEST(world.run_until([&] {
      return world[0].send(1, {lane, 0}, message, 50'000).bytes == message.size();
    }) == "");
    BOOST_TEST(world.run_until([&] {
      return static_cast<bool>(chunks[lane] = world[1].view(0, {lane, 0}, {message.size(), 50'000, nullptr}));
    }) == "");
  }
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(world.deliver(0, 1, {8, 0}, 65'000) == "");
  }
  for (std::uint32_t lane = 0; lane < 8; ++lane) {
    BOOST_TEST(chunks[lane].bytes == message.size());
    BOOST_TEST(std::equal(message.begin(), message.end(), chunks[lane].data));
    world[1].release(0, {lane, 0});
  }
}

}  // namespace
