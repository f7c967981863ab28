// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Outcome of a packet at a slot. Only `store` and `complete` change the slot.
enum class outcome : std::uint8_t {
  store,                  ///< others are still missing
  complete,               ///< the last contribution: every worker gets the result
  accept,                 ///< the slot had the result already: the sender gets it
  duplicate,              ///< the sender has contributed already; others are missing
  busy,                   ///< the slot waits for workers of an earlier sequence: send it again
  late,                   ///< the slot has moved to a later sequence
  mismatch,               ///< another worker made another call
  unsupported_operation,  ///< an operation, or an order, that this device does not perform
  no_slot,                ///< no slot of this number
  no_weights,             ///< no block of this key and version
};

struct verdict {
  outcome result = outcome::store;
  std::uint8_t differs = 0;  ///< for a mismatch: a worker that made another call

  friend bool operator==(verdict const&, verdict const&) = default;
};

}  // namespace tutti::detail::fpga_nic
