// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/reduction_entry.hpp>

#include <cstring>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The function writes its right operand, so the result holds that one first. A left operand in the result's place is
/// copied before, in pieces.
TUTTI_DECL void reduction_entry::combine_by_function(payload const& self, step const& st, std::byte const* local,
                                                     std::byte const* arriving, std::byte* result, std::size_t n) {
  auto const& entry = *static_cast<reduction_entry const*>(self.policy());
  bool const may_swap = !entry.in_rank_order;
  bool const swaps = may_swap ? result == local : st.action == action::fold_left;
  std::byte const* left = swaps ? arriving : local;
  std::byte const* right = swaps ? local : arriving;
  if (result == right) {
    entry.function_(left, result, n, entry.context_);
    return;
  }
  std::size_t const size = self.size_of(memory::output);
  if (result != left) {
    std::memcpy(result, right, n * size);
    entry.function_(left, result, n, entry.context_);
    return;
  }
  alignas(16) std::byte piece[4096];
  std::vector<std::byte> large_element(size > sizeof piece ? size : 0);
  std::byte* const copy = large_element.empty() ? piece : large_element.data();
  std::size_t const limit = large_element.empty() ? sizeof piece / size : 1;
  while (n != 0) {
    std::size_t const count = n < limit ? n : limit;
    std::memcpy(copy, left, count * size);
    std::memcpy(result, right, count * size);
    entry.function_(copy, result, count, entry.context_);
    left += count * size;
    right += count * size;
    result += count * size;
    n -= count;
  }
}

}  // namespace tutti::detail::engine
