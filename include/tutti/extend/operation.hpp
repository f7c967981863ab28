// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <compare>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// The operation of a call.
enum class operation_kind : std::uint8_t {
  none,
  allreduce,
  reduce,
  broadcast,
  reduce_scatter,
  allgather,
  gather,
  scatter,
  alltoall,
  scan,
  exscan,
  barrier,
  transfer,
  split
};

/// The word for an operation in messages.
[[nodiscard]] constexpr std::string_view name(operation_kind kind) noexcept {
  constexpr std::string_view names[] = {"nothing",   "allreduce", "reduce",    "broadcast", "reduce_scatter",
                                        "allgather", "gather",    "scatter",   "alltoall",  "scan",
                                        "exscan",    "barrier",   "send/recv", "split"};
  return names[static_cast<std::size_t>(kind)];
}

/// True if the operation is a reduction: arriving elements are combined, not only moved.
[[nodiscard]] constexpr bool combines(operation_kind kind) noexcept {
  return kind == operation_kind::allreduce || kind == operation_kind::reduce ||
         kind == operation_kind::reduce_scatter || kind == operation_kind::scan || kind == operation_kind::exscan;
}

/// The tags of operations. A topology offers an operation by overloading on its tag; the operator templates of these
/// names are one namespace up.
///
/// Blocks. `allreduce`, `reduce`, `broadcast`, `scan` and `exscan` work on one vector, which the topology cuts into any
/// number of blocks. In the others block `r` belongs to rank `r`, so there are n of them: the vector of reduce_scatter,
/// the result of allgather and gather, the source of scatter; in alltoall, input block `j` goes to rank `j`, and output
/// block `i` comes from rank `i`.
namespace op {

/// Every rank gets the combination of all vectors.
struct allreduce {
  friend constexpr bool operator==(allreduce, allreduce) noexcept = default;
};
/// The root gets the combination of all vectors.
struct reduce {
  rank_type root;  ///< the rank that gets the result
  friend constexpr bool operator==(reduce, reduce) noexcept = default;
};
/// Every rank gets the root's vector.
struct broadcast {
  rank_type root;  ///< the rank whose vector is sent
  friend constexpr bool operator==(broadcast, broadcast) noexcept = default;
};
/// Rank r gets block r of the combination.
struct reduce_scatter {
  friend constexpr bool operator==(reduce_scatter, reduce_scatter) noexcept = default;
};
/// Every rank gets the blocks of all ranks.
struct allgather {
  friend constexpr bool operator==(allgather, allgather) noexcept = default;
};
/// The root gets the blocks of all ranks.
struct gather {
  rank_type root;  ///< the rank that gets the result
  friend constexpr bool operator==(gather, gather) noexcept = default;
};
/// Rank r gets block r of the root's vector.
struct scatter {
  rank_type root;  ///< the rank whose vector is sent
  friend constexpr bool operator==(scatter, scatter) noexcept = default;
};
/// Every rank sends each rank a block.
struct alltoall {
  friend constexpr bool operator==(alltoall, alltoall) noexcept = default;
};
/// Rank r gets the combination of the vectors of ranks 0 to r.
struct scan {
  friend constexpr bool operator==(scan, scan) noexcept = default;
};
/// Rank r gets the combination of the vectors of ranks 0 to r - 1; rank 0 gets nothing.
struct exscan {
  friend constexpr bool operator==(exscan, exscan) noexcept = default;
};

/// One message from one rank to another, by `send` and `recv`.
struct transfer {
  rank_type sender;    ///< the rank that sends
  rank_type receiver;  ///< the rank that receives
  friend constexpr bool operator==(transfer, transfer) noexcept = default;
};

}  // namespace op

/// True if block r belongs to rank r. Segments are then parts of blocks.
template <class Op>
inline constexpr bool blocks_have_owners = false;
template <>
inline constexpr bool blocks_have_owners<op::reduce_scatter> = true;
template <>
inline constexpr bool blocks_have_owners<op::allgather> = true;
template <>
inline constexpr bool blocks_have_owners<op::gather> = true;
template <>
inline constexpr bool blocks_have_owners<op::scatter> = true;
template <>
inline constexpr bool blocks_have_owners<op::alltoall> = true;

/// True if a partition, the same on all ranks, may give the blocks any lengths.
template <class Op>
inline constexpr bool takes_partition = blocks_have_owners<Op>;
template <>
inline constexpr bool takes_partition<op::alltoall> = false;

/// The number of contributions in the result of rank `me` of n, in an operation that reduces: those of the first ranks.
template <class Op>
[[nodiscard]] constexpr rank_type contributions(rank_type n, rank_type me) noexcept {
  return std::same_as<Op, op::scan> ? me + 1 : std::same_as<Op, op::exscan> ? me : n;
}

