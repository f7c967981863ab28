// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::verbs {

/// State of one end of a connection, sent over the control socket whenever it changes.
struct connection_note {
  std::uint32_t queue_pair = 0;  ///< number of its queue pair
  std::uint32_t sent_count = 0;  ///< number of messages it has sent; valid if it has left
  std::uint16_t ready = 0;       ///< it knows the peer's number, and receives
  std::uint16_t left = 0;        ///< it sends nothing more
};
static_assert(std::is_trivially_copyable_v<connection_note> && sizeof(connection_note) == 12);

}  // namespace tutti::detail::verbs
