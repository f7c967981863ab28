// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/trace.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// A tracer that passes every event to two others.
///
/// Cost: the sum of both.
/// Thread safety: as the communicator.
template <tracer First, tracer Second>
class trace_pair {
 public:
  /// True if either tracer is enabled.
  static constexpr bool is_enabled = First::is_enabled || Second::is_enabled;

  trace_pair() = default;
  /// Takes both tracers.
  trace_pair(First first, Second second) : first_(std::move(first)), second_(std::move(second)) {}

  /// True if either records.
  [[nodiscard]] bool is_on() const noexcept { return listens(first_) || listens(second_); }
  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept {
    tutti::record(first_, [&] { return e; });
    tutti::record(second_, [&] { return e; });
  }

  /// The first tracer.
  [[nodiscard]] First& first() noexcept { return first_; }
  /// The second tracer.
  [[nodiscard]] Second& second() noexcept { return second_; }

 private:
  [[no_unique_address]] First first_;
  [[no_unique_address]] Second second_;
};

}  // namespace tutti
