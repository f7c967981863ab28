// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>
#include <tutti/detail/engine/refusals.hpp>

namespace tutti::inline v0_1_0::detail::inline engine {

TUTTI_DECL memories pair_blocks::assign(pair_lengths const& lengths, std::size_t element_bytes, bool compares,
                                        memories const& memory) {
  rank_type const n = lengths.outgoing.size();
  begins_.assign(1, 0);
  lengths_.assign(n + 1, 0);
  auto const append = [&](std::size_t bytes) { begins_.push_back(begins_.back() + bytes); };
  for (rank_type r = 0; r < n; ++r) {
    lengths_[r] = lengths.outgoing.length(r) * element_bytes;
  }
  for (rank_type r = 0; r <= n; ++r) {
    append(sizeof lengths_[r]);
  }
  for (rank_type r = 0; r < n; ++r) {
    append(lengths.outgoing.length(r) * element_bytes);
  }
  for (rank_type r = 0; r < n; ++r) {
    append(lengths.incoming.length(r) * element_bytes);
  }
  ranks_ = n;
  are_used_ = true;
  compares_ = compares && !lengths.are_compared;
  return {.input = memory.input,
          .work = reinterpret_cast<std::byte*>(lengths_.data()),
          .output = memory.output,
          .input_origin = begins_[n + 1],
          .output_origin = begins_[2 * n + 1]};
}

TUTTI_DECL void pair_blocks::adapt(step& s, std::uint32_t i, rank_type me, std::string_view topology) const {
  bool const is_local = !s.sends() && !s.receives();
  auto const is_straight = [&](endpoint const& end, memory place) {
    return end.memory == place && end.blocks == block_range{end.peer == no_rank ? me : end.peer, 1};
  };
  if (((is_local || s.sends()) && !is_straight(s.send, memory::input)) ||
      ((is_local || s.receives()) && !is_straight(s.receive, memory::output))) {
    refuse_forwarding(topology);
  }
  if (compares_ && i % 2 == 0) {
    step exchange_of_lengths{};  // compilers.md: Smaller gaps
    if (s.sends()) {
      exchange_of_lengths.send = {s.send.peer, memory::work, {s.send.peer, 1}};
    }
    if (s.receives()) {
      exchange_of_lengths.receive = {s.receive.peer, memory::work, {ranks_, 1}};
    }
    s = exchange_of_lengths;
    return;
  }
  std::uint32_t const first_output = 2 * ranks_ + 1;
  if (compares_ && s.receives() && lengths_[ranks_] != length(first_output + s.receive.peer)) {
    throw lengths_differ(me, length(first_output + s.receive.peer), s.receive.peer, lengths_[ranks_]);
  }
  s.send.blocks.first += ranks_ + 1;
  s.receive.blocks.first += first_output;
}

}  // namespace tutti::detail::engine
