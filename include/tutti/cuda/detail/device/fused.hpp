// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/areas.hpp>
#include <tutti/cuda/detail/device/block_link.hpp>
#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/cuda/detail/device/interpreter.hpp>
#include <tutti/cuda/detail/device/scratch_layout.hpp>
#include <tutti/detail/engine/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// Combines the contributions of N ranks to a block in the order of `direct`: the owner's first, then those of the
/// ranks below it, each from the left.
template <tutti::reduction R, rank_type N>
struct fold_of_all {
  R reduction;

  template <class... X>
  constexpr typename R::value_type operator()(X const&... x) const {
    return lower_last(accumulate(x...));
  }

 private:
  template <class First, class... X>
  constexpr typename R::accumulator_type accumulate(First const& first, X const&... x) const {
    typename R::accumulator_type acc = raise<true>(reduction, first);
    ((acc = reduction.combine(raise<true>(reduction, x), acc)), ...);
    return acc;
  }
  constexpr typename R::value_type lower_last(typename R::accumulator_type const& acc) const {
    if constexpr (lowers<R>) {
      return reduction.lower(acc, N);
    } else {
      return acc;
    }
  }
};

/// An allreduce by `direct` without its steps: since each rank owns a block, it reads N inputs, combines them in
/// registers and stores the result to N outputs at once. Keeps the order of `direct`, and so its bits.
///
/// Cost: `in_one_pass`: each rank reads and writes S bytes in total, between two hops. `in_one_hop`: it reads N S
/// bytes and writes S, and stores nothing at peers; for short vectors.
template <thread_group G, tutti::reduction R, rank_type N>
  requires(N >= 2 && N <= most_ranks)
class fused_allreduce {
 public:
  /// @pre groups with one number run that part on all ranks; the board has N ranks. Does not use `operation.table`
  constexpr fused_allreduce(G const& g, device::board const& board, std::uint32_t group, std::uint32_t part,
                            std::uint32_t parts, device::operation const& operation, R const& reduction)
      : g_(g),
        link_(g, board, group),
        operation_(operation),
        reduction_(reduction),
        slice_(slice::of_blocks(operation.count, N, part, parts)),
        layout_(operation.count, N, parts) {}

  /// Combines this rank's block and stores it everywhere. Returns false if the operation has failed; the board has the
  /// fault.
  constexpr bool in_one_pass() const {
    bool const apart = link_.board().apart;
    if (!apart) {
      if (!link_.begin(N - 1, peer_at(), operation_.buffers, operation_.call_record)) {
        return false;
      }
    } else {
      for (std::uint32_t b = 0; b != N; ++b) {
        copy_bytes(g_, read(operation_.buffers, b), area_of_block<contribution>(memory::input, b),
                   slice_.size(b) * sizeof(contribution));
      }
      bool const is_ready = g_.barrier_and(true);
      if (!is_ready ||
          !link_.begin(N - 1, peer_at(), areas(operation_.buffers, link_.scratch(), link_.board().area_bytes()),
                       operation_.call_record)) {
        return false;
      }
    }
    rank_type const me = link_.board().rank;
    places<value, N> outputs{};
    for (rank_type r = 0; r != N; ++r) {
      std::byte* const address = !apart    ? buffers_of(r).write(memory::output, slice_.begin(me), sizeof(value))
                                 : r == me ? area_of_block<value>(memory::output, me)
                                           : in_area<value>(link_.buffers(r).output, me);
      outputs.addresses[r] = reinterpret_cast<value*>(address);
    }
    combine(
        g_, me, outputs,
        [&](rank_type r) -> std::byte const* {
          return !apart    ? read(buffers_of(r), me)
                 : r == me ? area_of_block<contribution>(memory::input, me)
                           : in_area<contribution>(link_.buffers(r).input, me);
        },
        std::make_index_sequence<N>{});
    bool good = g_.barrier_and(true);
    for (rank_type i = g_.rank(); i < N - 1; i += g_.size()) {
      link_.publish_sent(peer(i), 1, false);
    }
    for (rank_type i = g_.rank(); good && i < N - 1; i += g_.size()) {
      good = link_.wait_for_sent(peer(i), 1);  // afterwards that peer no longer reads this rank's memory
    }
    if (!end(good)) {
      return false;
    }
    for (std::uint32_t b = 0; apart && b != N; ++b) {
      copy_bytes(g_, area_of_block<value>(memory::output, b),
                 operation_.buffers.write(memory::output, slice_.begin(b), sizeof(value)),
                 slice_.size(b) * sizeof(value));
    }
    return g_.barrier_and(true);
  }

