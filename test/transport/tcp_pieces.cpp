// SPDX-License-Identifier: Apache-2.0
// test: address (one thread drives all ranks)
#include "tcp_world.hpp"
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/frame_reader.hpp>
#include <tutti/detail/tcp/wait_table.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace tutti;
using namespace tutti::detail;
using support::tcp_ranks;

/// Buffers are so small that the system splits nearly everything, headers included.
struct narrow {
  static tcp_options get() {
    tcp_options o;
    o.send_buffer = 1;
    o.receive_buffer = 60'000;  // smaller than packets of the loopback interface, which would wait for timers
    return o;
  }
};
/// Buffers and pieces are tiny, and receivers buffer less than many a granule.
struct cautious {
  static tcp_options get() {
    tcp_options o = narrow::get();
    o.piece = 100;
    o.window = 1000;
    return o;
  }
};

template <class Options>
void pieces() {
  tcp_ranks world(2, Options::get());
  for (std::size_t const granule : {1UL, 24UL, 40UL, 1000UL, 100'008UL}) {
    for (std::size_t const count : {1UL, 3UL, 1000UL}) {
      std::size_t const bytes = granule * count < 3'000'000 ? granule * count : granule * 9;
      for (bool const has_place : {false, true}) {
        BOOST_TEST(world.deliver(0, 1, {1, 0}, bytes, granule, has_place) == "",
                   bytes << " bytes, granule " << granule << (has_place ? ", placed" : ""));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(granules) {
  pieces<narrow>();
  pieces<cautious>();
}

BOOST_AUTO_TEST_CASE(laws_with_narrow_buffers) {
  using world = support::tcp_world_with<narrow>;
  laws::delivers_everything_in_order<world>(2, 1 << 20);
  laws::keeps_granules_whole<world>();
  laws::keeps_flows_apart<world>(3, 100);
}
BOOST_AUTO_TEST_CASE(laws_when_next_to_nothing_is_kept) {
  using world = support::tcp_world_with<cautious>;
  laws::delivers_everything_in_order<world>(3, 1 << 20);
  laws::keeps_granules_whole<world>();
  laws::keeps_flows_apart<world>(3, 100);
}

/// Elements are aligned, for all positions and cuts of the stream.
BOOST_AUTO_TEST_CASE(chunks_are_aligned) {
  struct message {
    std::size_t bytes;
    std::size_t granule;
    std::size_t alignment;
  };
  constexpr message cycle[] = {{13, 1, 1}, {24 * 2000, 24, 8}, {16 * 3, 16, 16}, {48 * 900, 48, 16}, {8, 8, 8}};
  constexpr std::size_t count = 200;
  tcp_ranks world(2, narrow::get());
  flow const s{2, 0};
  std::vector<std::byte> const data(50'000);
  std::size_t sent_count = 0;
  std::size_t sent_bytes = 0;
  std::size_t received_count = 0;
  std::size_t received_bytes = 0;
  std::size_t wrong = 0;
  std::uint32_t dice = 1;
  BOOST_TEST(world.run_until([&] {
    dice = dice * 1664525U + 1013904223U;
    message const& m = cycle[sent_count % 5];
    if (sent_count != count && dice >> 30 != 0) {
      send_result const k = world[0].send(1, s, std::span(data).first(m.bytes).subspan(sent_bytes), m.granule);
      sent_bytes += k.bytes;
      if (k.is_accepted && sent_bytes == m.bytes) {
        sent_bytes = 0;
        ++sent_count;
      }
    } else {
      message const& w = cycle[received_count % 5];
      if (chunk const c = world[1].view(0, s, {w.bytes - received_bytes, w.granule, nullptr})) {
        wrong += reinterpret_cast<std::uintptr_t>(c.data) % w.alignment != 0 ? 1 : 0;
        received_bytes += c.bytes;
        world[1].release(0, s);
        if (received_bytes == w.bytes) {
          received_bytes = 0;
          ++received_count;
        }
      }
    }
    return received_count == count;
  }) == "");
  BOOST_TEST(wrong == 0U);
}

/// Elements are aligned if the network cuts a message after 8 bytes.
BOOST_AUTO_TEST_CASE(chunks_are_aligned_after_any_cut) {
  tcp_options o;
  o.world = {3, 4};
  tcp_ranks world(2, o);
  tutti::host_port at;
  BOOST_REQUIRE(net::parse(world[1].address(), at));
  descriptor const peer = net::connect(net::resolve(at.host, at.port).front(), steady_now() + std::chrono::seconds(5));
  auto const say = [&](auto const& words, std::size_t bytes) {
    BOOST_REQUIRE(write_some(peer.get(), std::as_bytes(std::span(&words, 1)).first(bytes)).state == io::complete);
  };
  detail::tcp::hello h;
  h.world = o.world;
  h.kind = detail::tcp::hello_kind::connect;
  h.sender = 0;
  h.receiver = 1;
  say(h, sizeof h);
  auto const take = [&](std::size_t bytes, std::size_t granule) {
    chunk c;
    BOOST_TEST(world.run_until([&] {
      return static_cast<bool>(c = world[1].view(0, {0, 0}, {bytes, granule, nullptr}));
    }) == "");
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(c.data) % granule == 0U);
    world[1].release(0, {0, 0});
    return c.bytes;
  };
  detail::tcp::frame f;
  f.kind = detail::tcp::frame_kind::piece;
  f.sender_call = laws::a_call(1);
  f.part = 24;
  f.bytes = 24;
  std::byte const payload[64] = {};
  say(f, sizeof f);
  say(payload, 8);
  BOOST_TEST(take(24, 8) == 8U);
  BOOST_TEST(!world[1].view(0, {0, 0}, {16, 8, nullptr}));
  say(payload, 16 + detail::tcp::padding(24));  // the rest and its padding
  f.part = 16;
  f.bytes = 16;
  say(f, sizeof f);
  say(payload, 16 + detail::tcp::padding(16));
  for (std::size_t received_bytes = 8; received_bytes != 24;) {
    received_bytes += take(24 - received_bytes, 8);
  }
  BOOST_TEST(take(16, 16) == 16U);
}

/// A receiver that asks for a long message before the padding of the previous one has arrived returns each byte of
/// credit once, although both were granted in advance.
BOOST_AUTO_TEST_CASE(credit_in_advance_is_granted_once) {
  tcp_options o;
  o.world = {3, 4};
  o.window = 4000;
  tcp_ranks world(2, o);
  tutti::host_port at;
  BOOST_REQUIRE(net::parse(world[1].address(), at));
  descriptor const peer = net::connect(net::resolve(at.host, at.port).front(), steady_now() + std::chrono::seconds(5));
  auto const say = [&](void const* bytes, std::size_t count) {
    BOOST_REQUIRE(write_some(peer.get(), {static_cast<std::byte const*>(bytes), count}).state == io::complete);
  };
  detail::tcp::hello h;
  h.world = o.world;
  h.kind = detail::tcp::hello_kind::connect;
  h.sender = 0;
  h.receiver = 1;
  say(&h, sizeof h);

  constexpr std::size_t bytes = 2001;  // more than credit that may be withheld, and not a multiple of the alignment
  constexpr int pairs = 8;
  static_assert(detail::tcp::padding(bytes) != 0);
  BOOST_REQUIRE(bytes > detail::tcp::max_withheld_credit(o.window));
  detail::tcp::frame f;
  f.kind = detail::tcp::frame_kind::piece;
  f.sender_call = laws::a_call(1);
  f.part = bytes;
  f.bytes = bytes;
  std::vector<std::byte> const payload(bytes + detail::tcp::padding(bytes));
  std::vector<std::byte> place(bytes);
  flow const s{0, 0};
  auto const take = [&] {  // without `poll`, which would store the piece, padding included
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    for (std::size_t received_bytes = 0; received_bytes != bytes;) {
      BOOST_REQUIRE((steady_now() < deadline));
      if (chunk const c = world[1].view(0, s, {bytes - received_bytes, 1, place.data() + received_bytes})) {
        received_bytes += c.bytes;
        world[1].release(0, s);
      }
    }
  };
  auto const ask = [&] { BOOST_TEST(!world[1].view(0, s, {bytes, 1, place.data()})); };  // grants credit in advance
  for (int pair = 0; pair != pairs; ++pair) {
    ask();
    say(&f, sizeof f);
    say(payload.data(), bytes);
    take();
    ask();
    say(payload.data(), payload.size() - bytes);
    say(&f, sizeof f);
    say(payload.data(), payload.size());
    take();
  }
  std::vector<std::byte> answers;
  BOOST_TEST(world.run_until([&] {
    std::byte part[4096];
    auto const result = read_some(peer.get(), part);
    answers.insert(answers.end(), part, part + result.bytes);
    return result.state != io::complete;
  }) == "");
  std::size_t credit = 0;
  for (std::size_t i = answers.size() % sizeof f; i != answers.size(); i += sizeof f) {  // a hello may come first
    std::memcpy(&f, answers.data() + i, sizeof f);
    credit += f.credits[0];
  }
  BOOST_TEST(credit > 0U);
  BOOST_TEST(credit <= 2 * pairs * detail::tcp::window_cost(bytes));
}

// Each query gets one reply for a lane, and one more once the program blocks there. A report is fresh until its
// receiver asks again.
BOOST_AUTO_TEST_CASE(queries_are_answered_once) {
  detail::tcp::wait_table asker;
  detail::tcp::wait_table waiter;
  wait_report report{.peer = 7, .flow = {3, 11}, .progress = 5};
  BOOST_TEST(!waiter.needs_reply(report));  // no query yet
  BOOST_TEST(asker.last_report(3).peer == no_rank);
  for (int query = 0; query < 2; ++query) {
    waiter.receive(asker.make_query());
    BOOST_TEST(!asker.last_report(3).is_fresh);
    for (bool const blocks : {false, true}) {
      report.blocks_program = blocks;
      BOOST_TEST(waiter.needs_reply(report));
      asker.receive(waiter.make_reply(report));
      BOOST_TEST(!waiter.needs_reply(report));
      wait_report const heard_report = asker.last_report(3);
      BOOST_TEST(heard_report.is_fresh);
      BOOST_TEST(heard_report.blocks_program == blocks);
      BOOST_TEST(heard_report.has_same_progress(report));
    }
    report.blocks_program = false;
  }
  BOOST_TEST(asker.last_report(2).peer == no_rank);  // another lane
}

}  // namespace
