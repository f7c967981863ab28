// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Counters of a device. Each packet is in exactly one of the counts that `accounted` adds.
struct counters {
  std::uint64_t packets = 0;

  std::uint64_t malformed = 0;     ///< also packets of a kind that only devices send
  std::uint64_t badly_tagged = 0;  ///< a wrong tag, a missing one, or one without a key
  std::uint64_t joins = 0;
  std::uint64_t leaves = 0;
  std::uint64_t ends = 0;
  std::uint64_t queries = 0;
  std::uint64_t stored = 0;      ///< contributions that completed nothing
  std::uint64_t completed = 0;   ///< contributions and supplies that completed a result
  std::uint64_t repeated = 0;    ///< contributions answered by an existing result
  std::uint64_t duplicates = 0;  ///< contributions that the device already had, while others were missing
  std::uint64_t stores = 0;      ///< blocks of weights stored by members
  std::uint64_t pulls = 0;       ///< queries answered by weights
  std::uint64_t busy = 0;        ///< contributions that must wait for an earlier sequence
  std::array<std::uint64_t, refusals> refused{};  ///< by reason

  std::uint64_t unanswered = 0;  ///< refusals that were not sent
  std::uint64_t updates = 0;     ///< completed updates of blocks of weights
  std::uint64_t results = 0;     ///< results sent
  std::uint64_t congested = 0;   ///< packets with ECN marks

  [[nodiscard]] std::uint64_t& refusals_for(refusal reason) noexcept {
    return refused[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t refusals_for(refusal reason) const noexcept {
    return refused[static_cast<std::size_t>(reason)];
  }

  [[nodiscard]] std::uint64_t all_refused() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t const n : refused) {
      sum += n;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t accounted() const noexcept {
    return malformed + badly_tagged + joins + leaves + ends + queries + stored + completed + repeated + duplicates +
           busy + stores + pulls + all_refused();
  }

  friend bool operator==(counters const&, counters const&) = default;
};

}  // namespace tutti::detail::fpga_nic
