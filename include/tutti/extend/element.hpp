// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <concepts>
#include <source_location>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

namespace detail {

#ifdef __SIZEOF_INT128__
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// A 128-bit integer. Compiler flags decide if the standard library calls it integral, and element types must not
/// depend on flags.
template <class T>
concept wide_integer = std::same_as<T, int128> || std::same_as<T, uint128>;
#else
template <class T>
concept wide_integer = false;
#endif

/// Integers of all sizes, bool and characters included.
template <class T>
concept integer = std::integral<T> || wide_integer<T>;
template <class T>
concept signed_integer = integer<T> && static_cast<T>(-1) < static_cast<T>(0);
template <class T>
concept unsigned_integer = integer<T> && !signed_integer<T>;

template <integer T>
struct unsigned_type_of : std::make_unsigned<T> {};
#ifdef __SIZEOF_INT128__
template <wide_integer T>
struct unsigned_type_of<T> {
  using type = uint128;
};
#endif

/// The unsigned integer of the same size.
template <integer T>
using unsigned_of = typename unsigned_type_of<T>::type;

/// The largest value of an integer type.
template <integer T>
inline constexpr T largest_integer = static_cast<T>(unsigned_of<T>(-1) >> (signed_integer<T> ? 1 : 0));
template <>
inline constexpr bool largest_integer<bool> = true;
/// The smallest value of an integer type.
template <integer T>
inline constexpr T smallest_integer = static_cast<T>(signed_integer<T> ? -largest_integer<T> - 1 : 0);

}  // namespace detail

/// A type whose values can be sent as bytes, with an alignment of at most 16, as message slots have.
template <class T>
concept element = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_const_v<T> && alignof(T) <= 16;

namespace detail {

/// A complex number that consists of two parts and nothing else.
template <class T, class Part>
concept complex_of = element<T> && requires(T const& z) {
  requires std::same_as<typename T::value_type, Part>;
  requires sizeof(T) == 2 * sizeof(Part);
  { z.real() } -> std::same_as<Part>;
  { z.imag() } -> std::same_as<Part>;
  T(z.real(), z.imag());
};

}  // namespace detail

/// A complex number of two floats or doubles and nothing else, such as std::complex<float>.
template <class T>
concept complex_number = detail::complex_of<T, float> || detail::complex_of<T, double>;

/// The name of T, equal in every process: "float32", "int64", "complex64", the static member `element_name` of T, or
/// the compiler's own spelling.
template <element T>
[[nodiscard]] constexpr std::string_view element_name() noexcept {
  if constexpr (std::same_as<T, float>) {
    return "float32";
  } else if constexpr (std::same_as<T, double>) {
    return "float64";
  } else if constexpr (std::same_as<T, long double>) {  // 16 bytes on several platforms, in different formats
    return __LDBL_MANT_DIG__ == 64 ? "float80" : __LDBL_MANT_DIG__ == 113 ? "float128" : "long double";
  } else if constexpr (std::same_as<T, bool>) {
    return "bool";
  } else if constexpr (std::same_as<T, std::byte>) {
    return "byte";
  } else if constexpr (detail::integer<T>) {
    constexpr std::string_view names[2][5] = {{"uint8", "uint16", "uint32", "uint64", "uint128"},
                                              {"int8", "int16", "int32", "int64", "int128"}};
    constexpr unsigned row = detail::signed_integer<T> ? 1 : 0;
    static_assert(std::has_single_bit(sizeof(T)) && sizeof(T) <= 16, "an integer that has no name yet");
    return names[row][std::bit_width(sizeof(T)) - 1];
  } else if constexpr (complex_number<T>) {
    return sizeof(T) == 8 ? "complex64" : "complex128";
  } else if constexpr (detail::complex_of<T, long double>) {
    return __LDBL_MANT_DIG__ == 64    ? "complex float80"
           : __LDBL_MANT_DIG__ == 113 ? "complex float128"
                                      : "complex long double";
  } else if constexpr (requires { std::string_view(T::element_name); }) {
    return T::element_name;
  } else {
    // "... element_name() [with T = N::point; ...]" (g++), "... [T = N::point]" (clang)
    std::string_view text = std::source_location::current().function_name();
    auto const prefix = text.find("T = ");
    if (prefix == std::string_view::npos) {
      return "element";
    }
    text.remove_prefix(prefix + 4);
    return text.substr(0, text.find_first_of(";]"));
  }
}

}  // namespace tutti
