// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// The three memories of an operation. They also say what a block holds, so no step needs to:
/// `input` the rank's own contribution as the user gave it, `work` accumulators, `output` finished
/// elements. When the user works in place and an accumulator is an element they are one memory.
enum class memory : std::uint8_t { input, work, output };

/// What a step does with the bytes that arrive.
enum class action : std::uint8_t {
  copy,        ///< store them
  fold_left,   ///< acc = arriving * local: the sender's ranks lie below the local ones
  fold_right,  ///< acc = local * arriving: they lie above
};

/// One end of a step: which peer, which memory, which blocks.
struct endpoint {
  rank_type peer = no_rank;                    ///< the other rank; no_rank: none, so this end is local or absent
  tutti::memory memory = tutti::memory::work;  ///< where the blocks are, or go
  block_range blocks{};                        ///< which blocks

  friend constexpr bool operator==(endpoint const&, endpoint const&) = default;
};

/// Which rank may touch the blocks that a step sends, once they have left.
enum class loan : std::uint8_t {
  none,        ///< the sender
  lent,        ///< the receiver, until it sends them back finished: the sender neither reads nor writes them
  given_back,  ///< the sender gives back what it was lent
};

/// One step of one rank: at most one send and one receive, both under way at the same time.
///
/// A fold reads its local operand from `local`: `input` the first time (the rank's own
/// contribution, which is lifted), `work` after that. It writes `receive.memory`: `work` to go on
/// accumulating, `output` when that was the last contribution - then the result is lowered.
/// `arrives` is the memory that the sender sends from, so that the receiver knows what it gets.
///
/// Most reductions end with the blocks that a rank has sent to another coming back from there. A schedule
/// says so with `loan`: a transport through memory then lets the receiver read and write them where
/// the sender has them, and no finished element is copied twice.
///
/// A step with neither peer is local: it copies `send` to `receive`; in a reducing operation it lifts what it takes
/// from `input`, and lowers what it puts into `output`.
struct step {
  endpoint send{};                       ///< what is sent, and to which rank
  endpoint receive{};                    ///< what arrives, and from which rank
  action how = action::copy;             ///< what becomes of what arrives
  memory local = memory::work;           ///< the memory of a fold's other operand
  memory arrives = memory::work;         ///< the memory that the sender sends from
  tutti::loan loan = tutti::loan::none;  ///< which rank may touch what is sent

  friend constexpr bool operator==(step const&, step const&) = default;

  /// Whether there is a peer to send to.
  [[nodiscard]] constexpr bool sends() const noexcept { return send.peer != no_rank; }
  /// Whether there is a peer to receive from.
  [[nodiscard]] constexpr bool receives() const noexcept { return receive.peer != no_rank; }
};

/// What is wrong with the memories of a step of a reducing operation; "" if nothing. Each memory holds after it what it
/// is for: what arrives is stored as it is, so a copy goes to the memory that it was sent from, and only a local step
/// finishes what it moves to `output`, or lifts what it moves from `input` to `work`.
[[nodiscard]] constexpr std::string_view misplacement(step const& s) noexcept {
  if (s.sends() && !s.receives()) {
    return "";
  }
  if (s.receive.memory == memory::input) {
    return "writes to its input";
  }
  if (s.receives() && s.how != action::copy) {
    return s.arrives == memory::output || s.local == memory::output ? "combines what is not to be combined" : "";
  }
  memory const from = s.receives() ? s.arrives : s.send.memory;
  bool const lifts_or_finishes = !s.receives() && (s.receive.memory == memory::output || from == memory::input);
  return s.receive.memory == from || lifts_or_finishes ? "" : "copies into a memory that holds something else";
}

/// A value that says which rank sends what to which, for any number of ranks. It owns no memory and does no I/O.
template <class T>
concept topology = std::copyable<T> && requires {
  { T::name } -> std::convertible_to<std::string_view>;
  /// Reductions combine in rank order, in all operations that it offers: needed by those that do not commute.
  { T::keeps_order } -> std::convertible_to<bool>;
  /// Only `input` is ever sent to be folded, no partial sums.
  { T::sends_raw_contributions } -> std::convertible_to<bool>;
};

/// A topology that offers operation `Op`: closed-form, random-access schedules.
///
/// Laws (test/laws/topology.hpp), for every n >= 1 and every root:
///   - the k-th send on an edge meets the k-th receive on it: as many blocks, the same memory named;
///   - it finishes, even if no send completes before its receive is reached;
///   - every rank ends with every contribution exactly once (and nothing else);
///   - in rank order if `combines_in_order`;
///   - it is right in place, where input, work and output are one memory;
///   - no write can overtake a reader, or the engine's check finds it;
///   - what is lent to a peer is touched by no other rank until the same peer gives it back, to `output`.
template <class T, class Op>
concept offers = topology<T> && requires(T const t, Op const op, rank_type n, rank_type me, std::uint32_t i) {
  { t.blocks(op, n) } -> std::same_as<std::uint32_t>;     // how many blocks the vector is cut into
  { t.steps(op, n, me) } -> std::same_as<std::uint32_t>;  // the length of rank me's schedule
  { t.at(op, n, me, i) } -> std::same_as<step>;           // its step i
};

