// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The first name of a list in Slurm's abbreviated form: node01 of "node[01-03,7],x9", which stands for node01,
/// node02, node03, node7 and x9. A name may have several brackets. Returns nothing if `text` has another form or
/// stands for more than `limit` names. Names are counted, not written out.
[[nodiscard]] TUTTI_DECL std::optional<std::string> first_node(std::string_view text, std::size_t limit = 1U << 16U);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/node_list.ipp>
#endif
