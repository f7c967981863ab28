// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// Which operation a call is of.
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
  barrier,
  transfer,
  split
};

/// The word for it in messages.
[[nodiscard]] constexpr std::string_view name(operation_kind kind) noexcept {
  constexpr std::string_view names[] = {"nothing", "allreduce", "reduce",   "broadcast", "reduce_scatter", "allgather",
                                        "gather",  "scatter",   "alltoall", "barrier",   "send/recv",      "split"};
  return names[static_cast<std::size_t>(kind)];
}

/// Whether what arrives is combined with something, and not only moved.
[[nodiscard]] constexpr bool combines(operation_kind kind) noexcept {
  return kind == operation_kind::allreduce || kind == operation_kind::reduce || kind == operation_kind::reduce_scatter;
}

/// What a schedule is asked for. A topology offers an operation by overloading on its tag; the
/// operator templates of the same names live one namespace up.
///
/// Blocks. `allreduce`, `reduce` and `broadcast` work on one vector, which the topology cuts into as
/// many blocks as suits it. For the others block `r` belongs to rank `r`, so there are n of them:
/// the vector of reduce_scatter, the result of allgather and gather, the source of scatter, and in
/// alltoall block `j` of the input goes to rank `j`, block `i` of the output comes from rank `i`.
namespace op {

/// Every rank gets the combination of all vectors.
struct allreduce {
  friend constexpr bool operator==(allreduce, allreduce) noexcept = default;
};
/// The root gets it.
struct reduce {
  rank_type root;  ///< the rank that gets the result
  friend constexpr bool operator==(reduce, reduce) noexcept = default;
};
/// Every rank gets the root's vector.
struct broadcast {
  rank_type root;  ///< the rank that gives the vector
  friend constexpr bool operator==(broadcast, broadcast) noexcept = default;
};
/// Rank r gets block r of the combination.
struct reduce_scatter {
  friend constexpr bool operator==(reduce_scatter, reduce_scatter) noexcept = default;
};
/// Every rank gets the blocks of all.
struct allgather {
  friend constexpr bool operator==(allgather, allgather) noexcept = default;
};
/// The root gets the blocks of all.
struct gather {
  rank_type root;  ///< the rank that gets the result
  friend constexpr bool operator==(gather, gather) noexcept = default;
};
/// Rank r gets block r of the root's vector.
struct scatter {
  rank_type root;  ///< the rank that gives the vector
  friend constexpr bool operator==(scatter, scatter) noexcept = default;
};
/// Every rank gives each rank a block.
struct alltoall {
  friend constexpr bool operator==(alltoall, alltoall) noexcept = default;
};

/// One message from one rank to another: what `send` and `recv` run.
struct transfer {
  rank_type from;  ///< the sender
  rank_type to;    ///< the receiver
  friend constexpr bool operator==(transfer, transfer) noexcept = default;
};

}  // namespace op

/// Whether a block's place is part of the result, so that segments are parts of blocks.
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

/// What a rank says it is doing. All ranks of an operation must say the same; the transports compare
/// the fingerprint on the first message of every edge, and show the text when it differs.
struct call {
  static constexpr std::size_t text = 13;  ///< names are cut to this many characters, for reports only

  std::uint64_t count = 0;       ///< elements in the vector (for send/recv: in the message)
  std::uint32_t root = no_rank;  ///< no_rank where the operation has none
  std::uint32_t identity = 0;    ///< hash of the full names of element type, reduction, topology and so on
  operation_kind kind = operation_kind::none;  ///< which operation
  char element[text] = {};                     ///< the type of its elements
  char reduction[text] = {};                   ///< the reduction; empty if none
  char topology[text] = {};                    ///< the topology

  /// What is compared with each first message; equal calls have equal ones.
  [[nodiscard]] constexpr std::uint32_t fingerprint() const noexcept {
    std::uint64_t h = (count + 1) * 0x9e3779b97f4a7c15U;
    h ^= (std::uint64_t{root} << 32) | identity;
    h *= 0xbf58476d1ce4e5b9U;
    h ^= h >> 29;
    h += static_cast<std::uint64_t>(kind) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }
};

/// Which operation of its communicator one is: the same number on every rank that takes part in it. Collective
/// operations are counted together, whatever is sent meanwhile; messages for each pair of ranks, one way.
struct operation_number {
  std::uint64_t sequence = 0;  ///< the running number
  rank_type from = no_rank;    ///< of a message, as is `to`
  rank_type to = no_rank;      ///< the receiver of a message

  /// Whether it is a `send` or `recv`.
  [[nodiscard]] constexpr bool is_message() const noexcept { return from != no_rank; }
  friend constexpr auto operator<=>(operation_number const&, operation_number const&) = default;
};

/// FNV-1a, for names.
[[nodiscard]] constexpr std::uint32_t hash(std::string_view text, std::uint32_t seed = 2166136261U) noexcept {
  for (char const c : text) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return seed;
}

/// The call of an operator before its count and root are known.
[[nodiscard]] constexpr call make_call(operation_kind kind, std::string_view element, std::string_view reduction,
                                       std::string_view topology) noexcept {
  call c;
  c.kind = kind;
  c.identity = hash(topology, hash("|", hash(reduction, hash("|", hash(element)))));
  auto const keep = [](char(&to)[call::text], std::string_view from) {
    for (std::size_t i = 0; i < from.size() && i + 1 < call::text; ++i) {
      to[i] = from[i];
    }
  };
  keep(c.element, element);
  keep(c.reduction, reduction);
  keep(c.topology, topology);
  return c;
}

namespace detail {

/// Puts a call in words at the end of a text, as `describe` does.
[[gnu::cold]] TUTTI_DECL void append_call(std::string& text, call const& c, operation_number const& n = {});

}  // namespace detail

/// "allreduce(sum float32 x 1000, ring)", "broadcast(float32 x 10, root 3, binary_tree)"; of a message whose pair is
/// known, "send/recv(float32 x 10, from rank 0 to rank 1)".
[[nodiscard]] TUTTI_DECL std::string describe(call const& c, operation_number const& n = {});

/// An operation that a device in the network can do on elements. The numbers travel in packets, so they never change.
enum class network_operation : std::uint8_t {
  none = 0,
  copy = 1,
  sum_float32 = 2,
  max_float32 = 3,
  saturating_sum_int32 = 4,
  update = 5,  ///< the sum of gradients, float32, by which weights that the device holds are moved
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/operation.ipp>
#endif
