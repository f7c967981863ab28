// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline net {

TUTTI_DECL std::uint64_t draw_number() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits)) {
    return bits;
  }
  descriptor const source(
      [] { return ::open("/dev/urandom", O_RDONLY | O_CLOEXEC); });  // a sandbox may refuse the call
  if (!source || ::read(source.get(), &bits, sizeof bits) != static_cast<ssize_t>(sizeof bits)) {
    throw error(failure::join, "this host gives no random numbers for the id of a world: " + describe_errno(errno) +
                                   "; allow getrandom(2) or reading /dev/urandom");
  }
  return bits;
}

TUTTI_DECL std::string draw_nonce() {
  std::uint64_t bits = draw_number();
  std::string text(16, '0');
  for (char& digit : text) {
    digit = "0123456789abcdef"[bits & 15U];
    bits >>= 4U;
  }
  return text;
}

}  // namespace tutti::detail::net
