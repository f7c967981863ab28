// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/error.hpp>

namespace tutti::inline v0_1_0::detail::inline core {

/// That rank `me` and rank `peer` called different things where both should have called the same. `mine` and
/// `theirs` are what they called, in words.
[[nodiscard]] TUTTI_DECL error calls_differ(rank_type me, std::string const& mine, rank_type peer,
                                            std::string const& theirs);

/// That rank `peer` sends another message than rank `me` receives.
[[nodiscard]] TUTTI_DECL error messages_differ(rank_type me, rank_type peer);

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/mismatch.ipp>
#endif
