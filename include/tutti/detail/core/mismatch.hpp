// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/error.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// The error of ranks `me` and `peer`, whose calls differ: `local_call` and `peer_call` are the calls in words.
[[nodiscard]] TUTTI_DECL error calls_differ(rank_type me, std::string const& local_call, rank_type peer,
                                            std::string const& peer_call);

/// The error of rank `me`, which does not receive the message that rank `peer` sends.
[[nodiscard]] TUTTI_DECL error messages_differ(rank_type me, rank_type peer);

/// The error of rank `me`, which expects `expected` bytes where rank `peer` sends `actual`.
[[nodiscard]] TUTTI_DECL error lengths_differ(rank_type me, std::uint64_t expected, rank_type peer,
                                              std::uint64_t actual);

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/mismatch.ipp>
#endif
