// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Counters of a device. Each packet is in exactly one of the counts that `accounted_packets` adds.
struct counters {
  std::uint64_t packets = 0;

  std::uint64_t malformed_packets = 0;  ///< also packets of a kind that only devices send
  std::uint64_t invalid_tags = 0;       ///< a wrong tag, a missing one, or one without a key
  std::uint64_t joins = 0;
  std::uint64_t leaves = 0;
  std::uint64_t ends = 0;
  std::uint64_t queries = 0;
  std::uint64_t stored_contributions = 0;  ///< contributions that completed nothing
  std::uint64_t completed_results = 0;     ///< contributions and supplies that completed a result
  std::uint64_t repeats = 0;               ///< contributions answered by an existing result
  std::uint64_t duplicates = 0;            ///< contributions that the device already had, while others were missing
  std::uint64_t stores = 0;                ///< blocks of weights stored by members
  std::uint64_t pulls = 0;                 ///< queries answered by weights
  std::uint64_t busy = 0;                  ///< contributions that must wait for an earlier sequence
  std::array<std::uint64_t, refusal_count> refusals{};  ///< by reason

  std::uint64_t unanswered_refusals = 0;  ///< refusals that were not sent
  std::uint64_t updates = 0;              ///< completed updates of blocks of weights
  std::uint64_t results = 0;              ///< results sent
  std::uint64_t congestion_marks = 0;     ///< packets with ECN marks

  [[nodiscard]] std::uint64_t& refusals_for(refusal reason) noexcept {
    return refusals[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t refusals_for(refusal reason) const noexcept {
    return refusals[static_cast<std::size_t>(reason)];
  }

  [[nodiscard]] std::uint64_t total_refusals() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t const n : refusals) {
      sum += n;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t accounted_packets() const noexcept {
    return malformed_packets + invalid_tags + joins + leaves + ends + queries + stored_contributions +
           completed_results + repeats + duplicates + busy + stores + pulls + total_refusals();
  }

  friend bool operator==(counters const&, counters const&) = default;
};

}  // namespace tutti::detail::fpga_nic
