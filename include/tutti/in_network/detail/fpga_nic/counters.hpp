// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What a device has seen. Each packet is in exactly one of the counts that `accounted` adds.
struct counters {
  std::uint64_t packets = 0;

  std::uint64_t malformed = 0;     ///< or of a kind that only devices send
  std::uint64_t badly_tagged = 0;  ///< or tagged where nothing is, or the other way round
  std::uint64_t joins = 0;
  std::uint64_t leaves = 0;
  std::uint64_t ends = 0;
  std::uint64_t queries = 0;
  std::uint64_t stored = 0;                       ///< contributions
  std::uint64_t completed = 0;                    ///< those, and supplies, by which there was a result
  std::uint64_t repeated = 0;                     ///< those that were answered by a result that was there
  std::uint64_t duplicates = 0;                   ///< those that were there, when others were missing
  std::uint64_t stores = 0;                       ///< blocks of weights that members have supplied
  std::uint64_t pulls = 0;                        ///< questions that were answered by weights
  std::uint64_t busy = 0;                         ///< those that have to wait for an earlier sequence
  std::array<std::uint64_t, refusals> refused{};  ///< by reason

  std::uint64_t unanswered = 0;  ///< refusals that were not sent
  std::uint64_t updates = 0;     ///< blocks of weights that were moved: of those that completed
  std::uint64_t results = 0;     ///< results that were sent
  std::uint64_t congested = 0;   ///< packets that came marked by ECN

  [[nodiscard]] std::uint64_t& of(refusal why) noexcept { return refused[static_cast<std::size_t>(why)]; }
  [[nodiscard]] std::uint64_t of(refusal why) const noexcept { return refused[static_cast<std::size_t>(why)]; }

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
