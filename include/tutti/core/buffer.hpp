// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/element.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace tutti {

/// Any contiguous, sized range of elements in host memory: std::vector, std::array, std::span, an
/// xtensor container; a pointer and a count become one as `std::span(pointer, count)`.
template <class B>
concept buffer = requires(B& b) {
  { *b.data() };
  { b.size() } -> std::convertible_to<std::size_t>;
} && element<std::remove_cvref_t<decltype(*std::declval<B&>().data())>>;

template <class B>
using buffer_pointer_t = decltype(std::declval<B&>().data());

/// The element type of a buffer, without const.
template <class B>
using buffer_value_t = std::remove_cvref_t<decltype(*std::declval<B&>().data())>;

/// A buffer whose elements may be written.
template <class B>
concept mutable_buffer = buffer<B> && !std::is_const_v<std::remove_pointer_t<buffer_pointer_t<B>>>;

template <class B, class T>
concept buffer_of = buffer<B> && std::same_as<buffer_value_t<B>, T>;
template <class B, class T>
concept mutable_buffer_of = mutable_buffer<B> && std::same_as<buffer_value_t<B>, T>;

/// Whether an argument's elements outlive the expression that it is given in: those of a variable do, and
/// those that a span refers to. What starts an operation takes nothing else, for it reads and writes the
/// elements later.
template <class B>
concept lasting = std::is_lvalue_reference_v<B> || std::ranges::enable_borrowed_range<std::remove_cvref_t<B>>;

template <class B>
concept lasting_buffer = lasting<B> && buffer<B>;
template <class B, class T>
concept lasting_buffer_of = lasting<B> && buffer_of<B, T>;
template <class B>
concept lasting_mutable_buffer = lasting<B> && mutable_buffer<B>;
template <class B, class T>
concept lasting_mutable_buffer_of = lasting<B> && mutable_buffer_of<B, T>;

/// The elements of a buffer as a span.
template <class B>
  requires buffer<std::remove_reference_t<B>>
[[nodiscard]] constexpr auto elements(B&& b) noexcept {
  using value = std::remove_pointer_t<buffer_pointer_t<std::remove_reference_t<B>>>;
  return std::span<value>(b.data(), static_cast<std::size_t>(b.size()));
}

}  // namespace tutti
