// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/verify/buffering.hpp>
#include <tutti/detail/verify/symbolic_run.hpp>

namespace tutti::inline v0_1_0 {

/// Proves the schedule of `op` for n ranks right, or says what is wrong with it: by symbolic execution
/// with input, work and output apart and as one memory, with buffers and without. A constant
/// expression; needs about n vectors of n clocks, and time in proportion to steps times ranks.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr verdict verify(Topology const& topology, Op const& op, rank_type n) {
  verdict found;
  for (bool const in_place : {false, true}) {
    detail::verify::symbolic_run<Topology, Op>(topology, op, n, in_place, found).run();
    if (!found) {
      return found;
    }
  }
  if (auto const stuck = detail::verify::buffering<Topology, Op>(topology, op, n).run(); stuck.rank != no_rank) {
    found.finishes = false;
    found.reason = "waits for ever if there are no buffers";
    found.rank = stuck.rank;
    found.step = stuck.step;
  } else if (!found.ordered && combines_in_order<Op>(topology, n)) {
    found.reason = "combines out of rank order";
  } else if (Topology::sends_raw_contributions && !found.raw) {
    found.reason = "sends partial sums";
  }
  return found;
}

/// The same for every root. The first failure, or what holds for all roots.
template <class Op, class Topology>
  requires offers<Topology, Op>
[[nodiscard]] constexpr verdict verify_every_root(Topology const& topology, rank_type n) {
  verdict all;
  detail::verify::at_every_root<Op>(n, [&](Op const& op) {
    if (all) {
      all = both(all, verify(topology, op, n));
    }
  });
  return all;
}

}  // namespace tutti
