// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/transport.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline transport {

/// Sends a message through a transport to several ranks, one after the other: a multicast group in software.
class fan_out {
 public:
  /// @param ranks maximum number of receivers
  void open(std::size_t ranks) { under_way_.reserve(ranks); }
  void begin(aggregation_part const& part) {
    part_ = part;
    place_ = 0;
    accepted_bytes_ = 0;
    under_way_.clear();
    skip();
  }
  /// The rank that sends the message, or no_rank.
  [[nodiscard]] rank_type root() const noexcept {
    for (aggregation_worker const& worker : part_.workers) {
      if (worker.contributes) {
        return worker.rank;
      }
    }
    return no_rank;
  }
  /// A rank that has not received the whole message yet, or no_rank.
  [[nodiscard]] rank_type waits_for() const noexcept {
    return place_ < part_.workers.size() ? part_.workers[place_].rank
           : under_way_.empty()          ? no_rank
                                         : under_way_.front().receiver;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return part_.bytes; }

  /// Offers the whole message to the remaining ranks; true once all of them have accepted it.
  template <tutti::transport Host>
  bool send(Host& host, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    while (place_ < part_.workers.size()) {
      rank_type const receiver = part_.workers[place_].rank;
      send_result const result = host.send(receiver, s, bytes.subspan(accepted_bytes_), granule);
      if (!result.is_accepted) {
        return false;
      }
      if (result.release_ticket != 0) {
        under_way_.push_back({receiver, result.release_ticket});
      }
      accepted_bytes_ += result.bytes;
      if (accepted_bytes_ == bytes.size()) {
        accepted_bytes_ = 0;
        ++place_;
        skip();
        if constexpr (reuses_copies<Host>) {
          host.next_message(s, true);
        }
      }
    }
    return true;
  }
  template <tutti::transport Host>
  bool is_released(Host& host, flow s) {
    while (!under_way_.empty() && host.is_released(under_way_.back().receiver, s, under_way_.back().ticket)) {
      under_way_.pop_back();
    }
    return under_way_.empty();
  }

 private:
  struct reader {
    rank_type receiver;
    tutti::ticket ticket;
  };
  /// Skips workers that receive nothing.
  void skip() noexcept {
    while (place_ < part_.workers.size() && !part_.workers[place_].receives) {
      ++place_;
    }
  }

  aggregation_part part_{};
  std::size_t place_ = 0;           ///< index of the current receiver
  std::size_t accepted_bytes_ = 0;  ///< bytes accepted for the current receiver
  std::vector<reader> under_way_;
};

}  // namespace tutti::detail::transport
