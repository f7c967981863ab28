// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/environment.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Reads other variables than those of the process: strings "NAME=value" with a null pointer at the end, as in
/// `environ`.
/// @param parent the process id of the parent
/// @param host the name of the host
[[nodiscard]] TUTTI_DECL environment read_environment(char const* const* variables, long parent, std::string host);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/environment_reader.ipp>
#endif
