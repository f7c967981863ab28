// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/fold.hpp>
#include <tutti/expects.hpp>
#include <tutti/message.hpp>
#include <tutti/operation.hpp>
#include <tutti/reduction/concept.hpp>
#include <tutti/topology/concept.hpp>

#include <concepts>
#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace tutti::detail {

/// memcpy in pieces that leave what they have copied in the caches. What is long memcpy may move past them, which takes
/// twice as long where the next level of cache, or the next reader, would have had it: 16 MiB 0.8 ms, and 0.4 like
/// this.
inline void copy_in_pieces(std::byte const* from, std::byte* to, std::size_t bytes) noexcept {
  constexpr std::size_t piece = std::size_t{256} << 10;
  while (bytes != 0) {
    std::size_t const now = bytes < piece ? bytes : piece;
    std::memcpy(to, from, now);
    from += now;
    to += now;
    bytes -= now;
  }
}

/// What an operation does with the elements it receives: combine them by a reduction.
template <reduction R>
struct combining {
  using contribution_type = contribution_t<R>;
  using value_type = typename R::value_type;
  using accumulator_type = typename R::accumulator_type;

  [[no_unique_address]] R reduction;

  static constexpr bool combines = true;
  /// Whether contributions must be combined in rank order.
  static constexpr bool in_order = !R::commutative;
  /// Whether `work` may be the user's own output.
  static constexpr bool work_fits_output = accumulates_in_elements<R>;
  /// Whether contributions, accumulators and results differ as numbers.
  static constexpr bool memories_differ = lifts<R> || !lowers_nan_only<R> || !work_fits_output;

  [[nodiscard]] static constexpr std::size_t size_of(space memory) noexcept {
    return memory == space::input  ? sizeof(contribution_type)
           : memory == space::work ? sizeof(accumulator_type)
                                   : sizeof(value_type);
  }

  /// Messages are not cut inside one of these.
  [[nodiscard]] static constexpr std::size_t granule(std::size_t size) noexcept { return size; }

  /// @throws precondition_error unless an accumulator has room for a contribution of every rank
  static void expect_room(rank_type ranks) {
    if constexpr (most_contributions<R> != no_rank) {
      if (ranks > most_contributions<R>) {
        std::string what(R::name);
        what += ": an accumulator holds at most " + std::to_string(most_contributions<R>) +
                " contributions, and there are " + std::to_string(ranks) + " ranks; use it on fewer ranks";
        throw precondition_error(what.c_str(), std::source_location::current());
      }
    }
  }

  /// What ranks must have in common besides the names of types.
  [[nodiscard]] static std::uint32_t identity() { return hash(spelling_of<R>()); }

  /// Combines `n` arriving elements or accumulators with the local ones.
  void fold(step const& st, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n,
            rank_type ranks) const {
    tutti::detail::fold(reduction,
                        fold_kind{.local_is_element = st.local == space::input,
                                  .arriving_is_element = st.arrives == space::input,
                                  .arriving_on_left = st.how == action::fold_left,
                                  .finishes = st.receive.memory == space::output},
                        local, arriving, result, n, ranks);
  }

  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const noexcept {
    if (bytes == sizeof(value_type)) {
      std::memcpy(to, from, sizeof(value_type));  // one element: no call
    } else {
      copy_in_pieces(from, to, bytes);
    }
  }

  /// A step of one rank alone: contributions and accumulators that reach the output are finished.
  void local(step const& st, std::byte const* from, std::byte* to, std::size_t n, rank_type ranks) const {
    if (st.receive.memory == space::output && st.send.memory != space::output) {
      tutti::detail::finish(reduction, st.send.memory == space::input, from, to, n, ranks);
    } else if (from != to) {
      std::memcpy(to, from, n * size_of(st.send.memory));
    }
  }
};

/// What the engine needs to know of a reduction when it is compiled: it is compiled once for all that are alike in
/// this.
struct combining_shape {
  std::size_t contribution_bytes;
  std::size_t accumulator_bytes;
  std::size_t value_bytes;
  bool in_order;
  bool work_fits_output;
  bool memories_differ;

