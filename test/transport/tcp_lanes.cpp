// SPDX-License-Identifier: Apache-2.0
// test: address waits (one thread drives all ranks)
#include "tcp_world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

/// Offers the same message until it is refused many times; how many were taken.
[[nodiscard]] std::size_t pour(tcp_ranks& world, flow s, std::span<std::byte const> message, std::size_t most) {
  std::size_t taken = 0;
  for (int refused = 0; refused < 100 && taken < most;) {
    world.poll();
    bool const accepted = world[0].send(1, s, message, message.size()).accepted;
    taken += accepted ? 1 : 0;
    refused = accepted ? 0 : refused + 1;
  }
  return taken;
}

/// What is not read is bounded, on each lane by itself, and nothing of it is lost.
BOOST_AUTO_TEST_CASE(windows_bound_what_piles_up) {
  for (std::size_t const bytes : {1UL, 1000UL, 60'000UL}) {
    tcp_ranks world(2);
    std::size_t const window = tcp_options().window;
    std::vector<std::byte> message(bytes, std::byte{7});
    for (std::uint32_t const lane : {0U, 3U, transfer_lane}) {
      BOOST_TEST(world.until([&] { return world[0].send(1, {lane, 0}, message, bytes).accepted; }) == "");
      std::size_t const taken = 1 + pour(world, {lane, 0}, message, 100'000);
      BOOST_TEST(taken * bytes <= window);
      BOOST_TEST(taken * detail::tcp::window_cost(bytes) > window / 2);
      // Other lanes are free: the last one, read below, must get through at once.
      BOOST_TEST(world.deliver(0, 1, {5, 0}, 10) == "");
      BOOST_TEST(world.deliver(0, 1, {6, 0}, 1 << 20) == "");
      BOOST_TEST(world.deliver(1, 0, {lane, 0}, 1 << 20) == "");
      // The refused one is the next, and everything behind it flows again.
      bool last = false;
      for (std::size_t k = 0; k <= taken; ++k) {
        chunk c;
        std::size_t got = 0;
        BOOST_TEST(world.until([&] {
          last = last || world[0].send(1, {lane, 0}, message, bytes).accepted;
          c = world[1].view(0, {lane, 0}, {bytes - got, 1, nullptr});
          if (c) {
            got += c.bytes;
            world[1].release(0, {lane, 0});
          }
          return got == bytes;
        }) == "");
      }
      BOOST_TEST(last);
      // Of what has been taken, most may be sent again at once.
      BOOST_TEST(world.until([&] { return world[0].send(1, {lane, 0}, message, bytes).accepted; }) == "");
      std::size_t const again = 1 + pour(world, {lane, 0}, message, 100'000);
      BOOST_TEST(again > taken / 2);
    }
  }
}

/// Two lanes attended to in opposite order, one with a message larger than every buffer.
BOOST_AUTO_TEST_CASE(opposite_orders) {
  tcp_ranks world(2);
  std::vector<std::byte> const large(20 << 20, std::byte{1});
  std::vector<std::byte> const small(1000, std::byte{2});
  flow const a{0, 0};
  flow const b{1, 0};
  std::size_t put = 0;
  BOOST_TEST(world.until([&] { return world[0].connections() == 1 || !world[0].send(1, a, large, 4).accepted; }) == "");
  for (int i = 0; i < 1000; ++i) {
    world.poll();
    put += world[0].send(1, a, std::span(large).subspan(put), 4).bytes;
  }
  // It is not waited for, no peer was asked, and no more than a window has gone.
  BOOST_TEST(put > tcp_options().window / 2);
  BOOST_TEST(put <= tcp_options().window);
  BOOST_TEST(world.until([&] { return world[0].send(1, b, small, 4).accepted; }) == "");
  BOOST_TEST(world.until([&] { return static_cast<bool>(world[1].view(0, b, {small.size(), 4, nullptr})); }) == "");
  world[1].release(0, b);
  std::size_t got = 0;
  std::size_t placed = 0;
  std::vector<std::byte> in(large.size());
  BOOST_TEST(world.until([&] {
    put += put == large.size() ? 0 : world[0].send(1, a, std::span(large).subspan(put), 4).bytes;
    if (chunk const c = world[1].view(0, a, {large.size() - got, 4, in.data() + got})) {
      placed += c.data == in.data() + got ? c.bytes : 0;
      std::copy_n(c.data, c.data == in.data() + got ? 0 : c.bytes, in.data() + got);
      got += c.bytes;
      world[1].release(0, a);
    }
    return got == large.size();
  }) == "");
  BOOST_TEST((in == large));
  // All but what came before it was waited for, and what is read along with a header, is read straight to its place.
  BOOST_TEST(placed >= large.size() - tcp_options().window - (std::size_t{1} << 20));
}

/// The sender of a long message that is waited for does not wait for credit on the way.
BOOST_AUTO_TEST_CASE(a_window_does_not_stop_what_is_waited_for) {
  tcp_options o;
  o.piece = 1 << 14;
  o.window = 1 << 16;
  tcp_ranks world(2, o);
  std::vector<std::byte> const large(1 << 20, std::byte{1});
  flow const s{0, 0};
  BOOST_TEST(!world[1].view(0, s, {large.size(), 4, nullptr}));
  std::size_t put = 0;
  BOOST_TEST(world.until([&] {
    put += world[0].send(1, s, std::span(large).subspan(put), 4).bytes;
    static_cast<void>(world[1].view(0, s, {large.size(), 4, nullptr}));  // a slow reader: it releases nothing
    return put > 4 * o.window;
  }) == "");
}

/// Chunks that are held back on many lanes do not stop the connection.
BOOST_AUTO_TEST_CASE(held_chunks_stay_while_others_pass) {
  tcp_ranks world(2);
  std::vector<std::byte> const message(50'000, std::byte{9});
  std::vector<chunk> held(8);
  for (std::uint32_t lane = 0; lane < 8; ++lane) {
    BOOST_TEST(world.until([&] { return world[0].send(1, {lane, 0}, message, 50'000).bytes == message.size(); }) == "");
    BOOST_TEST(world.until([&] {
      return static_cast<bool>(held[lane] = world[1].view(0, {lane, 0}, {message.size(), 50'000, nullptr}));
    }) == "");
  }
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(world.deliver(0, 1, {8, 0}, 65'000) == "");
  }
  for (std::uint32_t lane = 0; lane < 8; ++lane) {
    BOOST_TEST(held[lane].bytes == message.size());
    BOOST_TEST(std::equal(message.begin(), message.end(), held[lane].data));
    world[1].release(0, {lane, 0});
  }
}

}  // namespace
