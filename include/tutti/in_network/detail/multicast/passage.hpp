// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/cut.hpp>
#include <tutti/in_network/detail/multicast/early.hpp>
#include <tutti/in_network/detail/multicast/incoming.hpp>
#include <tutti/in_network/detail/multicast/outgoing.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::multicast {

/// One lane of a member: the message that is under way there, which this rank gives, gets, or has no part in. Its
/// packets are numbered from one message to the next, alike on all ranks.
struct passage {
  enum class role : std::uint8_t { none, gives, gets };

  /// Numbers begin anew soon, so every program tries that.
  static constexpr std::uint32_t first_packet = 0U - 100U;

  outgoing out{};
  incoming in{};
  multicast::early early{};
  std::uint32_t base = first_packet;   ///< the number of the first packet of the message
  std::uint32_t next = first_packet;   ///< of the next message's
  std::uint32_t ahead = first_packet;  ///< packets before this number are said to have been sent
  std::uint32_t fingerprint = 0;
  rank_type root = no_rank;
  rank_type differs = no_rank;
  role does = role::none;
  // of a rank that gets:
  std::uint32_t unreported = 0;  ///< packets that have come since the last report
  bool fresh = false;            ///< some have
  bool gap = false;              ///< a packet has come before one that was sent earlier
  bool congested = false;        ///< some came marked by ECN
  bool is_due = false;           ///< the one that gives wants a report now

  /// Of numbers that begin anew after the largest.
  [[nodiscard]] static bool after(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) > 0;
  }
  /// Packets before this number have been sent.
  void hear_of(std::uint32_t number) noexcept { ahead = after(number, ahead) ? number : ahead; }

  void take_part(helper_part const& part, rank_type me) {
    base = next;
    next += cut{part.bytes}.count();
    hear_of(base);
    fresh = congested = is_due = false;
    root = no_rank;
    for (helper_worker const& w : part.workers) {
      root = w.gives ? w.rank : root;
    }
    does = part.worker == no_rank || part.bytes == 0 ? role::none : root == me ? role::gives : role::gets;
  }
  void end() noexcept {
    does = role::none;
    base = next;
  }
  [[nodiscard]] bool gives() const noexcept { return does == role::gives; }
  [[nodiscard]] bool gets() const noexcept { return does == role::gets; }
  /// Whether it gets what has not all come.
  [[nodiscard]] bool lacks() const noexcept { return gets() && !in.over(); }
};

}  // namespace tutti::detail::multicast
