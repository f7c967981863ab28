// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/buffer.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/operation.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0 {
namespace detail {

/// The call of a message that announces the length of the next one, of elements of type T.
template <class T>
inline constexpr call length_record = make_call(operation_kind::transfer, element_name<T>(), "", "length");

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
  requires buffer<Container&>
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

}  // namespace detail

}  // namespace tutti
