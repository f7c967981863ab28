// SPDX-License-Identifier: Apache-2.0
// test: address
#include "packets.hpp"
#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>
#include <tutti/in_network/detail/fpga_nic/member.hpp>
#include <tutti/in_network/detail/fpga_nic/member_lanes.hpp>
#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/presence_query.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// One member of a job, or the stand-in; the test plays the others.

namespace {

namespace fpga = tutti::detail::fpga_nic;
using namespace std::chrono_literals;
using network = fpga::in_process_network;

constexpr std::uint32_t slots = 64;
constexpr std::uint32_t nonce = 9;

[[nodiscard]] std::vector<float> packets_of(std::uint32_t pieces, float value) {
  return std::vector<float>(pieces * fpga::max_payload / sizeof(float), value);
}

/// Begins a sum of two ranks that both contribute and receive.
void begin_sum(fpga::exchange& x, tutti::rank_type worker, std::span<float const> contribution) {
  static constexpr tutti::aggregation_worker workers[] = {{0, true, true}, {1, true, true}};
  x.begin({0, 0}, 7);
  x.join_aggregation({.aggregator = 2,
                      .workers = workers,
                      .worker = worker,
                      .operation = tutti::network_operation::sum_float32,
                      .bytes = contribution.size_bytes()});
  x.set_source(std::as_bytes(contribution).data());
}

void send_packet(fpga::in_process_port& port, network::address destination, fpga::header h,
                 std::span<std::byte const> payload) {
  h.job = nonce;
  h.length = static_cast<std::uint16_t>(payload.size());
  port.send(destination, h, payload);
  port.flush();
}

/// The terms that a server grants.
[[nodiscard]] std::array<std::byte, fpga::terms::bytes> serialize_terms() {
  std::array<std::byte, fpga::terms::bytes> terms;
  write(fpga::terms{10'000, slots * tutti::collective_lanes}, terms.data());
  return terms;
}

}  // namespace

// A piece that the stand-in has from rank 0, and that this rank has not reached yet, goes to the stand-in at once:
// the device would never complete it.
BOOST_AUTO_TEST_CASE(what_the_stand_in_waits_for_is_given_to_it_at_once) {
  constexpr std::uint32_t pieces = 200;
  constexpr std::uint32_t missing_piece = 100;
  network net(2);
  fpga::in_process_port port_0(net, 1);
  fpga::in_process_port port_1(net, 2);
  fpga::member<fpga::in_process_port> rank_1(port_1, {}, {.nonce = nonce, .slot_count = slots}, 1, {1, 2},
                                             std::optional(network::device));
  auto const contribution = packets_of(pieces, 1);
  auto result = packets_of(pieces, 0);
  rank_1.lanes().begin({0, 0}, 7);
  begin_sum(rank_1.lanes().lane_at(0), 1, contribution);
  rank_1.lanes().lane_at(0).set_target(std::as_writable_bytes(std::span(result)).data());

  fpga::exchange exchange_0;  // computes rank 0's packets
  fpga::job_terms const terms_0{.slot_count = slots};
  exchange_0.open(terms_0, 0);
  begin_sum(exchange_0, 0, contribution);
  fpga::header join{.kind = fpga::kind::join, .worker = 0, .workers = 2};
  join.flags = fpga::flag::in_rank_order;
  send_packet(port_0, network::device, join, serialize_terms());
  std::byte const only_rank_0{1};
  auto stand_in_query = exchange_0.head_of(fpga::kind::missing, missing_piece, 0, fpga::server_kind::stand_in);
  stand_in_query.worker = 1;
  send_packet(port_0, 2, stand_in_query, {&only_rank_0, 1});

  tutti::time_point now = tutti::steady_now();
  rank_1.join(now);
  std::uint32_t resends = 0;
  for (std::uint32_t i = 0; !rank_1.lanes().lane_at(0).is_complete() && i < 10 * pieces; ++i) {
    now += std::chrono::nanoseconds(100);
    rank_1.advance(now);
    rank_1.lanes().push(0, now);
    if (i < pieces && i != missing_piece) {
      send_packet(port_0, network::device,
                  exchange_0.head_of(fpga::kind::contribute, i, 0, fpga::server_kind::stand_in), exchange_0.content(i));
    }
    port_0.drain([&](auto, std::span<std::byte const> bytes, bool) {
      fpga::packet p;
      BOOST_TEST((net.seal().read(bytes, p) == fpga::reading::good));
      if (p.head.kind == fpga::kind::join) {
        p.head.kind = fpga::kind::grant;
        send_packet(port_0, 2, p.head, serialize_terms());
      } else if (p.head.kind == fpga::kind::contribute) {
        resends += p.head.sequence == missing_piece ? 1 : 1000;
        p.head.kind = fpga::kind::result;
        p.head.flags &= fpga::flag::phase | fpga::flag::in_rank_order;
        auto const sum = packets_of(1, 2);
        send_packet(port_0, 2, p.head, std::as_bytes(std::span(sum)));
      }
    });
  }
  BOOST_TEST((result == packets_of(pieces, 2)));
  BOOST_TEST(resends == 1);
  BOOST_TEST(rank_1.counts().contributions == pieces);
  BOOST_TEST(rank_1.counts().repeats == 0);
}

// When the answer to a query shows that a piece was lost, all pieces sent before the query are queried at once:
// common losses are not found one by one.
BOOST_AUTO_TEST_CASE(what_was_lost_together_is_sent_again_together) {
  constexpr network::address device = 3;
  constexpr std::uint32_t pieces = 50;
  network net(3);
  fpga::in_process_port port_1(net, 2);
  fpga::in_process_port device_port(net, device);
  fpga::member<fpga::in_process_port> rank_1(port_1, {}, {.nonce = nonce, .slot_count = slots}, 1, {1, 2},
                                             std::optional(device));
  auto const contribution = packets_of(pieces, 1);
  auto result = packets_of(pieces, 0);
  begin_sum(rank_1.lanes().lane_at(0), 1, contribution);
  rank_1.lanes().lane_at(0).set_target(std::as_writable_bytes(std::span(result)).data());

  std::uint32_t contributions = 0;
  std::vector<fpga::header> questions;
  auto const take_at_device = [&] {
    device_port.drain([&](auto, std::span<std::byte const> bytes, bool) {
      fpga::packet p;
      BOOST_TEST((net.seal().read(bytes, p) == fpga::reading::good));
      contributions += p.head.kind == fpga::kind::contribute ? 1 : 0;
      if (p.head.kind == fpga::kind::join) {
        p.head.kind = fpga::kind::grant;
        send_packet(device_port, 2, p.head, serialize_terms());
      } else if (p.head.kind == fpga::kind::query) {
        questions.push_back(p.head);
      }
    });
  };
  tutti::time_point now = tutti::steady_now();
  rank_1.join(now);
  take_at_device();
  for (int i = 0; questions.empty() && i < 100; ++i) {
    now += 1ms;
    rank_1.advance(now);
    rank_1.lanes().push(0, now);
    take_at_device();
  }
  BOOST_TEST_REQUIRE(questions.size() == 1U);
  BOOST_TEST(contributions == pieces);  // all of them are lost

  auto const answer = [&] {
    std::byte const only_rank_0{1};
    for (fpga::header& h : std::exchange(questions, {})) {
      h.kind = fpga::kind::missing;
      send_packet(device_port, 2, h, {&only_rank_0, 1});
    }
    rank_1.advance(now);
    take_at_device();
  };
  answer();
  BOOST_TEST(contributions == pieces + 1);
  BOOST_TEST(questions.size() == pieces - 1);
  answer();
  BOOST_TEST(contributions == 2 * pieces);
  BOOST_TEST(questions.empty());
}

// A slot may be reused before the stand-in has checked its previous use. Members that lack the new sequence are
// asked, too.
BOOST_AUTO_TEST_CASE(the_stand_in_asks_about_a_slot_that_was_used_just_before) {
  constexpr std::uint16_t one_slot = 1;
  constexpr std::uint32_t next_sequence = 2;
  fpga::stand_in<unsigned> rank_0(one_slot, {100, 101}, {}, {});
  std::vector<unsigned> destinations;
  auto const emit = [&](unsigned destination, fpga::header const& h, std::span<std::byte const>) {
    if (h.kind == fpga::kind::missing) {
      destinations.push_back(destination);
    }
  };
  tutti::time_point now = tutti::steady_now();
  auto const values = packets_of(1, 1);
  auto const payload = std::as_bytes(std::span(values));
  auto const give = [&](unsigned worker, std::uint32_t sequence) {
    rank_0.take(100 + worker, packets::serialize(packets::contribution(worker, 2, sequence, payload.size()), payload),
                false, now, emit);
  };
  for (unsigned worker = 0; worker != 2; ++worker) {
    fpga::header join = packets::contribution(worker, 2, 0, fpga::terms::bytes, tutti::network_operation::none);
    join.kind = fpga::kind::join;
    rank_0.take(100 + worker, packets::serialize(join, serialize_terms()), false, now, emit);
    give(worker, 0);
  }
  give(0, next_sequence);
  rank_0.query_members(now += 1ms, emit);
  BOOST_TEST(destinations.empty());
  rank_0.query_members(now += 10ms, emit);
  BOOST_TEST(destinations == std::vector<unsigned>{101}, boost::test_tools::per_element());
}
