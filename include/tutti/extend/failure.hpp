// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0 {

/// The kinds of failure of a world.
enum class failure : std::uint8_t {
  none,         ///< all is well
  peer_lost,    ///< a peer died, closed its connection or left while it was needed
  deadline,     ///< nothing arrived in time
  mismatch,     ///< the ranks called different operations
  cancelled,    ///< a rank gave up its operation
  protocol,     ///< bytes that no tutti peer would send
  join,         ///< the world did not come together
  unreachable,  ///< no connection to a peer could ever be made: it may live
};

}  // namespace tutti
