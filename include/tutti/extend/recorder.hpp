// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/operation.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// A flight recorder: the last operations of a rank, kept whatever happens, for the handler of an error. Each rank
/// starts messages in an order of its own, so other ranks know the number of an operation, and not its place here.
///
///     std::fputs(world.recent().text().c_str(), stderr);
///
/// Cost: 16 entries; a few stores for each operation.
/// Thread safety: that of the communicator, but for `started`.
class recorder {
 public:
  /// The state of an operation.
  enum class state : std::uint8_t {
    started,    ///< under way
    completed,  ///< ended well
    failed      ///< ended by an error
  };

  /// An operation, as it is kept.
  struct entry {
    std::uint64_t place;      ///< its place in the order of starting, on this rank
    operation_number number;  ///< its number, the same on all ranks
    call what;                ///< the operation, and its arguments as ranks compare them
    state now;                ///< its state
  };

  /// The number of operations that are kept.
  static constexpr std::size_t capacity = 16;

  /// Notes the start of an operation, and returns its place. For the library.
  std::uint64_t start(call const& what, operation_number const& number) noexcept {
    entry& e = entries_[started() % capacity];
    e.what = what;
    e.number.sequence = number.sequence;  // part by part: written a moment ago, so (see launcher::tell)
    e.number.from = number.from;
    e.number.to = number.to;
    std::uint64_t const place = started();
    e.place = place;
    e.now = state::started;
    next_.store(place + 1, std::memory_order_relaxed);
    return place;
  }

  /// The number of operations that have been started. Other threads may ask, too.
  [[nodiscard]] std::uint64_t started() const noexcept { return next_.load(std::memory_order_relaxed); }

  /// Notes the end of an operation. For the library.
  void finish(std::uint64_t place, state how) noexcept {
    entry& e = entries_[place % capacity];
    if (e.place == place) {
      e.now = how;
    }
  }

  /// Calls `f(entry const&)` for each kept operation, oldest first.
  template <class F>
  void each(F f) const {
    std::uint64_t const end = started();
    for (std::uint64_t i = end < capacity ? 0 : end - capacity; i < end; ++i) {
      f(entries_[i % capacity]);
    }
  }

  /// One line for each kept operation, oldest first.
  [[nodiscard]] std::string text() const;

 private:
  std::atomic<std::uint64_t> next_{0};
  std::array<entry, capacity> entries_{};
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/recorder.ipp>
#endif
