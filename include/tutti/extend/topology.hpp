// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// The three memories of an operation. A memory also says what its blocks hold, so steps need not: `input` the rank's
/// own contribution as the user gave it, `work` accumulators (elements in transit, if the operation only moves them),
/// `output` finished elements. In place, with accumulators that are elements, the three are one memory.
enum class memory : std::uint8_t { input, work, output };

/// The action of a step on the bytes that arrive.
enum class action : std::uint8_t {
  copy,        ///< stores them
  fold_left,   ///< acc = arriving * local: the ranks that the sender has combined are below those of the local operand
  fold_right,  ///< acc = local * arriving: the ranks that the sender has combined are above those of the local operand
};

/// One end of a step: a peer, a memory and blocks.
struct endpoint {
  rank_type peer = no_rank;                    ///< the other rank; no_rank: the step is local, or has no such end
  tutti::memory memory = tutti::memory::work;  ///< the memory of the blocks
  block_range blocks{};                        ///< the blocks

  friend constexpr bool operator==(endpoint const&, endpoint const&) = default;
};

/// A loan of blocks, which a schedule marks on two steps that send: on the lender's, and on the borrower's that sends
/// the blocks back. Steps that only receive have no mark.
enum class loan : std::uint8_t {
  none,       ///< the blocks stay with the sender
  lend,       ///< the receiver sends them back finished; until then the sender neither reads nor writes them
  give_back,  ///< returns the finished blocks to the rank that lent them; the sender may still read its own copy
};

/// One step of one rank: at most one send and one receive, both under way at the same time.
///
/// A fold combines the arriving elements with its local operand, which it reads from `local_memory`: `input` the first
/// time (the rank's own contribution, which is lifted), `work` after that. It writes `receive.memory`: `work` to
/// accumulate further, `output` for the last contribution, whose result is lowered. `sender_memory` is the memory from
/// which the sender sends, so that the receiver knows the type of the elements; it lifts those from `input`.
///
/// The `input` of an in-network aggregator holds the identity, an accumulator, and is not lifted.
///
/// In most reductions, blocks that a rank has sent come back from the same peer, finished. A schedule declares this by
/// `loan`: through memory, the receiver then reads the blocks where they are, and writes the result into the lender's
/// `output`, so no finished element is copied twice. Loans are optional: without them the same messages are copied.
///
/// A step without a peer is local: it copies `send` to `receive`; in a reducing operation it lifts elements from
/// `input`, and lowers elements to `output`.
struct step {
  endpoint send{};                             ///< blocks to send, and their receiver
  endpoint receive{};                          ///< blocks to receive, and their sender
  tutti::action action = tutti::action::copy;  ///< action on the blocks that arrive
  memory local_memory = memory::work;          ///< memory of a fold's local operand
  memory sender_memory = memory::work;         ///< memory from which the sender sends
  tutti::loan loan = tutti::loan::none;        ///< loan of the sent blocks, if any

  friend constexpr bool operator==(step const&, step const&) = default;

  /// True if there is a peer to send to.
  [[nodiscard]] constexpr bool sends() const noexcept { return send.peer != no_rank; }
  /// True if there is a peer to receive from.
  [[nodiscard]] constexpr bool receives() const noexcept { return receive.peer != no_rank; }
};

/// The violation of the rules of memories by a step of a reducing operation; "" if none. Arriving bytes are stored
/// unchanged, so a copy goes to the memory that it was sent from; only a local step lifts elements from `input` to
/// `work`, or finishes elements on their way to `output`.
[[nodiscard]] constexpr std::string_view misplacement(step const& s) noexcept {
  if (s.sends() && !s.receives()) {
    return "";
  }
  if (s.receive.memory == memory::input) {
    return "writes to its input";
  }
  if (s.receives() && s.action != action::copy) {
    return s.sender_memory == memory::output || s.local_memory == memory::output ? "combines what is not to be combined"
                                                                                 : "";
  }
  memory const source = s.receives() ? s.sender_memory : s.send.memory;
  bool const lifts_or_finishes = !s.receives() && (s.receive.memory == memory::output || source == memory::input);
  return s.receive.memory == source || lifts_or_finishes ? "" : "copies into a memory that holds something else";
}

