// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::verbs {

/// What an end of an edge tells the other one over a socket: all of it, whenever some of it changes.
struct edge_note {
  std::uint32_t queue_pair = 0;  ///< its number
  std::uint32_t sent = 0;        ///< how many messages it has sent, if it has left
  std::uint16_t ready = 0;       ///< it knows the other end's number, and receives
  std::uint16_t left = 0;        ///< it sends nothing more
};
static_assert(std::is_trivially_copyable_v<edge_note> && sizeof(edge_note) == 12);

}  // namespace tutti::detail::verbs
