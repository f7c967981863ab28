// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>
#include <tutti/secure/detail/openssl_hash.hpp>

/// The library of cryptography (OpenSSL 3) of a program whose world has a secret. One source of the program includes
/// this header.
namespace tutti::inline v0_1_0::detail::secure {

/// True once OpenSSL is registered: before `main`.
inline bool const is_registered = [] {
  net::registered_hash = &openssl_hash;
  return true;
}();

}  // namespace tutti::detail::secure