/// A communication pattern: which rank sends which blocks to which rank, for any number of ranks. A value that owns no
/// memory and does no I/O.
///
/// In the costs of topologies, n is the number of ranks, L the latency of a message, G the time per byte, and S the
/// bytes of the vector. A long vector is cut into segments: the whole schedule runs once for each, and cuts it into
/// blocks.
///
/// A topology may offer a predicate `forwards_each_block_once()`, true if no rank sends a block of an allgather or
/// reduce_scatter to two others, as in a ring. Then a partition with one long block is cut into segments.
template <class T>
concept topology = std::copyable<T> && requires {
  { T::name } -> std::convertible_to<std::string_view>;
  /// True if all offered reductions combine in rank order: x0 * x1 * ... * x(n-1), in any grouping. Reductions that do
  /// not commute need it.
  { T::keeps_rank_order } -> std::convertible_to<bool>;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  { T::sends_raw_contributions } -> std::convertible_to<bool>;
};

/// A topology that offers operation `Op`, by closed-form, random-access schedules.
///
/// Laws (test/laws/topology.hpp), for every n >= 1 and every root:
///   - the k-th send on an edge matches the k-th receive on it, in number of blocks and in memory;
///   - it finishes, even if no send completes before its receive is reached;
///   - every rank that gets a result ends with exactly that; in a reduction it has each contribution once;
///   - contributions are combined in rank order if `combines_in_rank_order`;
///   - it is correct in place, where input, work and output are one memory, unless it is an alltoall;
///   - no rank writes a block while a peer may still read it in place (a write-after-read hazard); otherwise
///     `verdict::has_no_write_after_read` is false, and the engine waits for readers before it writes;
///   - a block that is lent to a peer is touched by no other rank until that peer gives it back, to `output`.
template <class T, class Op>
concept offers = topology<T> && requires(T const t, Op const op, rank_type n, rank_type me, std::uint32_t i) {
  { t.blocks(op, n) } -> std::same_as<std::uint32_t>;     // number of blocks of the vector
  { t.steps(op, n, me) } -> std::same_as<std::uint32_t>;  // length of rank me's schedule
  { t.at(op, n, me, i) } -> std::same_as<step>;           // step i of rank me
};

/// A topology that uses in-network aggregators (`aggregators`): a switch that sums, a group that multicasts. They are
/// extra members n, n+1, ...; they contribute no data and receive no result. An aggregator has a schedule like a rank,
/// and begins with the identity in its input (with nothing in operations that only move elements), so the verifier
/// proves it and the cost model prices it. The engine of a rank leaves an aggregator's schedule to the transport.
///
/// `without_aggregators()` is the topology to run if no transport, or no device, can do the aggregator's part.
template <class T, class Op>
concept has_aggregators = offers<T, Op> && requires(T const t, Op const op, rank_type n) {
  { t.aggregators(op, n) } -> std::same_as<rank_type>;
  { t.without_aggregators() } -> topology;
};

namespace detail {
/// The topology of an operation without in-network aggregators.
template <class Op, tutti::topology T>
[[nodiscard]] constexpr auto ranks_alone(T const& t) {
  if constexpr (has_aggregators<T, Op>) {
    return t.without_aggregators();
  } else {
    return t;
  }
}
template <class Op, class T>
using ranks_alone_t = decltype(ranks_alone<Op>(std::declval<T const&>()));
}  // namespace detail

/// The number of ranks and in-network aggregators.
template <class Op, class T>
  requires offers<T, Op>
[[nodiscard]] constexpr rank_type members(T const& t, Op const& op, rank_type n) {
  if constexpr (has_aggregators<T, Op>) {
    return n + t.aggregators(op, n);
  } else {
    return n;
  }
}

