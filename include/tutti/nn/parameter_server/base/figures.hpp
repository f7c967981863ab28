// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// A histogram of small numbers. Sent as its bytes.
class histogram {
 public:
  /// Number of places; the last one counts its own number and all larger ones.
  static constexpr std::size_t places = 33;

  /// Counts a number, in the last place if it is too large.
  void add(std::uint64_t number) noexcept { ++counts_[number < places ? number : places - 1]; }
  /// Adds another histogram.
  histogram& operator+=(histogram const& other) noexcept {
    for (std::size_t i = 0; i != places; ++i) {
      counts_[i] += other.counts_[i];
    }
    return *this;
  }

  /// The count of number i.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return counts_[i]; }
  /// The sum of all counts.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (auto const count : counts_) {
      sum += count;
    }
    return sum;
  }
  /// The largest number counted; 0 if there is none.
  [[nodiscard]] std::size_t largest() const noexcept {
    std::size_t i = places - 1;
    while (i != 0 && counts_[i] == 0) {
      --i;
    }
    return i;
  }

 private:
  std::array<std::uint64_t, places> counts_{};
};

/// The messages and bytes that a rank sent and received, without the transport's headers.
struct traffic {
  std::uint64_t messages_sent = 0;      ///< messages sent
  std::uint64_t bytes_sent = 0;         ///< bytes sent
  std::uint64_t messages_received = 0;  ///< messages received
  std::uint64_t bytes_received = 0;     ///< bytes received

  /// Adds another rank's traffic.
  traffic& operator+=(traffic const& other) noexcept {
    messages_sent += other.messages_sent;
    bytes_sent += other.bytes_sent;
    messages_received += other.messages_received;
    bytes_received += other.bytes_received;
    return *this;
  }
};

/// The figures of one rank at the end of a training. Sent as their bytes.
struct figures {
  traffic communication;       ///< traffic of the rank
  std::uint64_t steps = 0;     ///< workers: gradients computed; servers: updates of the first piece
  double busy_seconds = 0;     ///< seconds of computing, or of serving
  double waiting_seconds = 0;  ///< seconds of waiting
  histogram lead;              ///< servers: clocks that a reading worker was ahead of the slowest other one
  histogram missed_updates;    ///< servers: number of updates made between a worker's read of weights and its push of
                               ///< their gradient
};

/// A lost worker, with the reason.
struct lost_worker {
  rank_type worker = 0;  ///< its number among the workers
  std::string reason;    ///< reason of the loss, in words
  double seconds = 0;    ///< time between the beginning of the training and the detection
};

/// The figures of a training with parameter servers, as collected by server 0.
struct summary {
  std::vector<figures> ranks;             ///< figures in the order of ranks; those of lost workers have only steps
  std::vector<lost_worker> lost_workers;  ///< workers that were lost; the training continued without them

  /// The lead of all workers.
  [[nodiscard]] histogram lead() const noexcept {
    histogram sum;
    for (auto const& rank : ranks) {
      sum += rank.lead;
    }
    return sum;
  }
  /// The missed updates of all workers.
  [[nodiscard]] histogram missed_updates() const noexcept {
    histogram sum;
    for (auto const& rank : ranks) {
      sum += rank.missed_updates;
    }
    return sum;
  }
};

}  // namespace tutti::nn::parameter_server
