// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/call_board.hpp>
#include <tutti/extend/message.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The wait reports of one rank for every lane, readable by others, and the number of queries. The rank writes them
/// every few milliseconds while it waits, so replies cost no computing rank anything.
struct waiting_board {
  struct alignas(cache_line) line {
    call_record record;
    std::atomic<std::uint64_t> peer_and_progress{0};
    std::atomic<std::uint32_t> answered_query{0};  ///< number of the last query before this report
    std::atomic<bool> blocks{false};
  };

  alignas(cache_line) std::atomic<std::uint32_t> queries{0};
  line lanes[lane_count];

  void publish_wait(wait_report const& report) noexcept {
    std::uint32_t const last_query = queries.load(std::memory_order_relaxed);
    line& lane_line = lanes[report.flow.lane];
    std::uint64_t const word = std::uint64_t{report.peer} << 32 | report.progress;
    lane_line.record.write(report.call, report.flow.number, digest(word, report.blocks_program));
    lane_line.peer_and_progress.store(word, std::memory_order_relaxed);
    lane_line.blocks.store(report.blocks_program, std::memory_order_relaxed);
    lane_line.answered_query.store(last_query, std::memory_order_release);
  }

  /// Adds a query, and returns its number.
  [[nodiscard]] std::uint32_t query_wait() noexcept { return queries.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// The last report about a lane. Fresh if it follows that query; names no rank if there was none, or if it is being
  /// overwritten.
  [[nodiscard]] wait_report last_report(std::uint32_t lane, std::uint32_t query) const noexcept {
    line const& lane_line = lanes[lane];
    wait_report report;
    report.flow.lane = lane;
    report.is_fresh = static_cast<std::int32_t>(lane_line.answered_query.load(std::memory_order_acquire) - query) >= 0;
    std::uint64_t const word = lane_line.peer_and_progress.load(std::memory_order_relaxed);
    report.blocks_program = lane_line.blocks.load(std::memory_order_relaxed);
    std::uint32_t check = 0;
    if (lane_line.record.read(report.call, report.flow.number, check, digest(word, report.blocks_program)) &&
        report.call.kind != operation_kind::none) {
      report.peer = static_cast<rank_type>(word >> 32);
      report.progress = static_cast<std::uint32_t>(word);
    }
    return report;
  }

 private:
  static constexpr std::uint32_t digest(std::uint64_t peer_and_progress, bool blocks) noexcept {
    return static_cast<std::uint32_t>((peer_and_progress * 2 + (blocks ? 1 : 0)) * 0x9e3779b97f4a7c15U >> 32);
  }
};

}  // namespace tutti::detail::shared_memory
