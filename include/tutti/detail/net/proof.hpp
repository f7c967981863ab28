// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/secret.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline net {

/// Functions of a library of cryptography, on which the core does not depend. `<tutti/secure.hpp>` registers those of
/// OpenSSL when the program starts.
struct hash_calls {
  /// Writes the 32 bytes of SHA-256 of the concatenation of all parts.
  void (*sha256)(std::span<std::string_view const> parts, std::byte* digest) noexcept;
};

/// One for all shared libraries of a process.
[[gnu::visibility("default")]] inline constinit hash_calls const* registered_hash = nullptr;

/// A proof of knowing a key: HMAC-SHA256 (RFC 2104).
using proof = std::array<std::byte, 32>;

/// The characters of a proof, or of its first bytes.
[[nodiscard]] inline std::string_view text_of(std::span<std::byte const> bytes) noexcept {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// A key of proofs, or none. A proof covers a label, which tells what it is for, and parts; each counts with its
/// length.
class proof_key {
 public:
  static constexpr std::size_t max_parts = 8;

  proof_key() noexcept = default;
  /// @throws error(failure::join) if there is a secret and the program has no <tutti/secure.hpp>
  TUTTI_DECL explicit proof_key(world_secret const& secret);

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(secret_); }

  /// @pre there is a key; at most `max_parts` parts
  [[nodiscard]] TUTTI_DECL proof prove(std::string_view label,
                                       std::initializer_list<std::string_view> parts) const noexcept;
  /// True if `candidate` is the proof, or its first half. Takes equally long for all wrong ones of this length.
  /// @pre there is a key; at most `max_parts` parts
  [[nodiscard]] TUTTI_DECL bool accepts(std::string_view candidate, std::string_view label,
                                        std::initializer_list<std::string_view> parts) const noexcept;
  /// Makes a key for one purpose; no key of none.
  [[nodiscard]] TUTTI_DECL proof_key derive(std::string_view label,
                                            std::initializer_list<std::string_view> parts) const noexcept;

  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }

 private:
  world_secret secret_;
};

/// Makes the key of a world out of a text: the contents of TUTTI_SECRET, or of the file TUTTI_SECRET_FILE.
/// @param source names the text in errors
/// @throws error(failure::join) if the text has less than 16 bytes, or the program has no <tutti/secure.hpp>
[[nodiscard]] TUTTI_DECL world_secret make_secret(std::string_view text, std::string_view source = "the secret");

/// Draws the key of a world whose ranks all get it from this process; none if the program has no <tutti/secure.hpp>.
/// @throws error(failure::join) if the system has no random numbers
[[nodiscard]] TUTTI_DECL world_secret draw_secret();

/// The numbers of messages that were accepted from one sender: each is accepted once, and none that is older than the
/// 64 before the latest. Messages may overtake each other.
class replay_window {
 public:
  /// True the first time for each number from 1 on.
  [[nodiscard]] bool admit(std::uint64_t number) noexcept {
    constexpr std::uint64_t size = 64;
    if (number > latest_) {
      history_ = number - latest_ < size ? history_ << (number - latest_) | 1U : 1U;
      latest_ = number;
      return true;
    }
    std::uint64_t const age = latest_ - number;
    if (number == 0 || age >= size || (history_ >> age & 1U) != 0) {
      return false;
    }
    history_ |= std::uint64_t{1} << age;
    return true;
  }

 private:
  std::uint64_t latest_ = 0;
  std::uint64_t history_ = 0;  ///< bit i: `latest_ - i` was accepted
};

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/proof.ipp>
#endif
