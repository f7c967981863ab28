// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::support {

/// Hashes in place of SHA-256, so that tests of identity need no library of cryptography. Anybody can forge its proofs;
/// no test program forges them.
inline void toy_sha256(std::span<std::string_view const> parts, std::byte* digest) noexcept {
  std::uint64_t words[4] = {0x243f6a8885a308d3U, 0x13198a2e03707344U, 0xa4093822299f31d0U, 0x082efa98ec4e6c89U};
  for (std::string_view const part : parts) {
    for (char const c : part) {
      for (std::uint64_t& word : words) {
        word = (word ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15U;
        word ^= word >> 29U;
      }
    }
  }
  for (std::size_t i = 0; i < 32; ++i) {
    digest[i] = static_cast<std::byte>(words[i / 8] >> (8 * (i % 8)));
  }
}

inline constexpr detail::net::hash_calls toy_hash{&toy_sha256};

/// Registers the toy hash, unless the program has a real one.
inline bool const has_hash = [] {
  if (detail::net::registered_hash == nullptr) {
    detail::net::registered_hash = &toy_hash;
  }
  return true;
}();

}  // namespace tutti::support