/// A topology, such as one picked at run time, that tells only at run time if an operation's reductions combine in
/// rank order, in a world of n ranks. Its `keeps_rank_order` is false.
template <class T, class Op>
concept tells_rank_order = topology<T> && requires(T const t, rank_type n) {
  { t.template combines_in_rank_order<Op>(n) } -> std::same_as<bool>;
};

/// True if an operation's reductions combine in rank order, as the topology declares.
template <class Op, topology T>
[[nodiscard]] constexpr bool combines_in_rank_order([[maybe_unused]] T const& t, [[maybe_unused]] rank_type n) {
  if constexpr (tells_rank_order<T, Op>) {
    return t.template combines_in_rank_order<Op>(n);
  } else {
    return T::keeps_rank_order;
  }
}

/// The identity of a topology beside its type, on which the ranks of an operation must agree: a hash, and a label for
/// errors.
struct topology_settings {
  std::uint32_t identity = 0;   ///< hash, equal for equal settings
  char label[call::text] = {};  ///< name in errors

  /// Sets the label, cut to its capacity.
  constexpr void set_label(std::string_view words) noexcept {
    for (std::size_t i = 0; i + 1 < call::text; ++i) {
      label[i] = i < words.size() ? words[i] : '\0';
    }
  }
};

/// A topology constructed with arguments. `settings(n)` tells if the ranks gave the same arguments.
template <class T>
concept has_settings = topology<T> && requires(T const t, rank_type n) {
  { t.settings(n) } -> std::same_as<topology_settings>;
};

/// A topology that ranks can compare: it has no state, so its name identifies it, or it has settings, which must cover
/// all that changes a schedule. Operators refuse any other topology.
template <class T>
concept identifiable = topology<T> && (std::is_empty_v<T> || has_settings<T>);

/// The name and settings of a topology as one value, for comparison with topologies of other types.
template <identifiable T>
[[nodiscard]] constexpr topology_settings identity_of([[maybe_unused]] T const& t, [[maybe_unused]] rank_type n) {
  constexpr topology_settings name_settings = [] {
    topology_settings s{.identity = hash(T::name)};
    s.set_label(T::name);
    return s;
  }();
  if constexpr (has_settings<T>) {
    topology_settings s = t.settings(n);
    s.identity = (s.identity ^ name_settings.identity) * 16777619U;
    return s;
  } else {
    return name_settings;
  }
}

/// The execution of one operation: a schedule and a segment size.
template <class Topology>
struct schedule_choice {
  [[no_unique_address]] Topology topology;  ///< the schedule
  /// The limit for a segment in bytes; 0: the whole vector in one, unless it has a long block, see
  /// operator_base::segment.
  std::size_t segment_bytes = 0;
};

/// The demands of an operation on the schedule that is picked for it, and its permissions.
struct schedule_requirements {
  bool in_rank_order = false;  ///< contributions must be combined in rank order
  bool may_aggregate = false;  ///< in-network aggregators may be used: transport and reduction allow it
  /// partition::share_class of the blocks; 0: their lengths are about equal. In an alltoall, any value but 0 means that
  /// each pair of ranks may have a length of its own.
  std::uint32_t share_class = 0;
};

/// A topology that picks, for every operation, the schedule and the segment size that suit its length. All ranks must
/// pick alike; the choice is part of the call.
template <class T, class Op>
concept chooses_schedule =
    offers<T, Op> && requires(T const t, Op const op, std::size_t bytes, schedule_requirements needs) {
      requires offers<typename T::schedule, Op>;
      requires std::convertible_to<T const&, typename T::schedule>;
      { t.choose(op, bytes, needs) } -> std::same_as<schedule_choice<typename T::schedule>>;
    };

/// The topology whose schedules the operations of T run: T itself, or the schedules that it picks.
template <class T, class Op>
struct schedule_of {
  /// T itself.
  using type = T;
};
/// The schedules that T picks.
template <class T, class Op>
  requires chooses_schedule<T, Op>
struct schedule_of<T, Op> {
  /// The type of the picked schedules.
  using type = typename T::schedule;
};

}  // namespace tutti
