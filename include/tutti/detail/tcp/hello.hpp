// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::tcp {

/// 128 random bits.
using world_id = std::array<std::uint64_t, 2>;

/// Why a rank connects, or what the answer is.
enum class greeting : std::uint32_t {
  hello = 1,  ///< be my peer
  welcome,    ///< the answer: you are connected
  collision,  ///< the answer: I am connecting to you myself, wait for that
  revoke,     ///< question or answer: the epoch has failed
  excuse,     ///< the sender leaves because of a fault elsewhere, and connects for nothing else
};

/// The first bytes on a connection, in both directions. Nothing else is sent before the answer.
struct hello {
  static constexpr char expected_magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  static constexpr std::uint32_t expected_order = 0x01020304;
  static constexpr std::uint32_t expected_version = 5;

  char magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  std::uint32_t order = expected_order;
  std::uint32_t version = expected_version;
  world_id world{};
  greeting kind{};
  rank_type sender = no_rank;
  rank_type receiver = no_rank;
  std::uint32_t reserve = 0;
  std::uint64_t fault = 0;   ///< packed; of a revoke or an excuse
  std::uint64_t window = 0;  ///< how much `from` keeps that it has not asked for, per lane

  /// Why this is not from a member `from` of this world to member `me`; null: it is.
  [[nodiscard]] char const* objection(world_id const& id, rank_type me, rank_type size) const noexcept;
};
static_assert(sizeof(hello) == 64 && std::is_trivially_copyable_v<hello>);

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/hello.ipp>
#endif
