// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/call_board.hpp>
#include <tutti/detail/shared_memory/mailbox.hpp>
#include <tutti/detail/shared_memory/probe_limit.hpp>
#include <tutti/detail/shared_memory/waiting_board.hpp>
#include <tutti/extend/fault.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <cstring>
#include <new>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The reason of an abort, beside the fault word, which has no room for it. A rank writes the reason of the abort that
/// it makes known, or passes on from elsewhere, once, and sets the fault word afterwards. So all reasons of one
/// aborting rank are equal, and any of them is right.
class alignas(cache_line) abort_note {
 public:
  /// Writes a note, unless there is one. Async-signal-safe; threads may call it at the same time.
  void write(tutti::fault const& cause) noexcept {
    std::uint32_t expected = empty;
    if (state_.compare_exchange_strong(expected, under_way, std::memory_order_relaxed)) {
      aborting_rank_ = cause.reporter;
      std::memcpy(reason_, cause.reason, sizeof reason_);
      state_.store(complete, std::memory_order_release);
    }
  }
  /// Adds the reason to a fault, if this is the note of that abort. Returns true if it is.
  [[nodiscard]] bool read(tutti::fault& cause) const noexcept {
    bool const fits = state_.load(std::memory_order_acquire) == complete && aborting_rank_ == cause.reporter;
    if (fits) {
      std::memcpy(cause.reason, reason_, sizeof reason_);
    }
    return fits;
  }

 private:
  enum : std::uint32_t { empty, under_way, complete };

  std::atomic<std::uint32_t> state_{empty};
  rank_type aborting_rank_ = no_rank;
  char reason_[tutti::fault::reason_text] = {};
};

/// Words by which a rank informs its peers, on a cache line for each rate of change.
struct member_lines {
  enum : std::uint32_t { present, absent };

  alignas(cache_line) std::atomic<std::uint32_t> presence{present};
  std::atomic<std::uint64_t> leave_reason{0};                  ///< packed fault that made it leave
  alignas(cache_line) std::atomic<std::uint32_t> asleep{0};    ///< its doorbell must be rung
  alignas(cache_line) std::atomic<std::uint32_t> touching{0};  ///< mark of foreign_memory
  abort_note abort;
};

/// Words that all ranks write, but rarely: one line is enough. An epoch is the life of a world until its first fault.
struct alignas(cache_line) epoch_line {
  std::atomic<std::uint64_t> fault{0};  ///< packed
  probe_limit probes;
};

/// The layout of the memory that n ranks share. Does not own it.
///
/// Each rank constructs its own part, so that pages are near the core that uses them most, and touches other parts only
/// after all have done so.
class mail_segment {
 public:
  mail_segment() noexcept = default;
  mail_segment(std::byte* base, rank_type ranks) noexcept : base_(base), ranks_(ranks) {}

  /// The bytes of the layout; the transport uses what follows.
  [[nodiscard]] static constexpr std::size_t bytes(rank_type ranks) noexcept { return boxes_begin(ranks, ranks); }
  /// The offset of the mailboxes of receiver r. Words that all ranks write precede those of rank 0.
  [[nodiscard]] static constexpr std::size_t boxes_begin(rank_type ranks, rank_type r) noexcept {
    return box_offset(ranks, r, 0, 0);
  }

  void construct(rank_type me) noexcept {
    if (me == 0) {
      new (base_) epoch_line;
    }
    new (base_ + member_offset(me)) member_lines;
    new (base_ + waiting_offset(ranks_, me)) waiting_board;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      new (base_ + board_offset(ranks_, me, lane)) call_board;
      for (rank_type sender = 0; sender < ranks_; ++sender) {
        new (base_ + box_offset(ranks_, me, sender, lane)) mailbox;
      }
    }
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] rank_type size() const noexcept { return ranks_; }
  /// The fault of the epoch, packed. It is set once and complete in itself: it orders nothing else, so all accesses are
  /// relaxed. Only an abort has a note, which is read after the word.
  [[nodiscard]] std::atomic<std::uint64_t>& fault() const noexcept { return object_at<epoch_line>(0)->fault; }
  [[nodiscard]] probe_limit& probes() const noexcept { return object_at<epoch_line>(0)->probes; }
  [[nodiscard]] member_lines& member(rank_type r) const noexcept { return *object_at<member_lines>(member_offset(r)); }
  [[nodiscard]] call_board& board(rank_type r, std::uint32_t lane) const noexcept {
    return *object_at<call_board>(board_offset(ranks_, r, lane));
  }
  [[nodiscard]] waiting_board& waiting(rank_type r) const noexcept {
    return *object_at<waiting_board>(waiting_offset(ranks_, r));
  }
  [[nodiscard]] mailbox& box(rank_type sender, rank_type receiver, std::uint32_t lane) const noexcept {
    return *object_at<mailbox>(box_offset(ranks_, receiver, sender, lane));
  }

 private:
  template <class T>
  [[nodiscard]] T* object_at(std::size_t offset) const noexcept {
    return std::launder(reinterpret_cast<T*>(base_ + offset));
  }
  static constexpr std::size_t member_offset(rank_type r) noexcept {
    return sizeof(epoch_line) + r * sizeof(member_lines);
  }
  static constexpr std::size_t waiting_offset(rank_type ranks, rank_type r) noexcept {
    return member_offset(ranks) + r * sizeof(waiting_board);
  }
  static constexpr std::size_t board_offset(rank_type ranks, rank_type r, std::uint32_t lane) noexcept {
    return waiting_offset(ranks, ranks) + (std::size_t{r} * lane_count + lane) * sizeof(call_board);
  }
  static constexpr std::size_t box_offset(rank_type ranks, rank_type receiver, rank_type sender,
                                          std::uint32_t lane) noexcept {
    return board_offset(ranks, ranks, 0) +
           ((std::size_t{receiver} * ranks + sender) * lane_count + lane) * sizeof(mailbox);
  }

  std::byte* base_ = nullptr;
  rank_type ranks_ = 0;
};

}  // namespace tutti::detail::shared_memory
