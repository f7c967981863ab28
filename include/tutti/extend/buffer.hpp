// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// True if data() and size() of a B span all of its elements, contiguously. To be specialised for a class that
/// satisfies this and is no contiguous range:
///
///     template <>
///     inline constexpr bool tutti::enable_buffer<my::matrix> = true;
template <class B>
inline constexpr bool enable_buffer = false;

namespace detail {

template <class B>
concept enabled_class = enable_buffer<std::remove_cv_t<B>> && requires(B& b) {
  { *b.data() };
  { b.size() } -> std::convertible_to<std::size_t>;
};

// The classes of xtensor and Eigen are recognised by their members; neither library is included.

/// A container or view of xtensor. Its first element is at data() + data_offset().
template <class B>
concept tensor = requires(B& b) {
  { *(b.data() + b.data_offset()) };
  { b.size() } -> std::convertible_to<std::size_t>;
  b.strides()[b.shape().size()];
};
/// A tensor whose type guarantees that its elements are contiguous.
template <class B>
concept dense_tensor = tensor<B> && requires { requires B::contiguous_layout; };

/// True if Eigen's compile-time constants show no gaps, neither within columns (rows, if row-major) nor between them.
/// The constant -1 stands for a value that is known only at run time.
[[nodiscard]] consteval bool no_known_gaps(int inner_stride, bool is_vector, int outer_stride, int inner_size) {
  return inner_stride == 1 && (is_vector || outer_stride == -1 || inner_size == -1 || outer_stride == inner_size);
}

/// A matrix, vector, map or block of Eigen whose type shows no gaps.
template <class B>
concept matrix = requires(B& b) {
  { *b.data() };
  { b.size() } -> std::convertible_to<std::size_t>;
  { b.outerStride() == b.innerSize() };
  requires no_known_gaps(B::InnerStrideAtCompileTime, B::IsVectorAtCompileTime, B::OuterStrideAtCompileTime,
                         B::InnerSizeAtCompileTime);
};

/// One number: a variable of an arithmetic type, an enumeration, half, bfloat16 or a complex number.
template <class B>
concept one_number = std::is_arithmetic_v<B> || std::is_enum_v<B> || integer<std::remove_cv_t<B>> ||
                     complex_number<std::remove_cv_t<B>> || requires { typename B::computed_in; };

template <class B>
concept plain_range = std::ranges::contiguous_range<B&> && std::ranges::sized_range<B&>;

/// A type with contiguous elements, by its nature or by declaration. Compilers print the failing line and its comment.
template <class B>
concept laid_out = one_number<B> || plain_range<B> || tensor<B> || matrix<B> ||
                   enabled_class<B>;  // else give std::span(pointer, count), or specialise tutti::enable_buffer

template <laid_out B>
[[nodiscard]] constexpr auto* first_of(B& b) {
  if constexpr (one_number<B>) {
    return &b;
  } else if constexpr (tensor<B> && !enabled_class<B>) {
    return b.data() + b.data_offset();
  } else if constexpr (matrix<B> || enabled_class<B>) {
    return b.data();
  } else if constexpr (std::is_array_v<std::remove_extent_t<B>>) {
    return first_of(b[0]);
  } else {
    return std::ranges::data(b);
  }
}

template <laid_out B>
[[nodiscard]] constexpr std::size_t count_of(B& b) {
  if constexpr (one_number<B>) {
    return 1;
  } else if constexpr (std::is_array_v<B>) {
    return sizeof(B) / sizeof(std::remove_all_extents_t<B>);
  } else if constexpr (enabled_class<B> || tensor<B> || matrix<B>) {
    return static_cast<std::size_t>(b.size());
  } else {
    return static_cast<std::size_t>(std::ranges::size(b));
  }
}

/// True if the elements of a tensor are contiguous, in row-major order.
template <tensor B>
[[nodiscard]] constexpr bool dense(B& b) {
  std::size_t expected = 1;
  for (std::size_t i = b.shape().size(); i-- > 0;) {
    auto const extent = static_cast<std::size_t>(b.shape()[i]);
    if (extent > 1 && static_cast<std::size_t>(b.strides()[i]) != expected) {
      return false;
    }
    expected *= extent;
  }
  return true;
}

/// Checks the layout where it is known only at run time.
template <laid_out B>
constexpr void expect_no_gaps([[maybe_unused]] B& b) {
  constexpr char const* advice =
      "the elements of this view are not one after the other in memory, so it is no buffer: copy it, or pass its parts";
  if constexpr (tensor<B> && !dense_tensor<B> && !enabled_class<B>) {
    expects(b.size() == 0 || dense(b), advice);
  } else if constexpr (matrix<B> && !enabled_class<B>) {
    expects(b.outerSize() <= 1 || b.size() == 0 || b.outerStride() == b.innerSize(), advice);
  }
}

}  // namespace detail

