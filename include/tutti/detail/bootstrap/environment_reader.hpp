// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/environment.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/types.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Reads other variables than those of the process: strings "NAME=value" with a null pointer at the end, as in
/// `environ`.
/// @param parent the process id of the parent
/// @param host the name of the host
[[nodiscard]] TUTTI_DECL environment read_environment(char const* const* variables, long parent, std::string host);

/// The key that TUTTI_SECRET_FILE or TUTTI_SECRET gives to a world of `size` ranks, or none.
/// @throws error(failure::join) if it is no good, or if there is none although TUTTI_SECRET_REQUIRED demands one
[[nodiscard]] TUTTI_DECL world_secret read_secret(char const* const* variables, rank_type size);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/environment_reader.ipp>
#endif
