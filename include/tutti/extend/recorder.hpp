// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/operation.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace tutti::inline v0_1_0 {

/// A flight recorder: the last operations of a rank, for the handler of an error. Always on. Ranks may start messages
/// in different orders, so other ranks know an operation by its number, not by its place here.
///
///     std::fputs(world.recent().text().c_str(), stderr);
///
/// Cost: 16 entries; a few stores for each operation.
/// Thread safety: as the communicator; `start_count` may be called by any thread.
class recorder {
 public:
  /// The state of an operation.
  enum class state : std::uint8_t {
    started,    ///< under way
    completed,  ///< ended without an error
    failed      ///< ended by an error
  };

  /// The record of an operation.
  struct entry {
    std::uint64_t place;                         ///< index in the order of starting, on this rank
    operation_number number;                     ///< number, equal on all ranks
    labelled_call call_record;                   ///< operation and arguments, as ranks compare them, and its label
    state current_state;                         ///< state
    char kept_label[labelled_call::label_text];  ///< the label, once the operation has another one or is gone
  };

  /// The number of entries.
  static constexpr std::size_t capacity = 16;

  /// Records the start of an operation, and returns its place. For the library.
  std::uint64_t start(labelled_call const& call_record, operation_number const& number) noexcept {
    entry& e = entries_[start_count() % capacity];
    e.call_record = call_record;
    e.number.sequence =
        number.sequence;  // member by member, because it was written a moment ago (see launcher::write_call_record)
    e.number.sender = number.sender;
    e.number.receiver = number.receiver;
    std::uint64_t const place = start_count();
    e.place = place;
    e.current_state = state::started;
    next_.store(place + 1, std::memory_order_relaxed);
    return place;
  }

  /// The number of operations started so far. Any thread may call it.
  [[nodiscard]] std::uint64_t start_count() const noexcept { return next_.load(std::memory_order_relaxed); }

  /// Records the end of an operation. For the library.
  void finish(std::uint64_t place, state final_state) noexcept {
    entry& e = entries_[place % capacity];
    if (e.place == place) {
      e.current_state = final_state;
    }
  }

  /// Copies a label that its owner is about to change. For the library.
  void keep_label(char const* label) noexcept {
    for (entry& e : entries_) {
      if (e.call_record.label == label) {
        std::memcpy(e.kept_label, label, sizeof e.kept_label);
        e.call_record.label = e.kept_label;
      }
    }
  }

  /// Calls `f(entry const&)` for each entry, oldest first.
  template <class F>
  void for_each(F f) const {
    std::uint64_t const end = start_count();
    for (std::uint64_t i = end < capacity ? 0 : end - capacity; i < end; ++i) {
      f(entries_[i % capacity]);
    }
  }

  /// The entries in words, one line each, oldest first.
  [[nodiscard]] std::string text() const;

 private:
  std::atomic<std::uint64_t> next_{0};
  std::array<entry, capacity> entries_{};
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/recorder.ipp>
#endif
