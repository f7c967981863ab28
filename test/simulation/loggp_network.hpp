// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tuning/timed_schedule.hpp>
#include <tutti/simulation/simulated_network.hpp>

#include <algorithm>

namespace support {

/// LogGP with whole messages: the model of one switch, for `timed_schedule`.
struct loggp_network {
  tutti::loggp nic;
  tutti::picoseconds per_byte;  ///< time to combine a byte
  std::int64_t burst = 0;
  [[nodiscard]] tutti::detail::message_time message(tutti::rank_type, tutti::rank_type, std::size_t bytes, tutti::loan,
                                                    bool) const {
    auto const wire = std::max(nic.gap, nic.per_byte * static_cast<std::int64_t>(bytes));
    return {nic.overhead.count(), nic.overhead.count(), nic.latency.count(), wire.count(), nic.overhead.count(), burst};
  }
  [[nodiscard]] std::int64_t combine(tutti::rank_type, tutti::rank_type, std::size_t bytes, tutti::loan) const {
    return (per_byte * static_cast<std::int64_t>(bytes)).count();
  }
  [[nodiscard]] std::int64_t overwrite(tutti::rank_type, tutti::rank_type, std::size_t) const { return 0; }
  [[nodiscard]] tutti::rank_type port(tutti::rank_type sender, tutti::rank_type) const { return sender; }
  [[nodiscard]] std::int64_t start() const { return 0; }
};

}  // namespace support
