// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Encodes addresses among ranks of one address space, as shared_locations does among processes.
struct common_locations {
  static constexpr bool one_process = true;  ///< memory that is taken back may be gone for all

  [[nodiscard]] static std::uint64_t encode(void const* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  [[nodiscard]] static std::byte* decode(rank_type, std::uint64_t location) noexcept {
    return reinterpret_cast<std::byte*>(integer_cast<std::uintptr_t>(location));
  }
};

}  // namespace tutti::detail::shared_memory
