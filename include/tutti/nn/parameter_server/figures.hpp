// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/parameter_server/histogram.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server {

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
