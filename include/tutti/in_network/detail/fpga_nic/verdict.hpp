// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What became of a packet at a slot. What neither `stored` nor `completed` is leaves the slot as it was.
enum class outcome : std::uint8_t {
  stored,       ///< others are still missing
  completed,    ///< the last one: every worker gets the result
  accepted,     ///< by a slot that has the result already: the sender gets it
  duplicate,    ///< the sender has contributed already; others are missing
  busy,         ///< the slot waits for the workers of an earlier sequence: send it again
  late,         ///< the slot has gone on
  mismatch,     ///< another worker has said something else
  unsupported,  ///< an operation, or an order, that is not done here
  no_slot,      ///< there is no slot of this number
  no_weights,   ///< there is no block of this key, or it has another version
};

struct verdict {
  outcome what = outcome::stored;
  std::uint8_t differs = 0;  ///< a worker that said something else, of a mismatch

  friend bool operator==(verdict const&, verdict const&) = default;
};

}  // namespace tutti::detail::fpga_nic
