// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/checkpoint/format.hpp>

#include <span>
#include <string>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

/// The members of a file's metadata: the encoded description, and its checksum.
inline constexpr char const* description_key = "tutti";
inline constexpr char const* checksum_key = "tutti_checksum";

/// The CRC-32 of an encoded description, as a decimal number. A changed byte of it might be a valid description of
/// another model.
[[nodiscard]] inline std::string checksum_text(std::string const& description) {
  return std::to_string(checksum(std::as_bytes(std::span(description.data(), description.size()))));
}

}  // namespace tutti::nn::detail::saved_model
