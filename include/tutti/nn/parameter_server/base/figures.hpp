// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// How often each small number was added. It travels as it is.
class histogram {
 public:
  static constexpr std::size_t places = 33;  ///< the last one counts all numbers from there on

  /// Counts a number; the last place counts all that are larger.
  void add(std::uint64_t number) noexcept { ++counts_[number < places ? number : places - 1]; }
  /// Adds another's counts.
  histogram& operator+=(histogram const& other) noexcept {
    for (std::size_t i = 0; i != places; ++i) {
      counts_[i] += other.counts_[i];
    }
    return *this;
  }

  /// How often i was counted.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return counts_[i]; }
  /// How many numbers were counted.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (auto const count : counts_) {
      sum += count;
    }
    return sum;
  }
  /// The largest number added; 0 if there was none.
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

/// What a rank sent and received, headers of the transport not counted.
struct traffic {
  std::uint64_t messages_sent = 0;      ///< messages sent
  std::uint64_t bytes_sent = 0;         ///< bytes sent
  std::uint64_t messages_received = 0;  ///< messages received
  std::uint64_t bytes_received = 0;     ///< bytes received

  /// Adds what another rank has moved.
  traffic& operator+=(traffic const& other) noexcept {
    messages_sent += other.messages_sent;
    bytes_sent += other.bytes_sent;
    messages_received += other.messages_received;
    bytes_received += other.bytes_received;
    return *this;
  }
};

/// What one rank can say about a training when it is over. It travels as it is.
struct figures {
  traffic moved;            ///< what the rank has sent and received
  std::uint64_t steps = 0;  ///< of a worker: gradients computed; of a server: updates of its first piece
  double busy = 0;          ///< seconds of computing, or of serving
  double waited = 0;        ///< seconds
  histogram lead;           ///< of a server: by how many clocks a worker that read was ahead of the slowest other one
  histogram
      missed;  ///< of a server: how many updates were made between the read of weights and the push of their gradient
};

/// A worker that was lost, and why.
struct lost_worker {
  rank_type worker = 0;  ///< its number among the workers
  std::string why;       ///< what became of it, in words
  double seconds = 0;    ///< since training began, when that was found out
};

/// What server 0 knows in the end.
struct summary {
  std::vector<figures> ranks;     ///< in the order of ranks; of a lost worker only steps are known
  std::vector<lost_worker> lost;  ///< the training went on without them

  /// Of all workers.
  [[nodiscard]] histogram lead() const noexcept {
    histogram sum;
    for (auto const& one : ranks) {
      sum += one.lead;
    }
    return sum;
  }
  /// Of all workers.
  [[nodiscard]] histogram missed() const noexcept {
    histogram sum;
    for (auto const& one : ranks) {
      sum += one.missed;
    }
    return sum;
  }
};

}  // namespace tutti::nn::parameter_server
