// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline core {

/// Numbers that identify a file on this kernel; empty if there is no such file.
[[nodiscard]] TUTTI_DECL std::string file_identity(char const* name);

/// A text that is equal for processes that can share memory with each other: it names the running kernel and the
/// network namespace, since memory is handed over through a local socket. So containers of one machine count as
/// separate hosts unless they share the network namespace.
/// @throws error(failure::join) if no descriptor is left to find it out
[[nodiscard]] TUTTI_DECL std::string node_identity();

/// A text that is equal for threads of one process, among the processes of a node.
[[nodiscard]] TUTTI_DECL std::string process_identity();

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/node_identity.ipp>
#endif
