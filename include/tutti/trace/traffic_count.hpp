// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>

namespace tutti::inline v0_1_0 {

/// Counts the bytes and messages of a rank's operations, over any transport: the payload of the schedule's messages,
/// without the headers of a transport. A message that is read or written in place, through memory, counts as sent.
///
///     tutti::communicator<tutti::tcp, tutti::dynamic, tutti::traffic_count> world{...};
///     sum(gradients);
///     world.trace().outgoing().bytes;
///
/// Cost: two additions per sent message and per received chunk.
/// Thread safety: as the communicator.
class traffic_count {
 public:
  /// True: events are counted.
  static constexpr bool is_enabled = true;

  /// The traffic in one direction.
  struct total {
    std::uint64_t messages = 0;  ///< number of messages; in `incoming()`, number of chunks
    std::uint64_t bytes = 0;     ///< payload without headers
  };

  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept {
    if (e.kind == event_kind::send) {
      add(sent_total_, e.bytes);
    } else if (e.kind == event_kind::receive) {
      add(received_total_, e.bytes);
    }
  }

  /// The traffic that this rank has sent.
  [[nodiscard]] total outgoing() const noexcept { return sent_total_; }
  /// The traffic that this rank has received.
  [[nodiscard]] total incoming() const noexcept { return received_total_; }

 private:
  static void add(total& sum, std::size_t bytes) noexcept {
    ++sum.messages;
    sum.bytes += bytes;
  }

  total sent_total_;
  total received_total_;
};

}  // namespace tutti