/// The identity of an operation, as a rank calls it. All ranks must make the same call: transports compare
/// fingerprints on the first message of every edge, and report both calls if they differ.
struct call {
  static constexpr std::size_t text = 13;          ///< size of a name with its zero: reports cut names to 12 characters
  static constexpr std::size_t element_text = 11;  ///< size of the name of the element type, likewise

  std::uint64_t count = 0;       ///< elements in the vector (of send/recv: in the message)
  std::uint32_t root = no_rank;  ///< no_rank: the operation has none
  std::uint32_t identity = 0;    ///< hash of the full names of element type, reduction, topology and settings
  std::uint16_t partition = 0;   ///< short hash of the partition, which `identity` holds, too; 0: an equal cut
  operation_kind kind = operation_kind::none;  ///< operation
  char element[element_text] = {};             ///< element type
  char reduction[text] = {};                   ///< reduction; empty if none
  char topology[text] = {};                    ///< topology

  /// The hash that travels with each first message; equal for equal calls.
  [[nodiscard]] constexpr std::uint32_t fingerprint() const noexcept {
    std::uint64_t h = (count + 1) * 0x9e3779b97f4a7c15U;
    h ^= (std::uint64_t{root} << 32) | identity;
    h *= 0xbf58476d1ce4e5b9U;
    h ^= h >> 29;
    h += static_cast<std::uint64_t>(kind) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }
};

/// A call and the label of its operator, which only this rank knows: no other rank compares or reports it.
struct labelled_call : call {
  static constexpr std::size_t label_text = 32;  ///< size of a label with its zero: longer ones are cut

  constexpr labelled_call() = default;
  /// Constructs the call without a label.
  constexpr labelled_call(call const& c) noexcept : call(c) {}

  char const* label = "";  ///< owned by the operation or the flight recorder that holds this call; empty if none
};

/// The number of an operation in its communicator, equal on every rank that takes part. Collective operations are
/// counted together; messages are counted apart, for each ordered pair of ranks.
struct operation_number {
  std::uint64_t sequence = 0;    ///< the running number
  rank_type sender = no_rank;    ///< the sender of a message; no_rank: a collective operation
  rank_type receiver = no_rank;  ///< the receiver of a message

  /// True for `send` and `recv`.
  [[nodiscard]] constexpr bool is_message() const noexcept { return sender != no_rank; }
  friend constexpr auto operator<=>(operation_number const&, operation_number const&) = default;
};

/// The FNV-1a hash of a text, used for names.
[[nodiscard]] constexpr std::uint32_t hash(std::string_view text, std::uint32_t seed = 2166136261U) noexcept {
  for (char const c : text) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return seed;
}

namespace detail {

/// The hash of the names of an element type and a reduction, as a part of a call's identity; 0 if both are empty.
[[nodiscard]] constexpr std::uint32_t names_identity(std::string_view element, std::string_view reduction) noexcept {
  return hash(reduction, hash("|", hash(element))) ^ hash("|");
}

}  // namespace detail

/// The call of an operator whose count and root are still open.
[[nodiscard]] constexpr call make_call(operation_kind kind, std::string_view element, std::string_view reduction,
                                       std::string_view topology) noexcept {
  call c;
  c.kind = kind;
  c.identity = detail::names_identity(element, reduction) ^ hash(topology) ^ hash({});  // an empty name adds 0
  auto const keep = []<std::size_t Size>(char(&destination)[Size], std::string_view source) {
    for (std::size_t i = 0; i < source.size() && i + 1 < Size; ++i) {
      destination[i] = source[i];
    }
  };
  keep(c.element, element);
  keep(c.reduction, reduction);
  keep(c.topology, topology);
  return c;
}

namespace detail {

/// Appends a call in words to a text, as `describe` words it.
[[gnu::cold]] TUTTI_DECL void append_call(std::string& text, labelled_call const& c, operation_number const& n = {});

}  // namespace detail

/// The call in words: "allreduce(sum float32 x 1000, ring)", "broadcast(float32 x 10, root 3, binary_tree)"; with a
/// partition, "allgather(float32 x 10 in partition 9f3a, ring)"; for a message of a known pair, "send/recv(float32 x
/// 10, from rank 0 to rank 1)"; with a label, "allreduce 'layer 3' (sum float32 x 1000, ring)".
[[nodiscard]] TUTTI_DECL std::string describe(labelled_call const& c, operation_number const& n = {});

/// The operations on elements that an in-network device may perform. The values travel in packets, so they never
/// change.
enum class network_operation : std::uint8_t {
  none = 0,
  copy = 1,
  sum_float32 = 2,
  max_float32 = 3,
  saturating_sum_int32 = 4,
  update = 5,  ///< the sum of float32 gradients, which then updates weights on the device
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/operation.ipp>
#endif
