// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/ring.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bench {

/// Mistakes of a program that sums around a ring.
enum class mistake : std::uint8_t {
  partial_chunks,  ///< sums chunks but hands none on: each rank has the mean of one chunk, partial sums elsewhere
  hop_too_few,     ///< finishes each chunk a hop early: a contribution is missing in each
  result_too_few,  ///< hands results on one hop too few: each rank keeps a partial sum in place of one result
  mean_per_hop,    ///< finishes and forwards at each hop the mean of two
  stale_sums,      ///< sends at every hop the rank's own numbers instead of the last sum
  stale_results,   ///< hands on the chunk that is yet to arrive, so sends the rank's own old numbers
};

inline constexpr std::array all_mistakes{mistake::partial_chunks, mistake::hop_too_few, mistake::result_too_few,
                                         mistake::mean_per_hop,   mistake::stale_sums,  mistake::stale_results};

[[nodiscard]] constexpr std::string_view name(mistake kind) noexcept {
  constexpr std::string_view names[] = {"partial_chunks", "hop_too_few", "result_too_few",
                                        "mean_per_hop",   "stale_sums",  "stale_results"};
  return names[static_cast<std::size_t>(kind)];
}

/// An allreduce around a ring with one mistake in it. It ends, and each message is expected when it is sent, but ranks
/// do not end with the result. Must run out of place. Parts of the output that no step writes keep their old values.
/// Partial sums stay in the output, too, if accumulators are elements: the engine makes them there.
///
/// Offers: allreduce, of 3 ranks and more.
struct wrong_ring {
  static constexpr std::string_view name = "wrong_ring";
  static constexpr bool keeps_rank_order = false;
  static constexpr bool sends_raw_contributions = false;

  mistake kind;

  [[nodiscard]] constexpr tutti::topology_settings settings(tutti::rank_type) const noexcept {
    tutti::topology_settings s{.identity = static_cast<std::uint32_t>(kind) + 1};
    s.set_label(bench::name(kind));
    return s;
  }

  [[nodiscard]] constexpr std::uint32_t blocks(tutti::op::allreduce, tutti::rank_type n) const { return n; }
  [[nodiscard]] constexpr std::uint32_t steps(tutti::op::allreduce, tutti::rank_type n, tutti::rank_type) const {
    bool const is_shorter = kind == mistake::hop_too_few || kind == mistake::result_too_few;
    return kind == mistake::partial_chunks ? n - 1 : 2 * (n - 1) - (is_shorter ? 1 : 0);
  }
  [[nodiscard]] constexpr tutti::step at(tutti::op::allreduce operation, tutti::rank_type n, tutti::rank_type me,
                                         std::uint32_t i) const {
    using tutti::memory;
    std::uint32_t const adding_steps = kind == mistake::hop_too_few ? n - 2 : n - 1;
    if (i >= adding_steps) {  // a rank has finished block `me`, or if early the next one
      bool const is_ahead = kind == mistake::stale_results;
      bool const is_early = kind == mistake::hop_too_few;
      return forward_block(n, me, i - adding_steps + (is_ahead ? 1 : 0) + (is_early ? n - 1 : 0));
    }
    tutti::step s = tutti::ring{}.at(operation, n, me, i);
    if (kind == mistake::hop_too_few && i + 1 == adding_steps) {
      s.receive.memory = memory::output;
    } else if (kind == mistake::mean_per_hop) {
      s.send.memory = s.sender_memory = i == 0 ? memory::input : memory::output;
      s.receive.memory = memory::output;
    } else if (kind == mistake::stale_sums) {
      s.send.memory = s.sender_memory = memory::input;
    }
    return s;
  }

 private:
  /// Sends the block that is `distance` blocks before this rank's, and receives the one before that.
  [[nodiscard]] static constexpr tutti::step forward_block(tutti::rank_type n, tutti::rank_type me,
                                                           std::uint32_t distance) {
    auto const block_before = [n, me](std::uint32_t k) { return (me + n - k % n) % n; };
    return {.send = {(me + 1) % n, tutti::memory::output, {block_before(distance), 1}},
            .receive = {block_before(1), tutti::memory::output, {block_before(distance + 1), 1}},
            .sender_memory = tutti::memory::output};
  }
};

}  // namespace bench
