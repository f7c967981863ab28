// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::udp {

/// The key that a file holds: 32 hexadecimal digits.
/// @throws error(failure::join) if it cannot be read, or holds something else
[[nodiscard]] TUTTI_DECL key read_key(std::string const& path);

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/key_file.ipp>
#endif
