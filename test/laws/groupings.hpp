// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

namespace laws {

/// Ranks on hosts of this many each; what is left is on a last, smaller one.
struct hosting {
  tutti::rank_type ranks;
  tutti::rank_type per_host;
};

/// One host, hosts of one rank, hosts of equal sizes and of different ones.
inline constexpr hosting groupings[] = {{1, 1}, {4, 4}, {4, 1}, {4, 2}, {6, 3}, {6, 2}, {5, 3}, {5, 4}, {11, 4}};

}  // namespace laws
