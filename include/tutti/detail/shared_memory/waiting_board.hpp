// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/call_board.hpp>
#include <tutti/extend/message.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// What one rank waits for, on every lane, where others can read it; and how often it has been asked. It is written
/// while the rank waits, every few milliseconds, so an answer costs ranks that compute nothing.
struct waiting_board {
  struct alignas(cache_line) line {
    call_record what;
    std::atomic<std::uint64_t> peer_and_moved{0};
    std::atomic<std::uint32_t> answer{0};  ///< the number of the last question that had come when this was written
    std::atomic<bool> blocks{false};
  };

  alignas(cache_line) std::atomic<std::uint32_t> questions{0};
  line lanes[lane_count];

  void say(wait_report const& w) noexcept {
    std::uint32_t const last = questions.load(std::memory_order_acquire);
    line& l = lanes[w.on.lane];
    std::uint64_t const word = std::uint64_t{w.peer} << 32 | w.moved;
    l.what.write(w.what, w.on.number, digest(word, w.blocks));
    l.peer_and_moved.store(word, std::memory_order_relaxed);
    l.blocks.store(w.blocks, std::memory_order_relaxed);
    l.answer.store(last, std::memory_order_release);
  }

  /// The number of a new question.
  [[nodiscard]] std::uint32_t ask() noexcept { return questions.fetch_add(1, std::memory_order_acq_rel) + 1; }

  /// What was last said about a lane. It is fresh if it answers that question; names no rank if nothing was, or if it
  /// is being overwritten.
  [[nodiscard]] wait_report said(std::uint32_t lane, std::uint32_t question) const noexcept {
    line const& l = lanes[lane];
    wait_report w;
    w.on.lane = lane;
    w.fresh = static_cast<std::int32_t>(l.answer.load(std::memory_order_acquire) - question) >= 0;
    std::uint64_t const word = l.peer_and_moved.load(std::memory_order_relaxed);
    w.blocks = l.blocks.load(std::memory_order_relaxed);
    std::uint32_t check = 0;
    if (l.what.read(w.what, w.on.number, check, digest(word, w.blocks)) && w.what.kind != operation_kind::none) {
      w.peer = static_cast<rank_type>(word >> 32);
      w.moved = static_cast<std::uint32_t>(word);
    }
    return w;
  }

 private:
  static constexpr std::uint32_t digest(std::uint64_t peer_and_moved, bool blocks) noexcept {
    return static_cast<std::uint32_t>((peer_and_moved * 2 + (blocks ? 1 : 0)) * 0x9e3779b97f4a7c15U >> 32);
  }
};

}  // namespace tutti::detail::shared_memory
