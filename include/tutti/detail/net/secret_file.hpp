// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/secret.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline net {

/// Opens a file that holds a secret.
/// @throws error(failure::join) unless it is a regular file of this user or of root that nobody else may write, and
///         nobody else may read, except a group that root gives it to
[[nodiscard]] TUTTI_DECL descriptor open_secret_file(std::string const& path);

/// Makes the key of a world out of the text in a file, without the newlines at its end.
/// @throws error(failure::join) like `open_secret_file` and `make_secret`, or if the text has more than 4096 bytes
[[nodiscard]] TUTTI_DECL world_secret read_secret_file(std::string const& path);

}  // namespace tutti::detail::net

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/net/secret_file.ipp>
#endif
