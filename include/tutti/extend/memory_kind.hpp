// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0 {

/// Where the vectors of an operation lie. What messages take may depend on it: see network_profile::provided.
enum class memory_kind : std::uint8_t {
  ordinary,  ///< anywhere
  provided,  ///< on every rank in memory that the transport provides: by tutti::allocator
};

}  // namespace tutti
