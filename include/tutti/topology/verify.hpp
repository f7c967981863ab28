// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/verify/buffering.hpp>
#include <tutti/detail/verify/symbolic_run.hpp>

namespace tutti::inline v0_1_0 {

/// Proves that the schedule of `op` for n ranks is correct, or reports the first error. It executes the schedule
/// symbolically: with `input`, `work` and `output` apart and all three in one buffer (in place), with unlimited buffers
/// and with none. Can be evaluated at compile time.
///
/// Cost: about n vector clocks of n counters, and time in proportion to steps times ranks.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr verdict verify(Topology const& topology, Op const& op, rank_type n) {
  verdict result;
  for (bool const in_place : {false, true}) {
    detail::verify::symbolic_run<Topology, Op>(topology, op, n, in_place, result).run();
    if (!result) {
      return result;
    }
  }
  if (auto const stall = detail::verify::buffering<Topology, Op>(topology, op, n).run(); stall.rank != no_rank) {
    result.finishes = false;
    result.reason = "waits for ever if there are no buffers";
    result.rank = stall.rank;
    result.step = stall.step;
  } else if (!result.keeps_rank_order && combines_in_rank_order<Op>(topology, n)) {
    result.reason = "combines out of rank order";
  } else if (Topology::sends_raw_contributions && !result.raw) {
    result.reason = "sends partial sums";
  }
  return result;
}

/// Verifies every root (every pair of ranks in a transfer). Returns the first failure, or the properties of all roots.
template <class Op, class Topology>
  requires offers<Topology, Op>
[[nodiscard]] constexpr verdict verify_every_root(Topology const& topology, rank_type n) {
  verdict result;
  detail::verify::at_every_root<Op>(n, [&](Op const& op) {
    if (result) {
      result = combine(result, verify(topology, op, n));
    }
  });
  return result;
}

}  // namespace tutti
