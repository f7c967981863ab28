// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/fault.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
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

/// The handshake: the first bytes on a connection, in both directions. Nothing else precedes the answer. In a world
/// with a secret each hello has a proof, and a welcome is confirmed by 32 bytes more (`hello_prover`).
struct hello {
  static constexpr char expected_magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  static constexpr std::uint32_t expected_order = 0x01020304;
  static constexpr std::uint32_t expected_version = 8;

  char magic[8] = {'t', 'u', 't', 't', 'i', '\x1a', '\r', '\n'};
  std::uint32_t order = expected_order;
  std::uint32_t version = expected_version;
  world_id world{};
  hello_kind kind{};
  rank_type sender = no_rank;
  rank_type receiver = no_rank;
  std::uint32_t flags = 0;                      ///< `encrypts`, or 0
  std::uint64_t fault = 0;                      ///< packed, in a revoke or an excuse
  std::uint64_t window = 0;                     ///< bytes per lane that `sender` buffers without a reader
  char reason[tutti::fault::reason_text] = {};  ///< the reason of an abort
  std::uint64_t number = 0;  ///< new for each request to a receiver, and for each answer; 0 without a secret
  proof key_proof{};         ///< covers all before it, in an answer also the request; zeros without a secret

  /// The flag of a rank that encrypts the bytes behind the hellos.
  static constexpr std::uint32_t encrypts = 1;
  /// The bytes that tell the version, equal in all versions.
  static constexpr std::size_t version_bytes = 16;
  /// The length of a hello up to version 5.
  static constexpr std::size_t short_bytes = 64;

  void set_fault(tutti::fault const& cause) noexcept {
    fault = cause.pack();
    copy_bounded(bounded_text(cause.reason), reason);
  }
  [[nodiscard]] tutti::fault get_fault() const noexcept { return tutti::fault::unpack(fault, bounded_text(reason)); }

  /// The part that the proof covers.
  [[nodiscard]] std::string_view proved_text() const noexcept {
    return {reinterpret_cast<char const*>(this), offsetof(hello, key_proof)};
  }

  /// Returns why the first `bytes` bytes are of another protocol, or null if they may begin a hello of this version.
  [[nodiscard]] TUTTI_DECL char const* objection_to_begin(std::size_t bytes) const noexcept;

  /// Returns why this is no hello of a member of world `id` to rank `me`, or null if it is one.
  [[nodiscard]] TUTTI_DECL char const* objection(world_id const& id, rank_type me, rank_type size) const noexcept;
};
static_assert(sizeof(hello) == 160 && std::is_trivially_copyable_v<hello>);

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/hello.ipp>
#endif
