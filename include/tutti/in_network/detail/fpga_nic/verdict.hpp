// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The outcome of a packet at a slot, or at a block of weights. `pending` and `available` both mean that the packet is
/// good: there is no result after it, or there was a result before it. Only a contribution or supply with the outcome
/// `pending` or `complete` changes the slot.
enum class outcome : std::uint8_t {
  pending,                ///< no result yet: others are missing. A block of weights: stored
  complete,               ///< the last contribution: every worker gets the result
  available,              ///< there is a result, or a block, from before: the sender gets it
  duplicate,              ///< the sender has contributed already; others are missing
  busy,                   ///< the slot waits for workers of an earlier sequence: send it again
  late,                   ///< the slot has moved to a later sequence
  mismatch,               ///< another worker made another call
  unsupported_operation,  ///< an operation, or an order, that this device does not perform
  no_slot,                ///< no slot of this number
  no_weights,             ///< no block of this key and version
};

struct verdict {
  outcome result = outcome::pending;
  std::uint8_t differs = 0;  ///< for a mismatch: a worker that made another call

  friend bool operator==(verdict const&, verdict const&) = default;
};

}  // namespace tutti::detail::fpga_nic
