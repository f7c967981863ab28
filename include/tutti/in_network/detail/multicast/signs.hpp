// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/circle.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// Whether the network carries packets to the group: ranks call out to it, and say whether they hear all.
template <udp::port Port>
class signs {
 public:
  static constexpr std::uint16_t slot = collective_lanes;  ///< of a sign, in place of a lane

  explicit signs(circle<Port>& of) : of_(of), heard_(of.all.size()) { heard_[of.me] = sign_of_all; }

  /// Sends a sign to the group.
  void call_out() {
    header h = of_.head(kind::ask, slot);
    h.flags = hears_all() ? circle<Port>::note : circle<Port>::no_flags;
    of_.send(of_.group, h);
    of_.port.flush();
  }
  void take(header const& h) noexcept {
    heard_[h.worker] = h.has(circle<Port>::note) ? sign_of_all : (std::max)(heard_[h.worker], a_sign);
  }
  /// Whether a sign of a rank has come.
  [[nodiscard]] bool hears(rank_type r) const noexcept { return heard_[r] != no_sign; }
  /// Whether signs of all have come.
  [[nodiscard]] bool hears_all() const noexcept {
    return std::ranges::all_of(heard_, [](std::uint8_t one) { return one != no_sign; });
  }
  /// Whether the signs of all say that they hear all.
  [[nodiscard]] bool all_hear() const noexcept {
    return std::ranges::all_of(heard_, [](std::uint8_t one) { return one == sign_of_all; });
  }

 private:
  static constexpr std::uint8_t no_sign = 0;      ///< what is known of a rank: nothing,
  static constexpr std::uint8_t a_sign = 1;       ///< that it is heard,
  static constexpr std::uint8_t sign_of_all = 2;  ///< and that it hears all

  circle<Port>& of_;
  std::vector<std::uint8_t> heard_;  ///< by rank: what its signs have said
};

}  // namespace tutti::detail::multicast