/// Contiguous elements in host memory, of known number: a contiguous range, such as std::vector, std::array and
/// std::span; an array of any dimensions; a container of xtensor; a matrix, vector or unstrided map of Eigen; a class
/// with `enable_buffer`; one number, as a buffer of one element. A pointer and a count become one as
/// `std::span(pointer, count)`. Views with gaps between their elements are refused: by the compiler if the type shows
/// the gaps, otherwise when they are passed to an operator.
///
/// A buffer has no shape: elements that are column-major at one end are column-major at the other.
template <class B>
concept buffer = detail::laid_out<std::remove_reference_t<B>> &&
                 element<std::remove_cvref_t<decltype(*detail::first_of(std::declval<std::remove_reference_t<B>&>()))>>;

/// The pointer to the first element of a buffer.
template <class B>
using buffer_pointer_t = decltype(detail::first_of(std::declval<std::remove_reference_t<B>&>()));

/// The element type of a buffer, without const.
template <class B>
using buffer_value_t = std::remove_cvref_t<decltype(*std::declval<buffer_pointer_t<B>>())>;

/// A buffer whose elements may be written.
template <class B>
concept mutable_buffer = buffer<B> && !std::is_const_v<std::remove_pointer_t<buffer_pointer_t<B>>>;

namespace detail {

template <class B, class T>
concept one_element = element<T> && std::same_as<std::remove_cvref_t<B>, T>;

}  // namespace detail

/// A buffer of elements of type T, or one T: with a known T, an object of a class is a buffer, too.
template <class B, class T>
concept buffer_of = detail::one_element<B, T> || (buffer<B> && std::same_as<buffer_value_t<B>, T>);
template <class B, class T>
concept mutable_buffer_of = (detail::one_element<B, T> && !std::is_const_v<std::remove_reference_t<B>>) ||
                            (mutable_buffer<B> && std::same_as<buffer_value_t<B>, T>);

namespace detail {

/// A view of xtensor or Eigen into a container of another type.
template <class B>
concept part_of_container =
    (tensor<B> && requires { typename B::temporary_type; } && !std::same_as<typename B::temporary_type, B>) ||
    (matrix<B> && requires { typename B::PlainObject; } && !std::same_as<typename B::PlainObject, B>);

}  // namespace detail

/// True if an argument's elements outlive the expression that contains it: those of a variable, of a span and of other
/// views. Results need it, because nobody could read them otherwise; a started operation needs it, because it reads
/// its argument later.
template <class B>
concept lasting = std::is_lvalue_reference_v<B> || std::ranges::enable_borrowed_range<std::remove_cvref_t<B>> ||
                  detail::part_of_container<std::remove_cvref_t<B>>;

template <class B>
concept lasting_buffer = lasting<B> && buffer<B>;
template <class B, class T>
concept lasting_buffer_of = lasting<B> && buffer_of<B, T>;
template <class B>
concept lasting_mutable_buffer = lasting<B> && mutable_buffer<B>;
template <class B, class T>
concept lasting_mutable_buffer_of = lasting<B> && mutable_buffer_of<B, T>;

/// The elements of a buffer as a span, in memory order.
/// @throws precondition_error if there are gaps between them
template <class B>
  requires buffer<B>
[[nodiscard]] constexpr auto elements(B&& b) {
  detail::expect_no_gaps(b);
  return std::span<std::remove_pointer_t<buffer_pointer_t<B>>>(detail::first_of(b), detail::count_of(b));
}

namespace detail {

/// The elements of a buffer of T, which may be one T.
/// @throws precondition_error if there are gaps between them
template <class T, class B>
  requires buffer_of<B, T>
[[nodiscard]] constexpr auto elements_of(B&& b) {
  if constexpr (one_element<B, T>) {
    return std::span<std::remove_reference_t<B>>(&b, 1);
  } else {
    return elements(b);
  }
}

}  // namespace detail

}  // namespace tutti