/// A topology whose schedules need helpers: members numbered from n on that give nothing of their own and get nothing.
/// They are what the network does: a switch that sums, a group that multicasts. Each has a schedule like a rank, and
/// begins with the identity in its input (with nothing in operations that only move elements), so the verifier proves
/// it and the cost model prices it. The engine of a rank leaves a helper's schedule to the transport.
///
/// `without_helpers()` is the topology that is run where no transport, or no device, can do what a helper is asked for.
template <class T, class Op>
concept has_helpers = offers<T, Op> && requires(T const t, Op const op, rank_type n) {
  { t.helpers(op, n) } -> std::same_as<rank_type>;
  { t.without_helpers() } -> topology;
};

namespace detail {
/// What an operation runs by without helpers.
template <class Op, tutti::topology T>
[[nodiscard]] constexpr auto ranks_alone(T const& t) {
  if constexpr (has_helpers<T, Op>) {
    return t.without_helpers();
  } else {
    return t;
  }
}
template <class Op, class T>
using ranks_alone_t = decltype(ranks_alone<Op>(std::declval<T const&>()));
}  // namespace detail

/// The ranks and their helpers.
template <class Op, class T>
  requires offers<T, Op>
[[nodiscard]] constexpr rank_type members(T const& t, Op const& op, rank_type n) {
  if constexpr (has_helpers<T, Op>) {
    return n + t.helpers(op, n);
  } else {
    return n;
  }
}

/// A topology of which it is known only when the program runs whether an operation's reductions combine in rank
/// order, in a world of n ranks: one that is picked at run time.
template <class T, class Op>
concept tells_order = topology<T> && requires(T const t, rank_type n) {
  { t.template combines_in_order<Op>(n) } -> std::same_as<bool>;
};

/// Whether an operation's reductions combine in rank order, as the topology declares.
template <class Op, topology T>
[[nodiscard]] constexpr bool combines_in_order([[maybe_unused]] T const& t, [[maybe_unused]] rank_type n) {
  if constexpr (tells_order<T, Op>) {
    return t.template combines_in_order<Op>(n);
  } else {
    return T::keeps_order;
  }
}

/// What the ranks of an operation must agree upon besides the type of their topology: a hash of it, and how it
/// is called in errors.
struct topology_settings {
  std::uint32_t identity = 0;   ///< ranks with equal settings have equal ones
  char label[call::text] = {};  ///< what errors call them

  /// Sets the label to these words, as much as there is room for.
  constexpr void called(std::string_view words) noexcept {
    for (std::size_t i = 0; i + 1 < call::text; ++i) {
      label[i] = i < words.size() ? words[i] : '\0';
    }
  }
};

/// A topology that is made with arguments, of which `settings(n)` tells whether the ranks gave the same.
template <class T>
concept has_settings = topology<T> && requires(T const t, rank_type n) {
  { t.settings(n) } -> std::same_as<topology_settings>;
};

/// A topology of which ranks can tell whether all of them run the same: it has no state, so that its name says all,
/// or has settings, of which all that changes a schedule must be part. No operator is made over any other.
template <class T>
concept identifiable = topology<T> && (std::is_empty_v<T> || has_settings<T>);

/// What a topology is, name and settings, to those that may have any of several types.
template <identifiable T>
[[nodiscard]] constexpr topology_settings identity_of([[maybe_unused]] T const& t, [[maybe_unused]] rank_type n) {
  constexpr topology_settings named = [] {
    topology_settings s{.identity = hash(T::name)};
    s.called(T::name);
    return s;
  }();
  if constexpr (has_settings<T>) {
    topology_settings s = t.settings(n);
    s.identity = (s.identity ^ named.identity) * 16777619U;
    return s;
  } else {
    return named;
  }
}

/// How one operation is run: by which schedule, and in segments of at most `segment_bytes` bytes (0: in one).
template <class Topology>
struct choice {
  [[no_unique_address]] Topology topology;  ///< the schedule
  std::size_t segment_bytes = 0;            ///< the longest segment; 0: the vector in one
};

/// What an operation needs of the schedule that is picked for it, and what that may use.
struct demands {
  bool in_order = false;  ///< contributions are combined in rank order
  bool helped = false;    ///< it may have helpers: transport and reduction are such that they can do their part
};

/// A topology that picks, for every operation anew, the schedule and the segments that suit its size.
/// All ranks must pick alike; what was picked is part of the call.
template <class T, class Op>
concept chooses = offers<T, Op> && requires(T const t, Op const op, std::size_t bytes, demands needs) {
  requires offers<typename T::schedule, Op>;
  requires std::convertible_to<T const&, typename T::schedule>;
  { t.choose(op, bytes, needs) } -> std::same_as<choice<typename T::schedule>>;
};

/// The topology whose schedules the operations of a topology run by: its own, unless it picks others.
template <class T, class Op>
struct schedule_of {
  /// That topology.
  using type = T;
};
/// Of one that picks, what it picks from.
template <class T, class Op>
  requires chooses<T, Op>
struct schedule_of<T, Op> {
  /// That topology.
  using type = typename T::schedule;
};

}  // namespace tutti
