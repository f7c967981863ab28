// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/packing.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

/// Writes numbers with all of their bits.
inline void pack(packer& output, std::span<float const> numbers) {
  output.text({reinterpret_cast<char const*>(numbers.data()), numbers.size_bytes()});
}

/// Reads the result of `pack`; false if these are not `count` numbers.
[[nodiscard]] inline bool unpack(unpacker& input, std::vector<float>& values, std::size_t count) {
  std::string_view const bytes = input.text();
  if (!input.good() || bytes.size() != count * sizeof(float)) {
    return false;
  }
  values.resize(count);
  if (count != 0) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return true;
}

/// Reads the result of `pack_if_any`: numbers, or none yet.
[[nodiscard]] inline bool unpack_if_any(unpacker& input, std::vector<float>& values, std::size_t count) {
  bool const has_values = input.number() != 0;
  return unpack(input, values, has_values ? count : 0);
}
inline void pack_if_any(packer& output, std::span<float const> numbers) {
  output.number(numbers.empty() ? 0 : 1);
  pack(output, numbers);
}

}  // namespace tutti::nn::detail::numbers
