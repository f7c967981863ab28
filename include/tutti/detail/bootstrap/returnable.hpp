// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// A value whose bytes mean the same in another process: no pointer, no view of memory.
template <class T>
concept plain_value = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_pointer_v<T> &&
                      !std::is_member_pointer_v<T> && !std::ranges::enable_borrowed_range<T>;

template <class T>
inline constexpr bool is_plain_vector = false;
template <plain_value T>
inline constexpr bool is_plain_vector<std::vector<T>> = !std::is_same_v<T, bool>;  // vector<bool> has no data()

/// A type that a process can return to its parent: void, a trivially copyable type that is no pointer or view,
/// std::string, or std::vector of such a type.
template <class R>
concept returnable = std::is_void_v<R> || std::is_same_v<R, std::string> || is_plain_vector<R> || plain_value<R>;

/// The bytes of a result.
template <returnable R>
[[nodiscard]] std::string encode_result(R const& result) {
  if constexpr (std::is_same_v<R, std::string>) {
    return result;
  } else {
    std::span<std::byte const> bytes;
    if constexpr (is_plain_vector<R>) {
      bytes = std::as_bytes(std::span(result));
    } else {
      bytes = std::as_bytes(std::span(&result, 1));
    }
    return std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  }
}

/// Decodes a result that the very same program encoded.
template <returnable R>
[[nodiscard]] R decode_result(std::string const& bytes) {
  if constexpr (std::is_same_v<R, std::string>) {
    return bytes;
  } else if constexpr (is_plain_vector<R>) {
    using value = typename R::value_type;
    R elements;
    elements.reserve(bytes.size() / sizeof(value));
    for (std::size_t at = 0; at + sizeof(value) <= bytes.size(); at += sizeof(value)) {
      std::array<std::byte, sizeof(value)> storage;
      std::memcpy(storage.data(), bytes.data() + at, sizeof(value));
      elements.push_back(std::bit_cast<value>(storage));  // bit_cast needs no default constructor
    }
    return elements;
  } else {
    std::array<std::byte, sizeof(R)> storage{};
    std::memcpy(storage.data(), bytes.data(), bytes.size() < sizeof(R) ? bytes.size() : sizeof(R));
    return std::bit_cast<R>(storage);
  }
}

}  // namespace tutti::detail::bootstrap
