// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/language.hpp>

#include <concepts>
#include <source_location>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// What may travel: its bytes are its value, and it has none of the alignments that a message slot
/// cannot give.
template <class T>
concept element = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_const_v<T> && alignof(T) <= 16;

/// A complex number of floats or doubles, as std::complex<float>: two of them and nothing else.
template <class T>
concept complex_number = element<T> && requires(T const& z) {
  requires std::same_as<typename T::value_type, float> || std::same_as<typename T::value_type, double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
  { z.real() } -> std::same_as<typename T::value_type>;
  { z.imag() } -> std::same_as<typename T::value_type>;
  T(z.real(), z.imag());
};

/// A name for T that is the same in every process: "float32", "int64", "complex64", what T itself says (a static
/// member `element_name`), or the compiler's own spelling.
template <element T>
[[nodiscard]] constexpr std::string_view element_name() noexcept {
  if constexpr (std::same_as<T, float>) {
    return "float32";
  } else if constexpr (std::same_as<T, double>) {
    return "float64";
  } else if constexpr (std::same_as<T, long double>) {  // 16 bytes here and there, and yet another number
    return __LDBL_MANT_DIG__ == 64 ? "float80" : __LDBL_MANT_DIG__ == 113 ? "float128" : "long double";
  } else if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::same_as<T, std::byte>) {
    return "byte";
  } else if constexpr (std::integral<T>) {
    constexpr std::string_view names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                              {"int8", "int16", "int32", "int64"}};
    constexpr unsigned row = std::is_signed_v<T> ? 1 : 0;
    return names[row][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
  } else if constexpr (complex_number<T>) {
    return sizeof(T) == 8 ? "complex64" : "complex128";
  } else if constexpr (requires { std::string_view(T::element_name); }) {
    return T::element_name;
  } else {
    // "... element_name() [with T = N::point; ...]" (g++), "... [T = N::point]" (clang)
    std::string_view text = std::source_location::current().function_name();
    auto const from = text.find("T = ");
    if (from == std::string_view::npos) {
      return "element";
    }
    text.remove_prefix(from + 4);
    return text.substr(0, text.find_first_of(";]"));
  }
}

}  // namespace tutti
