// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/memory_trace.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0 {

/// Whether to trace, decided at run time: a program has one kind of communicator either way.
///
/// Cost: off, one look at a flag where there would be an event, and the memory of one; on, that of memory_trace.
/// Thread safety: that of the communicator.
class switched_trace {
 public:
  /// True if anything is recorded; false costs nothing.
  static constexpr bool enabled = true;

  /// Off.
  switched_trace() : kept_(1) {}
  /// On.
  /// @param capacity how many events to keep, the latest
  explicit switched_trace(std::size_t capacity) : kept_(capacity), on_(true) {}

  /// Whether it records.
  [[nodiscard]] bool on() const noexcept { return on_; }
  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept { kept_.record(e); }

  /// How many events there are.
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  /// How many were overwritten by later ones.
  [[nodiscard]] std::size_t dropped() const noexcept { return kept_.dropped(); }
  /// Calls f with each event, the oldest first.
  template <class F>
  void each(F f) const {
    kept_.each(f);
  }

 private:
  memory_trace kept_;
  bool on_ = false;
};

}  // namespace tutti
