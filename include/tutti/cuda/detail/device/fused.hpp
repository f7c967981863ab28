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
  R how;

  template <class... X>
  constexpr typename R::value_type operator()(X const&... x) const {
    return lower_last(of(x...));
  }

 private:
  template <class First, class... X>
  constexpr typename R::accumulator_type of(First const& first, X const&... x) const {
    typename R::accumulator_type acc = raise<true>(how, first);
    ((acc = how.combine(raise<true>(how, x), acc)), ...);
    return acc;
  }
  constexpr typename R::value_type lower_last(typename R::accumulator_type const& acc) const {
    if constexpr (lowers<R>) {
      return how.lower(acc, N);
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
  /// @pre the same group runs that part on every rank; the board has N ranks. The table of `what` is not used
  constexpr fused_allreduce(G const& g, board const& on, std::uint32_t group, std::uint32_t part, std::uint32_t parts,
                            operation const& what, R const& how)
      : g_(g),
        link_(g, on, group),
        what_(what),
        how_(how),
        cut_(slice::of_blocks(what.count, N, part, parts)),
        layout_(what.count, N, parts) {}

  /// Combines this rank's block and stores it everywhere. Returns false if the operation has failed; the board has the
  /// fault.
  constexpr bool in_one_pass() const {
    bool const apart = link_.on().apart;
    if (!apart) {
      if (!link_.begin(N - 1, peer_at(), what_.mine, what_.what)) {
        return false;
      }
    } else {
      for (std::uint32_t b = 0; b != N; ++b) {
        copy_bytes(g_, read(what_.mine, b), own<contribution>(memory::input, b), cut_.size(b) * sizeof(contribution));
      }
      bool const copied = g_.all(true);
      if (!copied ||
          !link_.begin(N - 1, peer_at(), areas(what_.mine, link_.scratch(), link_.on().area_bytes()), what_.what)) {
        return false;
      }
    }
    rank_type const me = link_.on().rank;
    places<value, N> to{};
    for (rank_type r = 0; r != N; ++r) {
      std::byte* const there = !apart    ? of(r).write(memory::output, cut_.begin(me), sizeof(value))
                               : r == me ? own<value>(memory::output, me)
                                         : in_area<value>(link_.where(r).output, me);
      to.to[r] = reinterpret_cast<value*>(there);
    }
    combine(
        g_, me, to,
        [&](rank_type r) -> std::byte const* {
          return !apart    ? read(of(r), me)
                 : r == me ? own<contribution>(memory::input, me)
                           : in_area<contribution>(link_.where(r).input, me);
        },
        std::make_index_sequence<N>{});
    bool good = g_.all(true);
    for (rank_type i = g_.rank(); i < N - 1; i += g_.size()) {
      link_.tell_sent(peer(i), 1, false);
    }
    for (rank_type i = g_.rank(); good && i < N - 1; i += g_.size()) {
      good = link_.wait_sent(peer(i), 1);  // that peer has then also stopped reading this rank's memory
    }
    if (!end(good)) {
      return false;
    }
    for (std::uint32_t b = 0; apart && b != N; ++b) {
      copy_bytes(g_, own<value>(memory::output, b), what_.mine.write(memory::output, cut_.begin(b), sizeof(value)),
                 cut_.size(b) * sizeof(value));
    }
    return g_.all(true);
  }

  /// Combines all blocks on each rank. In place, or apart, peers read a copy of the input.
  /// @pre the first half of a group's scratch memory has room for that copy
  constexpr bool in_one_hop() const {
    if (is_copied(what_.mine)) {
      for_each_block([&](block_share const& threads, rank_type b) {
        copy_bytes(threads, read(what_.mine, b), link_.scratch() + offset<contribution>(b),
                   cut_.size(b) * sizeof(contribution));
      });
    }
    if (!g_.all(true) || !link_.begin(N - 1, peer_at(), what_.mine, what_.what)) {
      return false;
    }
    for_each_block([&](block_share const& threads, rank_type b) {
      places<value> const to{
          {reinterpret_cast<value*>(what_.mine.write(memory::output, cut_.begin(b), sizeof(value)))}};
      combine(
          threads, b, to,
          [&](rank_type r) {
            std::byte const* const copied = r == link_.on().rank ? link_.scratch() : link_.scratch_of(r);
            return is_copied(of(r)) ? copied + offset<contribution>(b) : read(of(r), b);
          },
          std::make_index_sequence<N>{});
    });
    bool good = g_.all(true);
    for (rank_type i = g_.rank(); i < N - 1; i += g_.size()) {
      link_.tell_taken(peer(i), 1);
    }
    for (rank_type i = g_.rank(); good && i < N - 1; i += g_.size()) {
      good = link_.wait_taken(peer(i), 1);
    }
    return end(good);
  }

 private:
  using contribution = contribution_t<R>;
  using value = typename R::value_type;

  /// The i-th of the N - 1 peers.
  [[nodiscard]] constexpr rank_type peer(rank_type i) const noexcept { return (link_.on().rank + 1 + i) % N; }
  [[nodiscard]] constexpr auto peer_at() const noexcept {
    return [this](std::uint32_t i) { return table_peer{.rank = peer(i), .sent = 1, .received = 1}; };
  }

  [[nodiscard]] constexpr bool is_copied(memories const& m) const noexcept {
    return link_.on().apart || m.input == m.output;
  }
  /// The offset of this group's part of a block in a copy.
  template <class T>
  [[nodiscard]] constexpr std::size_t offset(std::uint32_t block) const noexcept {
    return layout_.place(block, cut_.begin(block)) * sizeof(T);
  }
  /// This group's part of a block in a peer's area; null if the peer has no such memory, for example without elements.
  template <class T, class Byte>
  [[nodiscard]] constexpr Byte* in_area(Byte* area, std::uint32_t block) const noexcept {
    return area == nullptr ? nullptr : area + offset<T>(block);
  }
  /// The memories of rank r, as it has announced them.
  [[nodiscard]] constexpr memories const& of(rank_type r) const noexcept {
    return r == link_.on().rank ? what_.mine : link_.where(r);
  }
  /// This group's part of a block in this rank's areas.
  template <class T>
  [[nodiscard]] constexpr std::byte* own(memory m, std::uint32_t block) const noexcept {
    return link_.scratch() + area_number(what_.mine, m) * link_.on().area_bytes() + offset<T>(block);
  }
  [[nodiscard]] constexpr std::byte const* read(memories const& m, std::uint32_t block) const noexcept {
    return m.read(memory::input, cut_.begin(block), sizeof(contribution));
  }

  /// Combines these threads' part of a block; `input_of` gives each rank's input.
  template <numbered_threads Threads, std::size_t M, class InputOf, std::size_t... Index>
  constexpr void combine(Threads const& threads, rank_type block, places<value, M> const& to, InputOf const& input_of,
                         std::index_sequence<Index...>) const {
    for_each_element(
        threads, fold_of_all<R, N>{how_}, cut_.size(block), to,
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
    if (!g_.all(good)) {
      return false;
    }
    if (link_.is_first()) {
      link_.end(N - 1, peer_at());
    }
    return g_.all(true);
  }

  G const& g_;
  block_link<G> link_;
  operation const& what_;
  R const& how_;
  slice cut_;
  scratch_layout layout_;
};

}  // namespace tutti::detail::device
