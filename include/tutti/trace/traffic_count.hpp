// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>

namespace tutti::inline v0_1_0 {

/// Counts what a rank sends and receives in the operations of its communicator, over any transport: the bytes of the
/// messages that schedules call for, without what a transport puts around them. Through memory, a message
/// that is read, or made, where it lies counts as one that was sent.
///
///     tutti::communicator<tutti::tcp, tutti::dynamic, tutti::traffic_count> world{...};
///     sum(gradients);
///     world.trace().sent().bytes;
///
/// Cost: two additions for each message, and for each chunk that one is received in.
/// Thread safety: that of the communicator.
class traffic_count {
 public:
  /// True if anything is recorded; false costs nothing.
  static constexpr bool enabled = true;

  /// What went one way.
  struct total {
    std::uint64_t messages = 0;  ///< received: chunks that a transport made of them
    std::uint64_t bytes = 0;     ///< of payload, without headers
  };

  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept {
    if (e.kind == event_kind::send) {
      add(sent_, e.bytes);
    } else if (e.kind == event_kind::receive) {
      add(received_, e.bytes);
    }
  }

  /// What this rank has sent.
  [[nodiscard]] total sent() const noexcept { return sent_; }
  /// What this rank has received.
  [[nodiscard]] total received() const noexcept { return received_; }

 private:
  static void add(total& to, std::size_t bytes) noexcept {
    ++to.messages;
    to.bytes += bytes;
  }

  total sent_;
  total received_;
};

}  // namespace tutti
