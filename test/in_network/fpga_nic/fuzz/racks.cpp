// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"
#include "targets.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>

#include <array>
#include <cstdio>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nic = tutti::detail::fpga_nic;

namespace {

/// A rack's switch, the switch above it, and another rack that repeats this rack's packets to the switch above.
class thrower {
 public:
  thrower(std::uint64_t seed, nic::seal const& seal)
      : seed_(seed),
        seal_(seal),
        next_(seed, seal),
        device_({.jobs = 2, .slot_count = draw::slots, .lease = std::chrono::milliseconds(20)}, seal, spine),
        spine_({.jobs = 2, .slot_count = draw::slots, .lease = std::chrono::milliseconds(50)}, seal) {}

  void throw_one() {
    ++packet_count_;
    now_ +=
        std::chrono::microseconds(next_.random_below(200)) + std::chrono::milliseconds(next_.one_in(5000) ? 100 : 0);
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

  [[nodiscard]] nic::counters const& counts() const { return device_.counts(); }
  [[nodiscard]] auto const& uplink_counts() const { return device_.uplink_counts(); }

 private:
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
                   check(is_read, "is malformed, and was answered");
                   check(destination <= spine, "was answered to an address that no sender has");
                   if (destination == spine) {
                     return send_up(h, payload);
                   }
                   ++member_answers;
                   bool const goes_to_all = h.kind == nic::kind::result && !h.has(nic::flag::weights);
                   check(destination == source || source == spine || goes_to_all, "was answered to another address");
                   check(counts().refusals_for(nic::refusal::unknown) == unknown || payload.size() <= p.payload.size(),
                         "of an unknown sender got an answer that is longer");
                 });
    check(counts().packets == counts().accounted_packets(), "is counted in none or in several ways");
    check(member_answers <= draw::workers || source == spine, "was answered more than once to a member");
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
  void check(bool is_right, char const* problem) const {
    if (!is_right) {
      throw violation("packet " + std::to_string(packet_count_) + " at a rack, of seed " + std::to_string(seed_) + " " +
                      problem);
    }
  }
  void check_answer(nic::header const& h, std::span<std::byte const> payload) {
    std::array<std::byte, nic::max_packet> bytes;
    nic::packet p;
    check(h.length == payload.size() && payload.size() <= nic::max_payload,
          "was answered with another length than said");
    check(seal_.read({bytes.data(), seal_.write(h, payload, bytes.data())}, p) == nic::reading::good,
          "got a malformed answer");
  }

  std::uint64_t seed_;
  nic::seal seal_;
  draw next_;
  nic::rack_switch<std::uint32_t> device_;
  nic::summing_switch<std::uint32_t> spine_;
  std::deque<std::vector<std::byte>> from_spine_;
  tutti::time_point now_{};
  std::uint64_t packet_count_ = 0;
};

}  // namespace

void throw_at_racks(std::uint64_t packets, std::uint64_t seed) {
  nic::secret_key key{};
  key[3] = std::byte{42};
  for (nic::seal const& seal : {nic::seal(), nic::seal(key)}) {
    thrower t(seed, seal);
    for (std::uint64_t i = 0; i < packets / 2; ++i) {
      t.throw_one();
    }
    std::printf("racks: %llu packets, %llu completed, %llu sent up, %llu again, %llu came down, %llu ignored\n",
                static_cast<unsigned long long>(t.counts().packets),
                static_cast<unsigned long long>(t.counts().completed_results),
                static_cast<unsigned long long>(t.uplink_counts().sums),
                static_cast<unsigned long long>(t.uplink_counts().repeats),
                static_cast<unsigned long long>(t.uplink_counts().results),
                static_cast<unsigned long long>(t.uplink_counts().ignored_packets));
    if (packets >= 100'000 &&
        (t.uplink_counts().repeats == 0 || t.uplink_counts().results == 0 || t.uplink_counts().ignored_packets == 0)) {
      throw violation("nothing was sent up again, or came down, or was ignored: packets are drawn too narrowly");
    }
  }
}
