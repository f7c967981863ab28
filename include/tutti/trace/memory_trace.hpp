// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/trace.hpp>

#include <cstring>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Records the latest events in memory. Allocates at construction only.
///
///     tutti::communicator<tutti::loopback, tutti::dynamic, tutti::memory_trace> world{...};
///     world.trace().for_each([](tutti::event const& e) { ... });
///
/// Cost: a copy of each event, with up to 95 bytes of its text; memory for `capacity` events.
/// Thread safety: as the communicator.
class memory_trace {
 public:
  /// True: events are recorded.
  static constexpr bool is_enabled = true;
  static constexpr std::size_t text_capacity = 95;       ///< longer texts are cut
  static constexpr std::size_t default_capacity = 1024;  ///< default number of events

  memory_trace() : memory_trace(default_capacity) {}
  /// Constructs a trace of the latest `capacity` events.
  /// @pre capacity is not zero
  explicit memory_trace(std::size_t capacity) {
    expects(capacity != 0, "memory_trace: there must be room for 1 event or more, not 0");
    entries_.resize(capacity);
  }

  /// Records an event; called by the rank's own thread.
  void record(event const& e) noexcept {
    entry& slot = entries_[event_count_++ % entries_.size()];
    slot.event = e;
    slot.length = e.text.size() < text_capacity ? e.text.size() : text_capacity;
    if (slot.length != 0) {
      std::memcpy(slot.text, e.text.data(), slot.length);
    }
  }

  /// The number of recorded events.
  [[nodiscard]] std::size_t size() const noexcept {
    return event_count_ < entries_.size() ? event_count_ : entries_.size();
  }
  /// The number of older events that were overwritten.
  [[nodiscard]] std::size_t dropped_count() const noexcept { return event_count_ - size(); }

  /// Calls `f(event const&)` for every recorded event, oldest first. The text is valid as long as the trace, until the
  /// event is overwritten.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = dropped_count(); i < event_count_; ++i) {
      entry const& slot = entries_[i % entries_.size()];
      event e = slot.event;
      e.text = std::string_view(slot.text, slot.length);
      f(static_cast<event const&>(e));
    }
  }

  /// Discards all events.
  void clear() noexcept { event_count_ = 0; }

 private:
  struct entry {
    tutti::event event;
    std::size_t length;
    char text[text_capacity + 1];
  };

  std::vector<entry> entries_;
  std::size_t event_count_ = 0;
};

}  // namespace tutti
