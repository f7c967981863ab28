// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Refuses a step that would leave wrong values in a memory. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_step(std::string_view wrong);

/// Refuses a message whose length is not the schedule's. @throws error (failure::protocol)
[[noreturn]] TUTTI_DECL void refuse_length(rank_type me, rank_type peer, std::size_t arrived, std::size_t expected,
                                           std::size_t granule);

/// Refuses a reduction whose accumulators hold fewer contributions than there are ranks. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_ranks(std::string_view reduction, rank_type most, rank_type ranks);

/// Refuses a reduction that does not commute on a schedule that does not combine in rank order.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_order(std::string_view told);

/// Refuse an invalid root or peer, or a vector of wrong length: `what` is as "scatter: the output", and `advice` begins
/// with a semicolon.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_root(std::string_view operation, rank_type root, rank_type ranks);
[[noreturn]] TUTTI_DECL void refuse_peer(std::string_view what, rank_type peer, rank_type me, rank_type ranks);
[[noreturn]] TUTTI_DECL void refuse_size(std::string_view what, std::size_t found, std::size_t expected,
                                         std::string_view advice);

/// Refuses a rank's part that is not its block of `total`: `what` is as "allgather: the input", `total_is` explains the
/// total.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_block(std::string_view what, std::string_view total_is, std::size_t found,
                                          std::size_t total, rank_type ranks, rank_type me);

/// Checks of an operator's arguments. @throws precondition_error
inline void expect_root(char const* operation, rank_type root, rank_type ranks) {
  if (root >= ranks) [[unlikely]] {
    refuse_root(operation, root, ranks);
  }
}
inline void expect_peer(char const* what, rank_type peer, rank_type me, rank_type ranks) {
  if (peer >= ranks || peer == me) [[unlikely]] {
    refuse_peer(what, peer, me, ranks);
  }
}
inline void expect_size(char const* what, std::size_t found, std::size_t expected, char const* advice = "") {
  if (found != expected) [[unlikely]] {
    refuse_size(what, found, expected, advice);
  }
}
inline void expect_block(char const* what, char const* total_is, std::size_t found, std::size_t total, rank_type ranks,
                         rank_type me) {
  if (found != block_size(total, ranks, me)) [[unlikely]] {
    refuse_block(what, total_is, found, total, ranks, me);
  }
}

}  // namespace tutti::detail::engine

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/engine/refusals.ipp>
#endif
