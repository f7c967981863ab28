// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::udp {

/// Reads a key from a file: 32 hexadecimal digits.
/// @throws error(failure::join) if the file cannot be read, or has other contents
[[nodiscard]] TUTTI_DECL secret_key read_key(std::string const& path);

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/key_file.ipp>
#endif
