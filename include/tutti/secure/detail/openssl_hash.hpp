// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>

#include <cstddef>
#include <cstring>
#include <openssl/sha.h>
#include <span>
#include <string_view>

namespace tutti::inline v0_1_0::detail::secure {

/// SHA-256 by OpenSSL's functions without a provider, which version 3 calls deprecated: the first call of their
/// successors takes a process about a millisecond, longer than joining does. They are not FIPS-validated.
inline void sha256_by_openssl(std::span<std::string_view const> parts, std::byte* digest) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  SHA256_CTX state;
  SHA256_Init(&state);
  for (std::string_view const part : parts) {
    SHA256_Update(&state, part.data(), part.size());
  }
  SHA256_Final(reinterpret_cast<unsigned char*>(digest), &state);
#pragma GCC diagnostic pop
  ::explicit_bzero(&state, sizeof state);
}

inline constexpr hash_calls openssl_hash{&sha256_by_openssl};

}  // namespace tutti::detail::secure
