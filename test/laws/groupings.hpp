// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

namespace laws {

/// Ranks on hosts of `per_host` ranks each; a last, smaller host has the rest.
struct hosting {
  tutti::rank_type ranks;
  tutti::rank_type per_host;
};

/// One host, hosts of one rank, hosts of equal and of different sizes.
inline constexpr hosting groupings[] = {{1, 1}, {4, 4}, {4, 1}, {4, 2}, {6, 3}, {6, 2}, {5, 3}, {5, 4}, {11, 4}};

}  // namespace laws
