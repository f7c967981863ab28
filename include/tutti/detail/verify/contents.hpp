// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

/// The symbolic values that the verifier computes with instead of numbers.
namespace tutti::inline v0_1_0::detail::verify {

/// The contents of a block of memory: the set of contributions in it, and the order in which they were combined.
///
/// A set of contributions is represented by its size and by the sum of the fingerprints of its members, so the number
/// of ranks is not limited by the bits of a mask. A fingerprint has 64 random bits: two different multisets of one size
/// compare equal with a probability of 2^-64.
struct contents {
  enum class kind : std::uint8_t { empty, element, accumulator, result };

  kind type = kind::empty;
  bool is_in_rank_order = true;  ///< combined in rank order, without gaps: lo, lo + 1, ..., hi - 1
  bool is_sent = false;          ///< sent to a peer since it was written
  rank_type lo = 0;
  rank_type hi = 0;
  std::uint32_t count = 0;
  std::uint64_t print = 0;
};

/// The fingerprint of the contribution of rank r to block b (splitmix64).
[[nodiscard]] constexpr std::uint64_t fingerprint(rank_type r, std::uint32_t b) {
  std::uint64_t x = (std::uint64_t{r} << 32 | b) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

[[nodiscard]] constexpr contents contribution(rank_type r, std::uint32_t b) {
  return {contents::kind::element, true, false, r, r + 1, 1, fingerprint(r, b)};
}

/// The input of an aggregator: an element without a contribution.
[[nodiscard]] constexpr contents identity() {
  return {.type = contents::kind::element};
}

/// The product a * b of the reduction.
[[nodiscard]] constexpr contents combine(contents const& a, contents const& b) {
  if (a.count == 0 || b.count == 0) {
    contents result = a.count == 0 ? b : a;
    result.type = contents::kind::accumulator;
    result.is_sent = false;
    return result;
  }
  return {contents::kind::accumulator,
          a.is_in_rank_order && b.is_in_rank_order && a.hi == b.lo,
          false,
          a.lo < b.lo ? a.lo : b.lo,
          a.hi > b.hi ? a.hi : b.hi,
          a.count + b.count,
          a.print + b.print};
}

template <class Op>
inline constexpr bool reduces =
    std::same_as<Op, op::allreduce> || std::same_as<Op, op::reduce> || std::same_as<Op, op::reduce_scatter> ||
    std::same_as<Op, op::scan> || std::same_as<Op, op::exscan>;

/// The kind of an operation, for reports.
template <class Op>
inline constexpr operation_kind kind_of = std::same_as<Op, op::allreduce>        ? operation_kind::allreduce
                                          : std::same_as<Op, op::reduce>         ? operation_kind::reduce
                                          : std::same_as<Op, op::broadcast>      ? operation_kind::broadcast
                                          : std::same_as<Op, op::reduce_scatter> ? operation_kind::reduce_scatter
                                          : std::same_as<Op, op::allgather>      ? operation_kind::allgather
                                          : std::same_as<Op, op::gather>         ? operation_kind::gather
                                          : std::same_as<Op, op::scatter>        ? operation_kind::scatter
                                          : std::same_as<Op, op::alltoall>       ? operation_kind::alltoall
                                          : std::same_as<Op, op::scan>           ? operation_kind::scan
                                          : std::same_as<Op, op::exscan>         ? operation_kind::exscan
                                                                                 : operation_kind::transfer;

/// True if rank `me` starts with block b in its input.
template <class Op>
[[nodiscard]] constexpr bool starts_with(Op const& op, rank_type me, std::uint32_t b) {
  if constexpr (std::same_as<Op, op::allgather> || std::same_as<Op, op::gather>) {
    return b == me;
  } else if constexpr (std::same_as<Op, op::broadcast> || std::same_as<Op, op::scatter>) {
    return me == op.root;
  } else if constexpr (std::same_as<Op, op::transfer>) {
    return me == op.sender;
  } else {
    return true;
  }
}

/// True if rank `me` ends with block b in its output. The output has no room for other blocks.
template <class Op>
[[nodiscard]] constexpr bool ends_with(Op const& op, rank_type me, std::uint32_t b) {
  if constexpr (std::same_as<Op, op::reduce> || std::same_as<Op, op::gather>) {
    return me == op.root;
  } else if constexpr (std::same_as<Op, op::broadcast>) {
    return me != op.root;
  } else if constexpr (std::same_as<Op, op::exscan>) {
    return me != 0;
  } else if constexpr (std::same_as<Op, op::reduce_scatter> || std::same_as<Op, op::scatter>) {
    return b == me;
  } else if constexpr (std::same_as<Op, op::transfer>) {
    return me == op.receiver;
  } else {
    return true;
  }
}

/// The correct contents of block b of the output of rank me: the contributions of the first ranks, in rank order, or
/// the element of one rank.
template <class Op>
[[nodiscard]] constexpr contents correct_result(Op const& op, rank_type n, rank_type me, std::uint32_t b) {
  if constexpr (reduces<Op>) {
    const rank_type count = contributions<Op>(n, me);
    contents total{contents::kind::result, true, false, 0, count, count, 0};
    for (rank_type r = 0; r < count; ++r) {
      total.print += fingerprint(r, b);
    }
    return total;
  } else if constexpr (std::same_as<Op, op::allgather> || std::same_as<Op, op::gather>) {
    return contribution(b, b);
  } else if constexpr (std::same_as<Op, op::alltoall>) {
    return contribution(b, me);
  } else if constexpr (std::same_as<Op, op::transfer>) {
    return contribution(op.sender, b);
  } else {
    return contribution(op.root, b);
  }
}

/// Calls f(op) for the operation with every root, or with every pair of ranks.
template <class Op, class F>
constexpr void at_every_root(rank_type n, F f) {
  if constexpr (requires(Op o) { o.root; }) {
    for (rank_type root = 0; root < n; ++root) {
      f(Op{root});
    }
  } else if constexpr (std::same_as<Op, op::transfer>) {
    for (rank_type pair = 0; pair < n * n; ++pair) {
      f(Op{pair / n, pair % n});
    }
  } else {
    f(Op{});
  }
}

/// Calls f.template operator()<Op>() for every operation that T offers.
template <class T, class F>
constexpr void for_each_offered(F f) {
  auto const visit = [&]<class Op>() {
    if constexpr (offers<T, Op>) {
      f.template operator()<Op>();
    }
  };
  visit.template operator()<op::allreduce>();
  visit.template operator()<op::reduce>();
  visit.template operator()<op::broadcast>();
  visit.template operator()<op::reduce_scatter>();
  visit.template operator()<op::allgather>();
  visit.template operator()<op::gather>();
  visit.template operator()<op::scatter>();
  visit.template operator()<op::alltoall>();
  visit.template operator()<op::scan>();
  visit.template operator()<op::exscan>();
  visit.template operator()<op::transfer>();
}

}  // namespace tutti::detail::verify
