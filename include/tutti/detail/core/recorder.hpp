// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>
#include <tutti/operation.hpp>

#include <array>
#include <string>

namespace tutti::inline v0_1_0::detail {

/// A flight recorder: the last operations of a rank, kept whatever happens, for the handler of the
/// error. Ranks start messages in orders of their own, so a place here means nothing to another rank; numbers do.
class recorder {
 public:
  enum class state : std::uint8_t { started, completed, failed };

  struct entry {
    std::uint64_t place;  ///< in order of starting, on this rank
    operation_number number;
    call what;
    state now;
  };

  static constexpr std::size_t capacity = 16;

  /// Notes the start of an operation; returns its place.
  std::uint64_t start(call const& what, operation_number const& number) noexcept {
    entry& e = entries_[next_ % capacity];
    e.what = what;
    e.number.sequence = number.sequence;  // part by part: written a moment ago, so (see launcher::tell)
    e.number.from = number.from;
    e.number.to = number.to;
    e.place = next_;
    e.now = state::started;
    return next_++;
  }

  void finish(std::uint64_t place, state how) noexcept {
    entry& e = entries_[place % capacity];
    if (e.place == place) {
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
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t next_ = 0;
  std::array<entry, capacity> entries_{};
};

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/core/recorder.ipp>
#endif
