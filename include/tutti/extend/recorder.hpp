// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <array>
#include <atomic>
#include <cstddef>
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
/// Thread safety: one thread at a time records; any thread may read meanwhile.
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
    std::uint64_t place;                    ///< index in the order of starting, on this rank
    operation_number number;                ///< number, equal on all ranks
    call call_record;                       ///< operation and arguments, as ranks compare them
    char label[labelled_call::label_text];  ///< label; empty if none
    state current_state;                    ///< state

    /// The operation in words, as `describe` words it.
    [[nodiscard]] TUTTI_DECL std::string text() const;
  };

  /// The wait of a rank for another one, as noted at its last look for failed peers. It lasts while its operation is
  /// under way and looks follow each other.
  struct wait {
    std::uint64_t place = 0;   ///< place of the operation that waits
    time_point begin{};        ///< first look without progress, by the steady clock
    time_point last_look{};    ///< last look, by the steady clock
    rank_type peer = no_rank;  ///< rank that it waits for; no_rank: any
    std::uint32_t step = 0;    ///< step of its schedule
    std::uint32_t thread = 0;  ///< the waiting thread's number in the system
  };

  /// The number of entries.
  static constexpr std::size_t capacity = 16;

  /// The memory of a recorder. Other threads may read it, and so may other processes that map it: it has no pointers,
  /// and a value that is being written is not read. Memory of zeros is an empty recorder.
  class storage {
   public:
    /// The number of operations started so far.
    [[nodiscard]] std::uint64_t start_count() const noexcept { return start_count_.load(std::memory_order_acquire); }

    /// Reads the operation of that place. Returns false if it is no longer recorded, or being written.
    [[nodiscard]] TUTTI_DECL bool read(std::uint64_t place, entry& result) const noexcept;

    /// Reads the last wait. Returns false if there was none, or if it is being written.
    [[nodiscard]] TUTTI_DECL bool read(wait& result) const noexcept;

    /// Calls `f(entry const&)` for each entry, oldest first.
    template <class F>
    void for_each(F f) const {
      std::uint64_t const end = start_count();
      for (std::uint64_t place = end < capacity ? 0 : end - capacity; place < end; ++place) {
        if (entry e; read(place, e)) {
          f(e);
        }
      }
    }

    /// Copies another memory, without what is being written there. @pre no thread reads this one
    TUTTI_DECL void copy(storage const& source) noexcept;

    /// Removes everything.
    TUTTI_DECL void clear() noexcept;

   private:
    friend class recorder;

    // Stores release and loads acquire, so that a reader which finds the same place before and after it read an entry
    // has read no other entry in between.
    using word = std::atomic<std::uint64_t>;
    static_assert(word::is_always_lock_free);

    static constexpr std::size_t call_words = 5;  ///< the call without count, root and identity
    static constexpr std::size_t call_begin = offsetof(call, partition);
    static constexpr std::size_t label_words = labelled_call::label_text / 8;
    static_assert(call_begin + call_words * 8 == sizeof(call));

    struct record {
      word place_and_state{0};  ///< state + 1 in the lowest two bits; 0: being written
      word sequence{0};
      word pair{0};
      word count{0};
      word root_and_identity{0};
      word rest_of_call[call_words]{};
      word label[label_words]{};
    };
    struct wait_record {
      word version{0};  ///< odd: being written
      word place{0};
      word begin{0};
      word last_look{0};
      word peer_and_step{0};
      word thread{0};
    };

    static constexpr std::uint64_t pack(std::uint32_t high, std::uint32_t low) noexcept {
      return std::uint64_t{high} << 32 | low;
    }
    static constexpr std::uint64_t pack(std::uint64_t place, state s) noexcept {
      return place << 2 | (static_cast<std::uint64_t>(s) + 1);
    }
    static void write(word& target, std::uint64_t value) noexcept { target.store(value, std::memory_order_release); }
    template <std::size_t Size>
    static void write(word (&target)[Size], void const* source) noexcept {
      std::uint64_t values[Size];
      std::memcpy(values, source, sizeof values);
      for (std::size_t i = 0; i < Size; ++i) {
        write(target[i], values[i]);
      }
    }

    word start_count_{0};
    wait_record wait_;
    std::array<record, capacity> records_{};
  };

  /// A recorder in that memory. @pre `memory` outlives it
  explicit recorder(storage& memory) noexcept : memory_(&memory) {}

  /// Records the start of an operation, and returns its place. For the library.
  std::uint64_t start(labelled_call const& call_record, operation_number const& number) noexcept {
    std::uint64_t const place = start_count();
    storage::record& r = memory_->records_[place % capacity];
    r.place_and_state.store(0, std::memory_order_relaxed);
    // Fields that were written a moment ago are read by themselves (see launcher::write_call_record).
    storage::write(r.sequence, number.sequence);
    storage::write(r.pair, storage::pack(number.sender, number.receiver));
    storage::write(r.count, call_record.count);
    storage::write(r.root_and_identity, storage::pack(call_record.root, call_record.identity));
    storage::write(r.rest_of_call,
                   reinterpret_cast<char const*>(static_cast<call const*>(&call_record)) + storage::call_begin);
    if (call_record.label[0] == 0) [[likely]] {
      storage::write(r.label[0], 0);
    } else {
      write_label(r, call_record.label);
    }
    storage::write(r.place_and_state, storage::pack(place, state::started));
    storage::write(memory_->start_count_, place + 1);
    return place;
  }

  /// The number of operations started so far.
  [[nodiscard]] std::uint64_t start_count() const noexcept {
    return memory_->start_count_.load(std::memory_order_relaxed);
  }

  /// Records the end of an operation. For the library.
  void finish(std::uint64_t place, state final_state) noexcept {
    storage::word& word = memory_->records_[place % capacity].place_and_state;
    if (word.load(std::memory_order_relaxed) == storage::pack(place, state::started)) {
      storage::write(word, storage::pack(place, final_state));
    }
  }

  /// Records a wait. For the library.
  TUTTI_DECL void note(wait const& current) noexcept;

  /// Calls `f(entry const&)` for each entry, oldest first.
  template <class F>
  void for_each(F f) const {
    memory_->for_each(f);
  }

  /// The entries in words, one line each, oldest first.
  [[nodiscard]] TUTTI_DECL std::string text() const;

 private:
  TUTTI_DECL static void write_label(storage::record& r, char const* label) noexcept;

  storage* memory_;
};

/// The word for a state.
[[nodiscard]] constexpr std::string_view name(recorder::state s) noexcept {
  return s == recorder::state::started ? "started" : s == recorder::state::completed ? "completed" : "failed";
}

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/recorder.ipp>
#endif