  template <reduction R>
  [[nodiscard]] static constexpr combining_shape of() noexcept {
    using as_it_is = combining<R>;
    return {.contribution_bytes = as_it_is::size_of(space::input),
            .accumulator_bytes = as_it_is::size_of(space::work),
            .value_bytes = as_it_is::size_of(space::output),
            .in_order = as_it_is::in_order,
            .work_fits_output = as_it_is::work_fits_output,
            .memories_differ = as_it_is::memories_differ};
  }
};

/// The same as `combining`, of a reduction without state that is known when the program runs. A message is combined in
/// at least one call anyway: that it goes through a pointer costs nothing that can be measured.
template <combining_shape Shape>
struct combining_alike {
  struct table {
    void (*fold)(step const&, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n,
                 rank_type ranks);
    void (*local)(step const&, std::byte const* from, std::byte* to, std::size_t n, rank_type ranks);
    void (*expect_room)(rank_type ranks);
    std::uint32_t (*identity)();
  };
  table const* reduction;

  static constexpr bool combines = true;
  static constexpr bool in_order = Shape.in_order;
  static constexpr bool work_fits_output = Shape.work_fits_output;
  static constexpr bool memories_differ = Shape.memories_differ;

  [[nodiscard]] static constexpr std::size_t size_of(space memory) noexcept {
    return memory == space::input  ? Shape.contribution_bytes
           : memory == space::work ? Shape.accumulator_bytes
                                   : Shape.value_bytes;
  }
  [[nodiscard]] static constexpr std::size_t granule(std::size_t size) noexcept { return size; }
  void expect_room(rank_type ranks) const { reduction->expect_room(ranks); }
  [[nodiscard]] std::uint32_t identity() const { return reduction->identity(); }
  void fold(step const& st, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n,
            rank_type ranks) const {
    reduction->fold(st, local, arriving, result, n, ranks);
  }
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const noexcept {
    if (bytes == Shape.value_bytes) {
      std::memcpy(to, from, Shape.value_bytes);  // one element: no call
    } else {
      copy_in_pieces(from, to, bytes);
    }
  }
  void local(step const& st, std::byte const* from, std::byte* to, std::size_t n, rank_type ranks) const {
    reduction->local(st, from, to, n, ranks);
  }
};

/// The reduction R behind pointers.
template <reduction R>
inline constexpr typename combining_alike<combining_shape::of<R>()>::table combining_table{
    .fold = [](step const& st, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n,
               rank_type ranks) { combining<R>{R{}}.fold(st, local, arriving, result, n, ranks); },
    .local = [](step const& st, std::byte const* from, std::byte* to, std::size_t n,
                rank_type ranks) { combining<R>{R{}}.local(st, from, to, n, ranks); },
    .expect_room = [](rank_type ranks) { combining<R>::expect_room(ranks); },
    .identity = [] { return combining<R>::identity(); }};

/// What an operator that combines by `reduction` gives to the engine.
template <reduction R>
[[nodiscard]] constexpr auto payload_for(R const& reduction) {
  if constexpr (std::is_empty_v<R> && std::default_initializable<R>) {
    return combining_alike<combining_shape::of<R>()>{&combining_table<R>};
  } else {
    return combining<R>{reduction};
  }
}
template <reduction R>
using payload_of = decltype(payload_for(std::declval<R const&>()));

/// Moves elements of so many bytes as they are.
struct moving {
  std::size_t element_bytes;

  static constexpr bool combines = false;
  static constexpr bool in_order = false;
  static constexpr bool work_fits_output = true;
  static constexpr bool memories_differ = false;

  [[nodiscard]] constexpr std::size_t size_of(space) const noexcept { return element_bytes; }
  [[nodiscard]] static constexpr std::size_t granule(std::size_t) noexcept { return 1; }

  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const noexcept { copy_in_pieces(from, to, bytes); }

  void local(step const&, std::byte const* from, std::byte* to, std::size_t n, rank_type) const noexcept {
    if (from != to) {
      std::memcpy(to, from, n * element_bytes);
    }
  }
};

}  // namespace tutti::detail
