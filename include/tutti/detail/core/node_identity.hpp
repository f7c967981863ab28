// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline core {

/// Numbers of a file that no other file of this kernel has; nothing if there is none.
[[nodiscard]] TUTTI_DECL std::string file_identity(char const* name);

/// A text that is equal for processes which can share memory with each other, and differs otherwise: the
/// kernel that runs them, and the network that they see, for memory is handed over a local socket. So containers and
/// network namespaces of one machine are hosts of their own, unless they share the network namespace.
/// @throws error(failure::join) if there are no descriptors left to find it out
[[nodiscard]] TUTTI_DECL std::string node_identity();

/// The same for threads of one process, among the processes of a node.
[[nodiscard]] TUTTI_DECL std::string process_identity();

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/node_identity.ipp>
#endif
