// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/device/block_link.hpp>
#include <tutti/detail/device/combine.hpp>
#include <tutti/detail/device/interpreter.hpp>
#include <tutti/detail/device/scratch_layout.hpp>
#include <tutti/detail/engine/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tutti::detail::device {

/// What `direct` makes of the contributions of N ranks to a block: that of its owner first, then those of the ranks
/// below it, each from the left.
template <reduction R, rank_type N>
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

/// An allreduce by `direct` without its steps: its custody of blocks lets a rank read N inputs, combine them in
/// registers and store the result to N outputs at once. The bits are those of `direct`, whose order is kept.
///
/// Cost: in one pass each rank reads and writes S bytes in all, after one hop and before another. In one hop it reads
/// N S bytes and writes S, and nothing is stored at peers: for short vectors.
template <thread_group G, reduction R, rank_type N>
  requires(N >= 2 && N <= most_ranks)
class fused_allreduce {
 public:
  /// @pre `groups` groups run the operation, on every rank; the board is of N ranks. Of `what` the table is not used
  constexpr fused_allreduce(G const& g, board const& on, std::uint32_t group, std::uint32_t groups,
                            operation const& what, R const& how)
      : g_(g),
        link_(g, on, group),
        what_(what),
        how_(how),
        cut_(slice::of_blocks(what.count, N, group, groups)),
        layout_(what.count, N, groups) {}

  /// Each rank combines its own block, and stores it everywhere. False: the board's fault says why.
  constexpr bool in_one_pass() const {
    if (!link_.begin(N - 1, peer_at(), what_.mine, what_.what)) {
      return false;
    }
    rank_type const me = link_.on().rank;
    places<value, N> to{};
    for (rank_type r = 0; r != N; ++r) {
      memories const& m = r == me ? what_.mine : link_.where(r);
      to.to[r] = reinterpret_cast<value*>(m.write(memory::output, cut_.begin(me), sizeof(value)));
    }
    combine(me, to, std::make_index_sequence<N>{});
    bool good = g_.all(true);
    for (rank_type i = 0; link_.is_first() && i != N - 1; ++i) {
      link_.tell_sent(peer(i), 1, false);
    }
    for (rank_type i = 0; link_.is_first() && good && i != N - 1; ++i) {
      good = link_.wait_sent(peer(i), 1);  // then that peer does not read this rank's memory any more, too
    }
    return end(good);
  }

  /// Each rank combines all blocks for itself. In place, its peers read a copy of its input.
  /// @pre the first half of a group's scratch memory has room for that copy
  constexpr bool in_one_hop() const {
    if (is_in_place(what_.mine)) {
      for (std::uint32_t b = 0; b != N; ++b) {
        copy_bytes(g_, what_.mine.read(memory::input, cut_.begin(b), sizeof(contribution)), link_.scratch() + offset(b),
                   cut_.size(b) * sizeof(contribution));
      }
    }
    if (!g_.all(true) || !link_.begin(N - 1, peer_at(), what_.mine, what_.what)) {
      return false;
    }
    for (rank_type b = 0; b != N; ++b) {
      places<value> const to{
          {reinterpret_cast<value*>(what_.mine.write(memory::output, cut_.begin(b), sizeof(value)))}};
      combine(b, to, std::make_index_sequence<N>{});
    }
    bool good = g_.all(true);
    for (rank_type i = 0; link_.is_first() && i != N - 1; ++i) {
      link_.tell_taken(peer(i), 1);
    }
    for (rank_type i = 0; link_.is_first() && good && i != N - 1; ++i) {
      good = link_.wait_taken(peer(i), 1);
    }
    return end(good);
  }

 private:
  using contribution = contribution_t<R>;
  using value = typename R::value_type;

  /// One of the N - 1 others.
  [[nodiscard]] constexpr rank_type peer(rank_type i) const noexcept { return (link_.on().rank + 1 + i) % N; }
  [[nodiscard]] constexpr auto peer_at() const noexcept {
    return [this](std::uint32_t i) { return table_peer{.rank = peer(i), .sent = 1, .received = 1}; };
  }

  [[nodiscard]] static constexpr bool is_in_place(memories const& m) noexcept { return m.input == m.output; }
  /// Where this group's part of a block lies in the copy of an input.
  [[nodiscard]] constexpr std::size_t offset(std::uint32_t block) const noexcept {
    return layout_.place(block, cut_.begin(block)) * sizeof(contribution);
  }

  /// This group's part of a block, of all ranks.
  template <std::size_t M, std::size_t... I>
  constexpr void combine(rank_type block, places<value, M> const& to, std::index_sequence<I...>) const {
    for_each_element(g_, fold_of_all<R, N>{how_}, cut_.size(block), to,
                     input_of<M == 1>((block + N - static_cast<rank_type>(I)) % N, block)...);
  }
  template <bool FromSnapshot>
  [[nodiscard]] constexpr contribution const* input_of(rank_type r, rank_type block) const noexcept {
    memories const& m = r == link_.on().rank ? what_.mine : link_.where(r);
    bool const is_copied = FromSnapshot && is_in_place(m);
    std::byte const* const copied = r == link_.on().rank ? link_.scratch() : link_.scratch_of(r);
    return reinterpret_cast<contribution const*>(
        is_copied ? copied + offset(block) : m.read(memory::input, cut_.begin(block), sizeof(contribution)));
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