  /// Combines all blocks on each rank. In place, or apart, peers read a copy of the input.
  /// @pre the first half of a group's scratch memory has room for that copy
  constexpr bool in_one_hop() const {
    if (is_copied(operation_.buffers)) {
      for_each_block([&](block_share const& threads, rank_type b) {
        copy_bytes(threads, read(operation_.buffers, b), link_.scratch() + offset<contribution>(b),
                   slice_.size(b) * sizeof(contribution));
      });
    }
    if (!g_.barrier_and(true) || !link_.begin(N - 1, peer_at(), operation_.buffers, operation_.call_record)) {
      return false;
    }
    for_each_block([&](block_share const& threads, rank_type b) {
      places<value> const output{
          {reinterpret_cast<value*>(operation_.buffers.write(memory::output, slice_.begin(b), sizeof(value)))}};
      combine(
          threads, b, output,
          [&](rank_type r) {
            std::byte const* const scratch = r == link_.board().rank ? link_.scratch() : link_.scratch_of(r);
            return is_copied(buffers_of(r)) ? scratch + offset<contribution>(b) : read(buffers_of(r), b);
          },
          std::make_index_sequence<N>{});
    });
    bool good = g_.barrier_and(true);
    for (rank_type i = g_.rank(); i < N - 1; i += g_.size()) {
      link_.publish_consumed(peer(i), 1);
    }
    for (rank_type i = g_.rank(); good && i < N - 1; i += g_.size()) {
      good = link_.wait_for_consumed(peer(i), 1);
    }
    return end(good);
  }

 private:
  using contribution = contribution_t<R>;
  using value = typename R::value_type;

  /// The i-th of the N - 1 peers.
  [[nodiscard]] constexpr rank_type peer(rank_type i) const noexcept { return (link_.board().rank + 1 + i) % N; }
  [[nodiscard]] constexpr auto peer_at() const noexcept {
    return [this](std::uint32_t i) { return table_peer{.rank = peer(i), .sent_count = 1, .received_count = 1}; };
  }

  [[nodiscard]] constexpr bool is_copied(memories const& m) const noexcept {
    return link_.board().apart || m.input == m.output;
  }
  /// The offset of this group's part of a block in a copy.
  template <class T>
  [[nodiscard]] constexpr std::size_t offset(std::uint32_t block) const noexcept {
    return layout_.place(block, slice_.begin(block)) * sizeof(T);
  }
  /// This group's part of a block in a peer's area; null if the peer has no such memory, for example without elements.
  template <class T, class Byte>
  [[nodiscard]] constexpr Byte* in_area(Byte* area, std::uint32_t block) const noexcept {
    return area == nullptr ? nullptr : area + offset<T>(block);
  }
  /// The memories of rank r, as it has announced them.
  [[nodiscard]] constexpr memories const& buffers_of(rank_type r) const noexcept {
    return r == link_.board().rank ? operation_.buffers : link_.buffers(r);
  }
  /// This group's part of a block in this rank's areas.
  template <class T>
  [[nodiscard]] constexpr std::byte* area_of_block(memory m, std::uint32_t block) const noexcept {
    return link_.scratch() + area_number(operation_.buffers, m) * link_.board().area_bytes() + offset<T>(block);
  }
  [[nodiscard]] constexpr std::byte const* read(memories const& m, std::uint32_t block) const noexcept {
    return m.read(memory::input, slice_.begin(block), sizeof(contribution));
  }

  /// Combines these threads' part of a block; `input_of` gives each rank's input.
  template <numbered_threads Threads, std::size_t M, class InputOf, std::size_t... Index>
  constexpr void combine(Threads const& threads, rank_type block, places<value, M> const& outputs,
                         InputOf const& input_of, std::index_sequence<Index...>) const {
    for_each_element(
        threads, fold_of_all<R, N>{reduction_}, slice_.size(block), outputs,
        reinterpret_cast<contribution const*>(input_of((block + N - static_cast<rank_type>(Index)) % N))...);
  }

  /// The threads of a group that handle one block.
  class block_share {
   public:
    constexpr block_share(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}

    [[nodiscard]] constexpr std::uint32_t rank() const noexcept { return rank_; }
    [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }

   private:
    std::uint32_t rank_;
    std::uint32_t size_;
  };
  /// Calls f(threads, block) for all blocks of a short vector. Each block has its own threads, so that memory
  /// latencies overlap. If there are fewer threads than blocks, all take one block after another.
  template <class F>
  constexpr void for_each_block(F const& f) const {
    std::uint32_t const shares = g_.size() < N ? 1 : N;
    std::uint32_t const size = g_.size() / shares;
    for (rank_type b = g_.rank() / size; b < N; b += shares) {
      f(block_share(g_.rank() % size, size), b);
    }
  }

  constexpr bool end(bool good) const {
    if (!g_.barrier_and(good)) {
      return false;
    }
    if (link_.is_first()) {
      link_.end(N - 1, peer_at());
    }
    return g_.barrier_and(true);
  }

  G const& g_;
  block_link<G> link_;
  device::operation const& operation_;
  R const& reduction_;
  slice slice_;
  scratch_layout layout_;
};

}  // namespace tutti::detail::device
