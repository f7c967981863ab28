// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/early_packets.hpp>
#include <tutti/in_network/detail/multicast/incoming.hpp>
#include <tutti/in_network/detail/multicast/outgoing.hpp>
#include <tutti/in_network/detail/multicast/packetization.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::multicast {

/// One lane of a member: its message under way, which this rank sends, receives, or ignores. Packets are numbered
/// from one message to the next, with equal numbers on all ranks.
struct lane_state {
  enum class role : std::uint8_t { idle, sender, receiver };

  /// Starts shortly before wrap-around, so every program exercises it.
  static constexpr std::uint32_t first_packet = 0U - 100U;

  outgoing outgoing_message{};
  incoming incoming_message{};
  multicast::early_packets early_packets{};
  std::uint32_t first_number = first_packet;  ///< number of the first packet of the message
  std::uint32_t next_number = first_packet;   ///< number of the first packet of the next message
  std::uint32_t wrap_count = 0;               ///< number of times that `first_number` has wrapped
  std::uint32_t known_number = first_packet;  ///< packets before this number are known to have been sent
  std::uint32_t fingerprint = 0;
  rank_type root = no_rank;
  rank_type differing_rank = no_rank;
  role current_role = role::idle;
  // --- state of a receiver
  std::uint32_t unreported_count = 0;  ///< packets received since the last report
  bool has_news = false;               ///< packets have arrived since the last report
  bool gap = false;                    ///< a packet arrived before one that was sent earlier
  bool has_ecn_mark = false;           ///< a packet was marked by ECN
  bool report_due = false;             ///< the sender wants a report now

  /// Compares packet numbers, which wrap around.
  [[nodiscard]] static bool is_after(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) > 0;
  }
  /// The wraps before a packet, whose number differs from `first_number` by less than 2^31.
  [[nodiscard]] std::uint32_t wrap_count_of(std::uint32_t number) const noexcept {
    std::uint64_t const first = std::uint64_t{wrap_count} << 32 | first_number;
    auto const distance = static_cast<std::int64_t>(static_cast<std::int32_t>(number - first_number));
    return static_cast<std::uint32_t>((first + static_cast<std::uint64_t>(distance)) >> 32);
  }
  /// Learns that packets before this number have been sent.
  void learn_number(std::uint32_t number) noexcept {
    known_number = is_after(number, known_number) ? number : known_number;
  }

  void join_aggregation(aggregation_part const& part, rank_type me) {
    begin_at_next();
    next_number += packetization{part.bytes}.count();
    learn_number(first_number);
    has_news = has_ecn_mark = report_due = false;
    root = no_rank;
    for (aggregation_worker const& worker : part.workers) {
      root = worker.contributes ? worker.rank : root;
    }
    current_role = part.worker == no_rank || part.bytes == 0 ? role::idle : root == me ? role::sender : role::receiver;
  }
  void end() noexcept {
    current_role = role::idle;
    begin_at_next();
  }
  /// Continues behind the numbers of the message.
  void begin_at_next() noexcept {
    wrap_count += next_number < first_number ? 1 : 0;
    first_number = next_number;
  }
  [[nodiscard]] bool is_sender() const noexcept { return current_role == role::sender; }
  [[nodiscard]] bool is_receiver() const noexcept { return current_role == role::receiver; }
  /// True for a receiver whose message is not complete.
  [[nodiscard]] bool is_incomplete() const noexcept { return is_receiver() && !incoming_message.is_complete(); }
};

}  // namespace tutti::detail::multicast
