// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// An element type that is known at run time: a name and a size.
///
///     tutti::any_element const type("float32");            // as element_name<float>()
///     tutti::any_element const record = tutti::any_element::bytes(24);
///     tutti::broadcast share{world, tutti::binary_tree{}};
///     share(pointer, count, type, 0);                       // the call of a rank that gives floats
///
/// Ranks that name a type and ranks that have it in their code may meet in one operation.
///
/// Cost: a value of 32 bytes.
/// Thread safety: as an int.
class any_element {
 public:
  /// Constructs the type of this name, one of element_name: int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  /// float16, bfloat16, float32, float64, complex64, complex128, bool, byte; `int32@index`, `int64@index`,
  /// `uint32@index`, `uint64@index`, `float32@index`, `float64@index` (indexed_value).
  /// @throws precondition_error if there is none
  TUTTI_DECL explicit any_element(std::string_view name);

  /// The type T.
  template <element T>
  [[nodiscard]] static constexpr any_element make() noexcept {
    return {element_name<T>(), sizeof(T)};
  }
  /// The type of `size` bytes without a meaning, aligned to at most 16: "byte[24]". Such elements are only moved, or
  /// combined by a function.
  /// @throws precondition_error if the size is zero
  [[nodiscard]] static TUTTI_DECL any_element bytes(std::size_t size);

  /// The name, cut to 15 characters.
  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  /// The number of bytes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// The hash of the full name, as a part of a call's identity.
  [[nodiscard]] constexpr std::uint32_t identity() const noexcept { return identity_; }

  /// True if names and sizes are equal.
  friend constexpr bool operator==(any_element const& a, any_element const& b) noexcept {
    return a.identity_ == b.identity_ && a.size_ == b.size_;
  }

 private:
  constexpr any_element(std::string_view name, std::size_t size) noexcept
      : size_(size), identity_(detail::names_identity(name, "")) {
    for (std::size_t i = 0; i < name.size() && i + 1 < sizeof name_; ++i) {
      name_[i] = name[i];
    }
  }

  std::size_t size_;
  std::uint32_t identity_;
  char name_[16] = {};
};

namespace detail {

/// The call of an operation on elements of this type. `operation`: its call without the name of an element type.
[[nodiscard]] constexpr call typed_call(call const& operation, any_element const& type) noexcept {
  call c = operation;
  c.identity ^= type.identity();
  type.name().copy(c.element, sizeof c.element - 1);
  return c;
}

}  // namespace detail

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/any_element.ipp>
#endif
