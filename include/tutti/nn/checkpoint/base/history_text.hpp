// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::nn {

/// Encodes the history of a training; numbers keep all of their bits.
[[nodiscard]] TUTTI_DECL std::string encode(history const& history);

/// The size of an encoded history with this many steps, epochs (of this many ranks) and faults.
[[nodiscard]] constexpr std::uint64_t history_bytes(std::uint64_t steps, std::uint64_t epochs, std::uint64_t ranks,
                                                    std::uint64_t faults) noexcept {
  return sizeof(std::uint64_t) * (5 + 9 * steps + (9 + 4 * ranks) * epochs + 3 * faults);
}

/// Decodes the result of `encode`; false if `bytes` are something else.
[[nodiscard]] TUTTI_DECL bool decode(std::string_view bytes, history& history);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/base/history_text.ipp>
#endif
