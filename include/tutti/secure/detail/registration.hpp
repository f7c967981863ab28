// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/secure/detail/openssl_hash.hpp>
#include <tutti/secure/detail/openssl_stream.hpp>

namespace tutti::inline v0_1_0::detail::secure {

/// True once OpenSSL is registered: before `main`.
inline bool const is_registered = [] {
  net::registered_hash = &openssl_hash;
  tcp::registered_streams = &tcp::calls_of<openssl_stream<>>;
  return true;
}();

}  // namespace tutti::detail::secure
