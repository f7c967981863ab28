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

[[nodiscard]] constexpr std::string_view name(mistake which) noexcept {
  constexpr std::string_view names[] = {"partial_chunks", "hop_too_few", "result_too_few",
                                        "mean_per_hop",   "stale_sums",  "stale_results"};
  return names[static_cast<std::size_t>(which)];
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

  mistake which;

  [[nodiscard]] constexpr tutti::topology_settings settings(tutti::rank_type) const noexcept {
    tutti::topology_settings s{.identity = static_cast<std::uint32_t>(which) + 1};
    s.set_label(bench::name(which));
    return s;
  }

  [[nodiscard]] constexpr std::uint32_t blocks(tutti::op::allreduce, tutti::rank_type n) const { return n; }
  [[nodiscard]] constexpr std::uint32_t steps(tutti::op::allreduce, tutti::rank_type n, tutti::rank_type) const {
    bool const shorter = which == mistake::hop_too_few || which == mistake::result_too_few;
    return which == mistake::partial_chunks ? n - 1 : 2 * (n - 1) - (shorter ? 1 : 0);
  }
  [[nodiscard]] constexpr tutti::step at(tutti::op::allreduce all, tutti::rank_type n, tutti::rank_type me,
                                         std::uint32_t i) const {
    using tutti::memory;
    std::uint32_t const adding = which == mistake::hop_too_few ? n - 2 : n - 1;
    if (i >= adding) {  // a rank has finished block `me`, or if early the next one
      bool const ahead = which == mistake::stale_results;
      bool const early = which == mistake::hop_too_few;
      return hand_on(n, me, i - adding + (ahead ? 1 : 0) + (early ? n - 1 : 0));
    }
    tutti::step s = tutti::ring{}.at(all, n, me, i);
    if (which == mistake::hop_too_few && i + 1 == adding) {
      s.receive.memory = memory::output;
    } else if (which == mistake::mean_per_hop) {
      s.send.memory = s.sender_memory = i == 0 ? memory::input : memory::output;
      s.receive.memory = memory::output;
    } else if (which == mistake::stale_sums) {
      s.send.memory = s.sender_memory = memory::input;
    }
    return s;
  }

 private:
  /// Sends the block that is `back` blocks before this rank's, and receives the one before that.
  [[nodiscard]] static constexpr tutti::step hand_on(tutti::rank_type n, tutti::rank_type me, std::uint32_t back) {
    auto const before = [n, me](std::uint32_t k) { return (me + n - k % n) % n; };
    return {.send = {(me + 1) % n, tutti::memory::output, {before(back), 1}},
            .receive = {before(1), tutti::memory::output, {before(back + 1), 1}},
            .sender_memory = tutti::memory::output};
  }
};

}  // namespace bench
