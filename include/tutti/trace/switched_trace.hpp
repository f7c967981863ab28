// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/memory_trace.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0 {

/// A tracer that is switched on at run time, so that a program has one type of communicator either way.
///
/// Cost: off, a check of a flag per event, and memory for one; on, that of memory_trace.
/// Thread safety: as the communicator.
class switched_trace {
 public:
  /// True: events may be recorded.
  static constexpr bool is_enabled = true;

  /// Constructs a tracer that is off.
  switched_trace() : trace_(1) {}
  /// Constructs a tracer that is on.
  /// @param capacity number of the latest events to record
  explicit switched_trace(std::size_t capacity) : trace_(capacity), is_on_(true) {}

  /// True if it records.
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept { trace_.record(e); }

  /// The number of recorded events.
  [[nodiscard]] std::size_t size() const noexcept { return trace_.size(); }
  /// The number of older events that were overwritten.
  [[nodiscard]] std::size_t dropped_count() const noexcept { return trace_.dropped_count(); }
  /// Calls f with each event, oldest first.
  template <class F>
  void for_each(F f) const {
    trace_.for_each(f);
  }

 private:
  memory_trace trace_;
  bool is_on_ = false;
};

}  // namespace tutti
