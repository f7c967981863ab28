// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/watched.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <span>

namespace laws {

inline constexpr std::array<tutti::rank_type, 10> all_world_sizes{1, 2, 3, 4, 5, 7, 8, 11, 16, 17};

/// The sizes of the worlds of processes that every operator is tested in. The two largest run the same code, and take
/// longer than all others together.
inline constexpr std::span sizes_of_processes = std::span(all_world_sizes).first(8);

/// The sizes of the worlds of threads, or of fibers, that every operator is tested in: all but under a sanitizer.
inline constexpr std::span world_sizes = support::is_watched ? sizes_of_processes : std::span(all_world_sizes);

}  // namespace laws
