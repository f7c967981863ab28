// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <string_view>

namespace tutti::detail {

/// A step that would, run, leave some memory with wrong numbers. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_step(std::string_view wrong);

/// A message whose length is not the schedule's. @throws error (failure::protocol)
[[noreturn]] TUTTI_DECL void refuse_length(rank_type me, rank_type peer, std::size_t arrived, std::size_t expected,
                                           std::size_t granule);

/// A reduction whose accumulators hold fewer contributions than there are ranks. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_ranks(std::string_view reduction, rank_type most, rank_type ranks);

/// A reduction that does not commute, on a schedule that does not combine in rank order. @throws precondition_error
[[noreturn]] TUTTI_DECL void refuse_order(std::string_view told);

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/engine/refusals.ipp>
#endif
