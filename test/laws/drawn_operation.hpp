// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <laws/parts.hpp>
#include <tutti/reduction/location.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

namespace laws {

using tutti::operation_kind;

/// The form of an operation's schedule.
enum class way : std::uint8_t { selection, plan_of_selection, plan_of_hierarchical };

/// The parameters that all ranks share in one operation, drawn from dice that all throw alike.
struct drawn_operation {
  drawn_operation(dice& common, rank_type n, std::size_t k)
      : number(k),
        kind(kinds[common.draw_below(n == 1 ? kinds.size() - 1 : kinds.size())]),
        type(common.draw_below(7)),
        blocks(draw_blocks(common, n, draw_count(common, n))),
        count(blocks.count()),
        root(static_cast<rank_type>(common.draw_below(n))),
        shift(static_cast<rank_type>(n == 1 ? 0 : 1 + common.draw_below(n - 1))),
        segment(segments[common.draw_below(segments.size())]),
        in_place(common.one_in(2)),
        gaps(common.one_in(12)),
        gaps_in_input(common.one_in(2)),
        form(static_cast<way>(common.draw_below(3))),
        per_host(static_cast<rank_type>(1 + common.draw_below(n))),
        hosts(draw_hosts(common, n)),
        selection(tutti::all_schedule_kinds[common.draw_below(tutti::all_schedule_kinds.size())], &hosts) {
    if (segment != 0 && count / segment > 10) {
      segment = 0;
    }
    if (kind == operation_kind::alltoall && !blocks.is_equal_cut() &&
        selection.kind() == tutti::schedule_kind::doubling) {
      selection = tutti::selection();  // `doubling` forwards blocks
    }
  }
  drawn_operation(drawn_operation const&) = delete;  // `selection` refers to `hosts`
  drawn_operation& operator=(drawn_operation const&) = delete;

  [[nodiscard]] std::string text() const {
    constexpr std::string_view ways[] = {"", ", planned", ", planned or hierarchical"};
    return "operation " + std::to_string(number) + ", " + std::string(name(kind)) + " of type " + std::to_string(type) +
           " over " + std::string(name(selection.kind())) + std::string(ways[static_cast<std::size_t>(form)]) +
           ", count " + std::to_string(count) + (blocks.is_equal_cut() ? "" : " in a partition") + ", segment " +
           std::to_string(segment) + ", root " + std::to_string(root) + (in_place ? ", in place" : ", out of place") +
           (gaps ? ", with gaps" : "");
  }

  std::size_t number;
  operation_kind kind;
  std::size_t type;         ///< index of the type of the elements and, if there is one, of the reduction
  tutti::partition blocks;  ///< lengths, for operations whose blocks belong to ranks
  std::size_t count;
  rank_type root;
  rank_type shift;  ///< rank r sends to r + shift
  std::size_t segment;
  bool in_place;
  bool gaps;  ///< a buffer has gaps, so every rank refuses the operation
  bool gaps_in_input;
  way form;
  rank_type per_host;
  tutti::host_map hosts;
  tutti::selection selection;

 private:
  static constexpr std::array kinds{operation_kind::allreduce, operation_kind::reduce,   operation_kind::reduce_scatter,
                                    operation_kind::broadcast, operation_kind::gather,   operation_kind::scatter,
                                    operation_kind::allgather, operation_kind::alltoall, operation_kind::scan,
                                    operation_kind::exscan,    operation_kind::barrier,  operation_kind::transfer};
  static constexpr std::array<std::size_t, 4> segments{0, 96, 1000, 8192};

  /// Draws zero, fewer than ranks, as many as an array has, many, or, rarely, more than transports have chunks for.
  [[nodiscard]] static std::size_t draw_count(dice& common, rank_type n) {
    constexpr std::size_t array = room<char>::margin;
    switch (common.draw_below(6)) {
      case 0:
        return common.draw_below(4 * n);
      case 1:
        return array;
      case 2:
        return array * n;
      default:
        return common.draw_below(common.one_in(12) ? 30'000 : 1500);
    }
  }

  /// Draws equal blocks, or lengths of any ratio, some zero, whose sum is at most `count`.
  [[nodiscard]] static tutti::partition draw_blocks(dice& common, rank_type n, std::size_t count) {
    if (common.one_in(2)) {
      return equal_blocks(count, n);
    }
    std::vector<std::size_t> block_lengths(n);
    for (std::size_t& length : block_lengths) {
      length = common.one_in(3) ? 0 : common.draw_below(count + 1);
      count -= length;
    }
    std::swap(block_lengths.front(), block_lengths[common.draw_below(n)]);
    return tutti::partition(block_lengths);
  }

  /// Draws hosts of any sizes, with their ranks anywhere.
  [[nodiscard]] static tutti::host_map draw_hosts(dice& common, rank_type n) {
    std::vector<std::size_t> host_of(n);
    std::size_t const hosts = 1 + common.draw_below(n);
    for (auto& host : host_of) {
      host = common.draw_below(hosts);
    }
    if (common.one_in(2)) {
      std::sort(host_of.begin(), host_of.end());
    }
    return tutti::host_map(host_of);
  }
};

/// Element i of the contribution of rank r to operation k. Results are exact in any order and grouping.
template <class T>
[[nodiscard]] T drawn_element(rank_type r, std::size_t i, std::size_t k) {
  auto const word = static_cast<std::uint32_t>((i * 7 + r * 13 + k * 29 + i * (r + 3) % 11) * 2654435761U) >> 8;
  if constexpr (tutti::complex_number<T>) {
    // A unit times a power of 2 + i: no product has a zero part, whose sign would depend on the grouping.
    constexpr int units[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    constexpr int powers[2][2] = {{2, 1}, {3, 4}};
    auto const& u = units[word % 4];
    auto const& p = powers[word / 4 % 2];
    using part = typename T::value_type;
    return T(static_cast<part>(u[0] * p[0] - u[1] * p[1]), static_cast<part>(u[0] * p[1] + u[1] * p[0]));
  } else if constexpr (std::same_as<T, tutti::indexed_value<float>>) {
    return {static_cast<float>(word % 8), word / 8 % 16};
  } else {
    return contribution<T>(r, i, k);
  }
}

template <class T>
[[nodiscard]] std::vector<T> drawn_vector(rank_type r, std::size_t count, std::size_t k) {
  std::vector<T> v(count);
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = drawn_element<T>(r, i, k);
  }
  return v;
}

/// The sequential answer for the first n ranks, in rank order.
template <class R>
[[nodiscard]] std::vector<typename R::value_type> drawn_answer(R const& reduction, rank_type n, std::size_t count,
                                                               std::size_t k) {
  using T = typename R::value_type;
  std::vector<T> v(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto sum = reduction.lift(drawn_element<T>(0, i, k));
    for (rank_type r = 1; r < n; ++r) {
      sum = reduction.combine(sum, reduction.lift(drawn_element<T>(r, i, k)));
    }
    v[i] = reduction.lower(sum, n);
  }
  return v;
}

}  // namespace laws
