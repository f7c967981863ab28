// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::detail::inline net {

/// Returns 64 random bits, which no other process can guess.
/// @throws error(failure::join) if the system has none
[[nodiscard]] TUTTI_DECL std::uint64_t draw_number();

/// Returns 64 random bits as sixteen hexadecimal digits.
[[nodiscard]] TUTTI_DECL std::string draw_nonce();

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/nonce.ipp>
#endif
