// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/message.hpp>
#include <tutti/core/operation.hpp>

namespace tutti {

/// Which rank another one waits for, as that one says: in which call, on which stream, and how far that has come.
struct wait_report {
  rank_type for_whom = no_rank;
  stream on{};
  std::uint32_t moved = 0;  ///< another number whenever it has come any further
  bool blocks = false;      ///< its program does not go on before this has ended
  bool fresh = false;       ///< it has been said since the rank was last asked
  call what{};

  /// Whether nothing has moved between the two.
  [[nodiscard]] constexpr bool same(wait_report const& other) const noexcept {
    return for_whom == other.for_whom && on == other.on && moved == other.moved;
  }
};

}  // namespace tutti
