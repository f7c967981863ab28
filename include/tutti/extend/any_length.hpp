// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/any_element.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/operation.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace tutti::inline v0_1_0 {

class any_elements;

namespace detail {

/// The call of a message that announces the length of the next one, of elements of type T.
template <class T>
inline constexpr call length_record = make_call(operation_kind::transfer, element_name<T>(), "", "length");
[[nodiscard]] constexpr call const& length_record_of(any_elements const& container) noexcept;

}  // namespace detail

/// Elements of a type that is known at run time, as a container for `any_length`. Its memory is the user's, so a
/// message may be shorter than the memory that it is received in.
///
///     tutti::any_elements room(pointer, capacity, tutti::any_element("int32"));
///     take(tutti::any_length(room), 0);    // room.size() elements have come
///
/// The other end is such a container, or one that has the type in its code.
class any_elements {
 public:
  /// Refers to memory for this number of elements, which is the size until a message sets it. A sender's memory is only
  /// read.
  constexpr any_elements(void* data, std::size_t capacity, any_element const& type) noexcept
      : data_(data),
        size_(capacity),
        capacity_(capacity),
        type_(type),
        length_record_(detail::typed_call(make_call(operation_kind::transfer, "", "", "length"), type)) {}

  /// The first element.
  [[nodiscard]] constexpr void* data() const noexcept { return data_; }
  /// The number of elements that are sent, or have been received.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// The number of elements for which there is memory.
  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return capacity_; }
  /// The type of the elements.
  [[nodiscard]] constexpr any_element const& type() const noexcept { return type_; }

  /// Sets the number of elements.
  /// @throws precondition_error if there is no memory for them
  void resize(std::size_t size) {
    expects(size <= capacity_, "any_elements: there is memory for ", capacity_, " elements, and the message has ", size,
            "; give more memory");
    size_ = size;
  }

 private:
  friend constexpr call const& detail::length_record_of(any_elements const& container) noexcept;

  void* data_;
  std::size_t size_;
  std::size_t capacity_;
  any_element type_;
  call length_record_;  ///< here, because messages under way refer to it
};

namespace detail {

[[nodiscard]] constexpr call const& length_record_of(any_elements const& container) noexcept {
  return container.length_record_;
}

}  // namespace detail

/// A container whose length the other rank does not know, as both ends of a message name it: the sender's length
/// precedes the elements, and the receiver's container is resized to it.
///
///     give(tutti::any_length(particles), 1);    // on rank 0
///     take(tutti::any_length(particles), 0);    // on rank 1; particles is a std::vector<particle>
///
/// @pre both ends say `any_length`; otherwise the message is a mismatch
///
/// Cost: a message of 8 bytes before that of the elements; the receiver allocates as its container does.
template <class Container>
  requires buffer<Container&> || std::same_as<Container, any_elements>
struct any_length {
  /// Refers to a container, which must outlive the operation.
  explicit any_length(Container& c) noexcept : container(c) {}

  /// The container.
  Container& container;
};

namespace detail {

/// A container to which messages of any length can be received.
template <class C>
concept resizable = mutable_buffer<C&> && requires(C& c, std::size_t n) { c.resize(n); };

template <class T>
inline constexpr bool is_any_length = false;
template <class Container>
inline constexpr bool is_any_length<any_length<Container>> = true;
/// True for an `any_length` whose container can be resized.
template <class T>
inline constexpr bool is_resizable = false;
template <resizable Container>
inline constexpr bool is_resizable<any_length<Container>> = true;
template <>
inline constexpr bool is_resizable<any_length<any_elements>> = true;

}  // namespace detail

}  // namespace tutti
