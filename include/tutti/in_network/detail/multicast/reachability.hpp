// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/in_network/detail/multicast/group_view.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

/// Reachability of the group: ranks send probes to it, which also say whether the sender hears all ranks.
template <udp::port Port>
class reachability {
 public:
  static constexpr std::uint16_t slot = collective_lanes;  ///< the slot of a probe, instead of a lane

  explicit reachability(group_view<Port>& group) : group_(group), states_(group.addresses.size()) {
    states_[group.me] = hears_every_rank;
  }

  void send_probe() {
    header h = group_.head(kind::ask, slot);
    h.flags = hears_all() ? group_view<Port>::note : group_view<Port>::no_flags;
    group_.send(group_.group, h);
    group_.port.flush();
  }
  void take(header const& h) noexcept {
    states_[h.worker] = h.has(group_view<Port>::note) ? hears_every_rank : (std::max)(states_[h.worker], audible);
  }
  [[nodiscard]] bool hears(rank_type r) const noexcept { return states_[r] != silent; }
  /// True if probes of all ranks have arrived.
  [[nodiscard]] bool hears_all() const noexcept {
    return std::ranges::all_of(states_, [](std::uint8_t state) { return state != silent; });
  }
  /// True if all ranks have said that they hear all.
  [[nodiscard]] bool all_hear() const noexcept {
    return std::ranges::all_of(states_, [](std::uint8_t state) { return state == hears_every_rank; });
  }

 private:
  static constexpr std::uint8_t silent = 0;            ///< no probe of a rank has arrived
  static constexpr std::uint8_t audible = 1;           ///< the rank is heard
  static constexpr std::uint8_t hears_every_rank = 2;  ///< the rank is heard, and hears all

  group_view<Port>& group_;
  std::vector<std::uint8_t> states_;  ///< by rank: state of its probes
};

}  // namespace tutti::detail::multicast
