// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::runtime {

/// A CUDA memory handle for other processes, as hexadecimal text.
struct memory_handle {
  [[nodiscard]] static std::string text(cudaIpcMemHandle_t const& handle) {
    unsigned char bytes[sizeof handle];
    std::memcpy(bytes, &handle, sizeof handle);
    std::string digits;
    for (unsigned const byte : bytes) {
      digits += hex_digits[byte >> 4];
      digits += hex_digits[byte & 15];
    }
    return digits;
  }
  /// @throws precondition_error if the text is no handle
  [[nodiscard]] static cudaIpcMemHandle_t parse(std::string_view text) {
    unsigned char bytes[sizeof(cudaIpcMemHandle_t)];
    bool is_valid = text.size() == 2 * sizeof bytes;
    for (std::size_t i = 0; is_valid && i != text.size(); ++i) {
      std::size_t const digit = hex_digits.find(text[i]);
      is_valid = digit != hex_digits.npos;
      bytes[i / 2] = static_cast<unsigned char>(i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit);
    }
    expects(is_valid,
            "a rank has sent bytes that are not a handle of device memory; start the same program on all ranks");
    cudaIpcMemHandle_t handle;
    std::memcpy(&handle, bytes, sizeof handle);
    return handle;
  }

 private:
  static constexpr std::string_view hex_digits = "0123456789abcdef";
};

}  // namespace tutti::detail::runtime
