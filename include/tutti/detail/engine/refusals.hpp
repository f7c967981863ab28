// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Refuses a step that would leave wrong values in a memory. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_step(std::string_view reason);

/// Refuses a message whose length is not the schedule's. @throws error (failure::protocol)
[[noreturn]] TUTTI_DECL void refuse_length(rank_type me, rank_type peer, std::size_t actual, std::size_t expected,
                                           std::size_t granule);

/// Refuses a reduction whose accumulators hold fewer contributions than there are ranks. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_ranks(std::string_view reduction, rank_type limit, rank_type ranks);

/// Refuses a reduction that does not commute on a schedule that does not combine in rank order.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_rank_order(std::string_view call_text);

/// Refuses a topology that forwards blocks, where each pair of ranks has a length of its own.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_forwarding(std::string_view topology);

/// Refuse an invalid root or peer, or a vector of wrong length: `argument` is as "scatter: the output", and `advice`
/// begins with a semicolon.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_root(std::string_view operation, rank_type root, rank_type ranks);
[[noreturn]] TUTTI_DECL void refuse_peer(std::string_view argument, rank_type peer, rank_type me, rank_type ranks);
[[noreturn]] TUTTI_DECL void refuse_size(std::string_view argument, std::size_t actual, std::size_t expected,
                                         std::string_view advice);

/// Refuses a rank's part that is not its block of `total`: `argument` is as "allgather: the input", `total_is` explains
/// the total.
/// @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_block(std::string_view argument, std::string_view total_is, std::size_t actual,
                                          std::size_t total, rank_type ranks, rank_type me);

/// Refuses a partition that has not a block for each rank. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_partition(std::string_view operation, rank_type blocks, rank_type ranks);

/// Refuses elements that no memory holds, or that a null pointer is to hold. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_region(std::string_view operation, std::string_view argument, std::size_t count,
                                           std::size_t size);

/// Checks of an operator's arguments. @throws precondition_error
inline void expect_root(char const* operation, rank_type root, rank_type ranks) {
  if (root >= ranks) [[unlikely]] {
    refuse_root(operation, root, ranks);
  }
}
inline void expect_peer(char const* argument, rank_type peer, rank_type me, rank_type ranks) {
  if (peer >= ranks || peer == me) [[unlikely]] {
    refuse_peer(argument, peer, me, ranks);
  }
}
inline void expect_size(char const* argument, std::size_t actual, std::size_t expected, char const* advice = "") {
  if (actual != expected) [[unlikely]] {
    refuse_size(argument, actual, expected, advice);
  }
}
inline void expect_block(char const* argument, char const* total_is, std::size_t actual, std::size_t total,
                         rank_type ranks, rank_type me) {
  if (actual != block_size(total, ranks, me)) [[unlikely]] {
    refuse_block(argument, total_is, actual, total, ranks, me);
  }
}

/// Returns the bytes of `count` elements of this size, whose pointer is null or not.
inline std::size_t expect_region(char const* operation, char const* argument, bool has_memory, std::size_t count,
                                 std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX || (!has_memory && count != 0)) [[unlikely]] {
    refuse_region(operation, argument, count, size);
  }
  return bytes;
}
inline void expect_partition(char const* operation, partition const& blocks, rank_type ranks) {
  if (blocks.size() != ranks) [[unlikely]] {
    refuse_partition(operation, blocks.size(), ranks);
  }
}

}  // namespace tutti::detail::engine

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/engine/refusals.ipp>
#endif
