// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::detail::inline topology {

/// A pattern of messages by which each of n ranks combines the contributions of the ranks up to its own. Each rank has
/// its contribution in memory `origin`: `input` or `work`.
template <class T>
concept prefix_pattern = requires(rank_type n, rank_type me, std::uint32_t i, memory origin) {
  { T::steps(n, me) } -> std::same_as<std::uint32_t>;  // number of steps
  { T::at(n, me, i, origin) } -> std::same_as<step>;   // step i
};

/// A base class for topologies: scan and exscan by a pattern.
///
/// Exscan: each rank hands its contribution, lifted, to the next one, and ranks 1 to n - 1 combine what they received.
template <prefix_pattern Pattern>
struct on_prefixes {
  [[nodiscard]] constexpr std::uint32_t blocks(op::scan, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::scan, rank_type n, rank_type me) const {
    return Pattern::steps(n, me);
  }
  [[nodiscard]] constexpr step at(op::scan, rank_type n, rank_type me, std::uint32_t i) const {
    return Pattern::at(n, me, i, memory::input);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::exscan, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::exscan, rank_type n, rank_type me) const {
    return handing_steps(n, me) + (me == 0 ? 0 : Pattern::steps(n - 1, me - 1));
  }
  [[nodiscard]] constexpr step at(op::exscan, rank_type n, rank_type me, std::uint32_t i) const {
    constexpr block_range whole{0, 1};
    const std::uint32_t handing = handing_steps(n, me);
    if (i >= handing) {
      step s = Pattern::at(n - 1, me - 1, i - handing, memory::work);
      s.send.peer += s.sends() ? 1U : 0U;
      s.receive.peer += s.receives() ? 1U : 0U;
      return s;
    }
    if (i + 1 < handing) {
      return {.send = {no_rank, memory::input, whole}, .receive = {no_rank, memory::work, whole}};
    }
    return {.send = {me + 1 < n ? me + 1 : no_rank, memory::work, whole},
            .receive = {me == 0 ? no_rank : me - 1, memory::work, whole}};
  }

 private:
  /// The number of steps until a rank has the contribution of the rank before it. The last rank lifts nothing.
  [[nodiscard]] static constexpr std::uint32_t handing_steps(rank_type n, rank_type me) {
    return n == 1 ? 0 : me + 1 == n ? 1 : 2;
  }
};

}  // namespace tutti::detail::topology
