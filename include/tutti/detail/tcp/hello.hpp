// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <cstdint>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::tcp {

/// 128 random bits that identify a world.
using world_id = std::array<std::uint64_t, 2>;

/// The purpose of a connection (`connect`, `revoke`, `excuse`), or the answer of the rank that accepted it.
enum class hello_kind : std::uint32_t {
  connect = 1,  ///< asks for a connection
  welcome,      ///< answer: connected
  collision,    ///< answer: the peer's own connection to the sender takes precedence, wait for it
  revoke,       ///< request or answer that carries the fault of this world
  excuse,       ///< carries the reason why the sender leaves, a fault outside the mesh; no answer
};

/// The handshake: the first bytes on a connection, in both directions. Nothing else precedes the answer.
struct hello {
  static constexpr char expected_magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  static constexpr std::uint32_t expected_order = 0x01020304;
  static constexpr std::uint32_t expected_version = 5;

  char magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  std::uint32_t order = expected_order;
  std::uint32_t version = expected_version;
  world_id world{};
  hello_kind kind{};
  rank_type sender = no_rank;
  rank_type receiver = no_rank;
  std::uint32_t reserve = 0;
  std::uint64_t fault = 0;   ///< packed, in a revoke or an excuse
  std::uint64_t window = 0;  ///< bytes per lane that `sender` buffers without a reader

  /// Returns why this is no hello of a member of world `id` to rank `me`, or null if it is one.
  [[nodiscard]] char const* objection(world_id const& id, rank_type me, rank_type size) const noexcept;
};
static_assert(sizeof(hello) == 64 && std::is_trivially_copyable_v<hello>);

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/hello.ipp>
#endif
