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
inline void pack(packer& to, std::span<float const> numbers) {
  to.text({reinterpret_cast<char const*>(numbers.data()), numbers.size_bytes()});
}

/// Reads the result of `pack`; false if these are not `count` numbers.
[[nodiscard]] inline bool unpack(unpacker& from, std::vector<float>& to, std::size_t count) {
  std::string_view const bytes = from.text();
  if (!from.good() || bytes.size() != count * sizeof(float)) {
    return false;
  }
  to.resize(count);
  if (count != 0) {
    std::memcpy(to.data(), bytes.data(), bytes.size());
  }
  return true;
}

/// Reads the result of `pack_if_any`: numbers, or none yet.
[[nodiscard]] inline bool unpack_if_any(unpacker& from, std::vector<float>& to, std::size_t count) {
  bool const any = from.number() != 0;
  return unpack(from, to, any ? count : 0);
}
inline void pack_if_any(packer& to, std::span<float const> numbers) {
  to.number(numbers.empty() ? 0 : 1);
  pack(to, numbers);
}

}  // namespace tutti::nn::detail::numbers
