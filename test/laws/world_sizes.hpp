// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/watched.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <span>

namespace laws {

inline constexpr std::array<tutti::rank_type, 10> all_world_sizes{1, 2, 3, 4, 5, 7, 8, 11, 16, 17};

/// The sizes of the worlds that every operator is tested in. Sanitizers omit the two largest, which run the same code
/// and take longer than all others together.
inline constexpr std::span world_sizes = std::span(all_world_sizes).first(support::is_watched ? 8 : 10);

}  // namespace laws
