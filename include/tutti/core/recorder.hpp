// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/operation.hpp>

#include <array>
#include <string>

namespace tutti {

/// A flight recorder: the last operations of a rank, kept whatever happens, for whoever catches the
/// error. Sequence numbers are given here, in order of starting.
class recorder {
 public:
  enum class state : std::uint8_t { started, completed, failed };

  struct entry {
    std::uint64_t sequence;
    call what;
    state now;
  };

  static constexpr std::size_t capacity = 16;

  /// Notes the start of an operation; returns its sequence number.
  std::uint64_t start(call const& what) noexcept {
    entry& e = entries_[next_ % capacity];
    e.what = what;
    e.sequence = next_;
    e.now = state::started;
    return next_++;
  }

  void finish(std::uint64_t sequence, state how) noexcept {
    entry& e = entries_[sequence % capacity];
    if (e.sequence == sequence) {
      e.now = how;
    }
  }

  /// Calls `f(entry const&)` for each kept operation, oldest first.
  template <class F>
  void each(F f) const {
    for (std::uint64_t i = next_ < capacity ? 0 : next_ - capacity; i < next_; ++i) {
      f(entries_[i % capacity]);
    }
  }

  /// One line per kept operation.
  [[nodiscard]] std::string text() const {
    constexpr std::string_view states[] = {"started", "completed", "failed"};
    std::string out;
    each([&](entry const& e) {
      out.append("#").append(std::to_string(e.sequence)).append(" ").append(describe(e.what)).append(": ");
      out.append(states[static_cast<std::size_t>(e.now)]).append("\n");
    });
    return out;
  }

 private:
  std::uint64_t next_ = 0;
  std::array<entry, capacity> entries_{};
};

}  // namespace tutti
