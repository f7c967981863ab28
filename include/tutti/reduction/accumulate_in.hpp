// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/rounded.hpp>
#include <tutti/detail/reduction/short_block.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0 {

/// A reduction of numbers in a narrow format with wide accumulators: a result is rounded once, for any number of ranks.
///
///     tutti::allreduce total{world, tutti::direct{}, tutti::accumulate_in<float, tutti::sum<tutti::half>>{}};
///
/// It needs a topology that sends raw contributions, such as `direct` or `star`, where an allreduce sends narrow
/// elements both ways. Over other topologies partial sums would travel wide and cost twice the bytes, so it does not
/// compile there. `sum<half>` compiles over all of them, and rounds after each combination.
///
/// Elements: half and bfloat16.
/// Bits: those of the wide reduction of the widened elements, rounded.
/// Cost: an element travels as itself, 2 bytes.
template <element Accumulator, reduction Narrow>
  requires detail::rounds<Narrow> && std::same_as<typename Narrow::wide_reduction::value_type, Accumulator>
class accumulate_in {
  using wide_reduction = typename Narrow::wide_reduction;

  // The name, such as "sum in float32".
  struct spelling {
    static constexpr std::string_view reduction_name = Narrow::name;
    static constexpr std::string_view separator = " in ";
    static constexpr std::string_view type = element_name<Accumulator>();

    constexpr spelling() {
      char* end = text;
      for (std::string_view const part : {reduction_name, separator, type}) {
        for (char const c : part) {
          *end++ = c;
        }
      }
    }

    char text[reduction_name.size() + separator.size() + type.size()]{};
  };
  static constexpr spelling full_name{};

 public:
  /// The type of an element of the result, and of a contribution unless there is a `contribution_type`.
  using value_type = typename Narrow::value_type;
  /// The type in which contributions are combined. Contributions and results travel in their own types.
  using accumulator_type = Accumulator;
  /// The reduction whose elements are rounded once.
  using narrow_reduction = Narrow;
  /// The name of the reduction in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name{full_name.text, sizeof(full_name.text)};
  /// True if combine(a, b) equals combine(b, a), which topologies that do not keep rank order demand; declared, not
  /// guessed.
  static constexpr bool commutative = Narrow::commutative;
  /// True if (a * b) * c is a * (b * c), bit by bit; declared, not guessed.
  static constexpr bool associative = wide_reduction::associative;
  /// True if combine(a, b) and combine(b, a) have the same bits once lowered, which saves half the kernels.
  static constexpr bool symmetric = tutti::detail::symmetric<wide_reduction>;
  /// True if a product is added to something, which compilers may round once instead of twice.
  static constexpr bool fuses = tutti::detail::fuses<wide_reduction>;
  /// True if only contributions may travel, and no partial sums.
  static constexpr bool needs_raw_contributions = true;

  constexpr accumulate_in()
    requires std::default_initializable<Narrow>
  = default;
  /// Takes the reduction, where it has arguments.
  constexpr explicit accumulate_in(Narrow narrow) : narrow_(std::move(narrow)) {}

  /// The accumulator e for which combine(e, a) and combine(a, e) are a.
  [[nodiscard]] constexpr Accumulator identity() const { return wide().identity(); }
  /// Makes an accumulator of a contribution.
  [[nodiscard]] constexpr Accumulator lift(value_type x) const { return x; }
  /// Combines two accumulators, a of lower ranks than b unless the reduction commutes.
  [[nodiscard]] constexpr Accumulator combine(Accumulator a, Accumulator b) const { return wide().combine(a, b); }
  /// Makes an element of the result of the accumulator of all n ranks' contributions.
  [[nodiscard]] constexpr value_type lower(Accumulator a, rank_type n) const { return value_type(wide().lower(a, n)); }

  /// The reduction that combines accumulators.
  [[nodiscard]] constexpr wide_reduction const& wide() const noexcept { return narrow_.wide(); }

 private:
  Narrow narrow_;
};

namespace detail {

/// A reduction that the kernels may run in stages: widen the elements of a block, combine, narrow the results.
template <class R>
concept accumulates_wide = requires(R const& r) {
  typename R::narrow_reduction;
  r.wide();
};

/// Converts a block to accumulators: widens elements, copies accumulators.
template <instruction_set Set, std::size_t N, class From, class Wide>
[[gnu::always_inline]] inline void raise_block(From const* source, Wide* target) {
  if constexpr (std::same_as<From, Wide>) {
    for (std::size_t i = 0; i < N; ++i) {
      target[i] = source[i];
    }
  } else {
    widen<Set, N>(source, target);
  }
}

/// Works on a cache line of accumulators at a time, with one loop for each stage (see rounded.hpp).
template <tutti::reduction R>
  requires accumulates_wide<R>
struct block_fold<R> {
  using wide = typename R::accumulator_type;
  static constexpr instruction_set widest = instruction_set::avx2;
  static constexpr std::size_t elements = 0;

  template <instruction_set Set, std::size_t N, class From>
  [[gnu::always_inline]] static void finish(R const& r, typename R::value_type* target, From const* source,
                                            rank_type ranks) {
    constexpr std::size_t part = N < 64 / sizeof(wide) ? N : 64 / sizeof(wide);
    for (std::size_t at = 0; at < N; at += part) {
      wide x[part];
      raise_block<Set, part>(source + at, x);
      for (std::size_t i = 0; i < part; ++i) {
        x[i] = r.wide().lower(x[i], ranks);
      }
      narrow<Set, part>(x, target + at);
    }
  }

  template <instruction_set Set, std::size_t N, bool ArrivingOnLeft, bool Finishes, class To, class Local,
            class Arriving>
  [[gnu::always_inline]] static void fold(R const& r, To* target, Local const* local, Arriving const* arriving,
                                          [[maybe_unused]] rank_type ranks) {
    constexpr std::size_t part = N < 64 / sizeof(wide) ? N : 64 / sizeof(wide);
    for (std::size_t at = 0; at < N; at += part) {
      wide x[part];
      wide y[part];
      raise_block<Set, part>(local + at, x);
      raise_block<Set, part>(arriving + at, y);
      for (std::size_t i = 0; i < part; ++i) {
        x[i] = ArrivingOnLeft ? r.wide().combine(y[i], x[i]) : r.wide().combine(x[i], y[i]);
      }
      if constexpr (!Finishes) {
        for (std::size_t i = 0; i < part; ++i) {
          target[at + i] = x[i];
        }
      } else {
        for (std::size_t i = 0; i < part; ++i) {
          x[i] = r.wide().lower(x[i], ranks);
        }
        narrow<Set, part>(x, target + at);
      }
    }
  }
};

}  // namespace detail

}  // namespace tutti
