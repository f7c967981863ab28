// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/verdict.hpp>
#include <tutti/topology/cost.hpp>
#include <tutti/topology/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>

/// The laws of a topology, for tutti's and for a user's own. In a test:
///
///     static_assert(laws::hold<op::allreduce>(mine{}, 1, 4));                  // proved by the compiler
///     laws::check(mine{}, {5, 6, 7, 8, 9, 10, 11, 17, 31, 32, 33, 64});        // all that it offers, at run time
///
/// Both run one verifier. A compiler is slow at it: it proves few ranks, and the program tries many.
namespace laws {

using tutti::rank_type;

/// Up to how many ranks every root is tried; above, the first, the second, the middle and the last.
inline constexpr rank_type every_root_up_to = 9;

template <class Op, class F>
constexpr void at_some_roots(rank_type n, F f) {
  if constexpr (requires(Op o) { o.root; }) {
    if (n > every_root_up_to) {
      for (rank_type const root : {rank_type{0}, rank_type{1}, n / 2, n - 1}) {
        f(Op{root});
      }
      return;
    }
  }
  tutti::detail::verify::at_every_root<Op>(n, f);
}

/// The verdict on `Op` for first..last ranks: the first failure, or all that was found.
template <class Op, class Topology>
[[nodiscard]] constexpr tutti::verdict hold(Topology const& topology, rank_type first, rank_type last) {
  tutti::verdict result;
  for (rank_type n = first; n <= last && result; ++n) {
    at_some_roots<Op>(n, [&](Op const& op) {
      if (result) {
        result = combine(result, tutti::verify(topology, op, n));
      }
    });
  }
  return result;
}

[[nodiscard]] inline std::string describe(tutti::verdict const& v) {
  return v ? "right"
           : "rank " + std::to_string(v.rank) + ", step " + std::to_string(v.step) + ": " + std::string(v.reason);
}

/// verify, but only at run time: some compilers evaluate any call that they can.
template <class Topology, class Op>
[[nodiscard]] tutti::verdict run(Topology const& topology, Op const& op, rank_type n) {
  return tutti::verify(topology, op, n);
}

/// Checks every operation that a topology offers, for these numbers of ranks.
template <class Topology>
void check(Topology const& topology, std::initializer_list<rank_type> sizes) {
  tutti::detail::verify::for_each_offered<Topology>([&]<class Op>() {
    for (rank_type const n : sizes) {
      at_some_roots<Op>(n, [&](Op const& op) {
        const tutti::verdict v = run(topology, op, n);
        BOOST_TEST(bool(v), std::string(Topology::name)
                                << ", operation " << tutti::name(tutti::detail::verify::kind_of<Op>) << ", " << n
                                << " ranks: " << describe(v));
      });
    }
  });
}

/// Checks reduce and broadcast with every root, and that no reader is overtaken by a write.
template <class Topology>
void check_every_root(Topology const& topology, rank_type first, rank_type last) {
  for (rank_type n = first; n <= last; ++n) {
    auto const v = combine(tutti::verify_every_root<tutti::op::reduce>(topology, n),
                           tutti::verify_every_root<tutti::op::broadcast>(topology, n));
    BOOST_TEST(bool(v), describe(v));
    BOOST_TEST((v.has_no_write_after_read && !v.self_overlap));
  }
}

}  // namespace laws
