// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>

#include <array>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace nic = tutti::detail::fpga_nic;

/// A rack's switch, the switch above it, and another rack that repeats this rack's packets to the switch above. Checks
/// the rules of `switch_target`.
class racks_target {
 public:
  racks_target(draw& next, nic::seal const& seal)
      : seal_(seal),
        next_(next),
        device_({.jobs = 2, .slot_count = draw::slots, .memory = draw::memory, .lease = std::chrono::milliseconds(20)},
                seal, spine),
        spine_({.jobs = 2, .slot_count = draw::slots, .memory = draw::memory, .lease = std::chrono::milliseconds(50)},
               seal) {}

  void give_one() {
    now_ += std::chrono::microseconds(next_.random_below(200)) + std::chrono::milliseconds(next_.one_in(250) ? 100 : 0);
    if (!from_spine_.empty() && !next_.one_in(10)) {
      auto const bytes = std::move(from_spine_.front());
      from_spine_.pop_front();
      return give(spine, bytes);
    }
    auto const drawn_packet = next_.packet();
    std::vector<std::byte> bytes(drawn_packet.begin(), drawn_packet.end());
    nic::packet p;
    bool const is_read = seal_.read(bytes, p) == nic::reading::good;
    if (next_.one_in(20)) {
      return give(spine, is_read ? forge_answer(p) : bytes);
    }
    auto const source = static_cast<std::uint32_t>(next_.one_in(20) || !is_read ? next_.random_below(senders)
                                                                                : p.head.worker % senders);
    give(source, is_read && p.head.kind == nic::kind::join && !next_.one_in(20) ? make_rack_join(p) : bytes);
  }

 private:
  [[nodiscard]] nic::counters const& counts() const { return device_.counts(); }

  static constexpr std::uint32_t senders = 4;  // addresses; some of them never join
  static constexpr std::uint32_t spine = 4;
  static constexpr std::uint32_t racks = 2;

  [[nodiscard]] std::vector<std::byte> serialize(nic::header const& h, std::span<std::byte const> payload) const {
    std::vector<std::byte> bytes(nic::max_packet);
    bytes.resize(seal_.write(h, payload, bytes.data()));
    return bytes;
  }
  /// A join of a member of the rack.
  [[nodiscard]] std::vector<std::byte> make_rack_join(nic::packet const& p) {
    nic::header h = p.head;
    std::vector<std::byte> payload(nic::terms::bytes + nic::rack_position::bytes);
    bool const is_arbitrary = next_.one_in(20);
    nic::write(nic::read_terms(p.payload), payload.data());
    nic::write(is_arbitrary ? nic::rack_position{static_cast<std::uint8_t>(next_.random_below(256)),
                                                 static_cast<std::uint8_t>(next_.random_below(256))}
                            : nic::rack_position{0, racks},
               payload.data() + nic::terms::bytes);
    h.length = static_cast<std::uint16_t>(payload.size());
    h.flags = nic::flag::of_racks | nic::flag::in_rank_order;
    return serialize(h, payload);
  }
  /// A forged answer of the device above.
  [[nodiscard]] std::vector<std::byte> forge_answer(nic::packet const& p) {
    nic::header h = p.head;
    std::vector<std::byte> payload(p.payload.begin(), p.payload.end());
    h.kind =
        std::array{nic::kind::grant, nic::kind::result, nic::kind::missing, nic::kind::refuse}[next_.random_below(4)];
    h.flags &= nic::flag::phase | nic::flag::in_rank_order | nic::flag::no_data | nic::flag::of_racks;
    if (h.kind != nic::kind::result) {
      payload.resize(h.kind == nic::kind::grant     ? nic::terms::bytes
                     : h.kind == nic::kind::missing ? nic::bitmap_bytes(h.workers)
                                                    : 1);
    }
    if (h.kind == nic::kind::refuse) {
      payload[0] = static_cast<std::byte>(next_.random_below(8));
      h.operation = next_.one_in(4) ? tutti::network_operation::none : h.operation;
    }
    h.slot =
        next_.one_in(8) ? static_cast<std::uint16_t>(next_.one_in(2) ? UINT16_MAX : next_.random_below(9)) : h.slot;
    h.length = static_cast<std::uint16_t>(payload.size());
    return serialize(h, payload);
  }

  void give(std::uint32_t source, std::span<std::byte const> bytes) {
    nic::packet p;
    bool const is_read = seal_.read(bytes, p) == nic::reading::good;
    auto const unknown = counts().refusals_for(nic::refusal::unknown);
    unsigned member_answers = 0;
    device_.take(source, bytes, next_.one_in(100), now_,
                 [&](std::uint32_t destination, nic::header const& h, std::span<std::byte const> payload) {
                   check_answer(h, payload);
                   fuzz::expect(is_read, "a malformed packet gets no answer");
                   fuzz::expect(destination <= spine, "an answer goes to an address that a sender has");
                   if (destination == spine) {
                     return send_up(h, payload);
                   }
                   ++member_answers;
                   bool const goes_to_all = h.kind == nic::kind::result && !h.has(nic::flag::weights);
                   fuzz::expect(destination == source || source == spine || goes_to_all,
                                "an answer goes to the sender, or a result to all");
                   fuzz::expect(
                       counts().refusals_for(nic::refusal::unknown) == unknown || payload.size() <= p.payload.size(),
                       "an unknown sender gets no longer answer");
                 });
    fuzz::expect(counts().packets == counts().accounted_packets(), "a packet is counted in one way");
    fuzz::expect(member_answers <= draw::workers || source == spine, "a member gets one answer");
  }
  /// Delivers a packet to the device above, mostly, and a copy from the other rack.
  void send_up(nic::header h, std::span<std::byte const> payload) {
    for (std::uint8_t const rack : {std::uint8_t{0}, std::uint8_t{1}}) {
      h.worker = rack;
      if (next_.one_in(10)) {
        continue;
      }
      spine_.take(rack, serialize(h, payload), false, now_,
                  [&](std::uint32_t destination, nic::header const& r, std::span<std::byte const> answer) {
                    if (destination == 0 && !next_.one_in(10)) {
                      from_spine_.push_back(serialize(r, answer));
                    }
                  });
    }
  }
  void check_answer(nic::header const& h, std::span<std::byte const> payload) {
    std::array<std::byte, nic::max_packet> bytes;
    nic::packet p;
    fuzz::expect(h.length == payload.size() && payload.size() <= nic::max_payload, "an answer is as long as it says");
    fuzz::expect(seal_.read({bytes.data(), seal_.write(h, payload, bytes.data())}, p) == nic::reading::good,
                 "an answer is well formed");
  }

  nic::seal seal_;
  draw& next_;
  nic::rack_switch<std::uint32_t> device_;
  nic::summing_switch<std::uint32_t> spine_;
  std::deque<std::vector<std::byte>> from_spine_;
  tutti::time_point now_{};
};
