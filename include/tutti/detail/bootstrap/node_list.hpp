// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail {

/// Writes out what Slurm abbreviates: "node[01-03,7],x9" is node01, node02, node03, node7, x9; a
/// name may have several brackets. False if `text` is not of that form, or names more than `most`.
[[nodiscard]] TUTTI_DECL bool parse_node_list(std::string_view text, std::vector<std::string>& to,
                                              std::size_t most = 1U << 16U);

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/bootstrap/node_list.ipp>
#endif
