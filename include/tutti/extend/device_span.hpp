// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// A non-owning view of contiguous elements in a device's memory. It is no `buffer`: the host cannot read device
/// memory, and operators for host memory refuse it.
template <class T>
  requires element<std::remove_const_t<T>>
class device_span {
 public:
  /// T, const for elements that may only be read.
  using element_type = T;

  /// Constructs an empty span.
  constexpr device_span() noexcept = default;
  /// Views `size` elements from the device address `first` on.
  constexpr device_span(T* first, std::size_t size) noexcept : first_(first), size_(size) {}
  /// Views the elements of another span as const.
  template <class U>
    requires std::same_as<T, U const>
  constexpr device_span(device_span<U> const& s) noexcept  // NOLINT(google-explicit-constructor): as std::span
      : first_(s.data()), size_(s.size()) {}

  /// Views all elements of their owner, such as a cuda::array.
  template <class Owner>
    requires(!std::same_as<Owner, device_span<std::remove_const_t<T>>>) &&
            requires(Owner const& o) { requires std::convertible_to<decltype(o.span()), device_span>; }
  constexpr device_span(Owner const& o) noexcept  // NOLINT(google-explicit-constructor): as std::span
      : device_span(o.span()) {}

  /// The device address of the first element.
  [[nodiscard]] constexpr T* data() const noexcept { return first_; }
  /// The number of elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// True if there are no elements.
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }

  /// The elements as a std::span, which the host must not read. @pre the address is a multiple of alignof(T)
  [[nodiscard]] std::span<T> elements() const {
    expects(reinterpret_cast<std::uintptr_t>(first_) % alignof(T) == 0,
            "device_span: the address must be a multiple of the elements' alignment, ", alignof(T));
    return {first_, size_};
  }
  /// The `count` elements from element `first` on. @pre they are within this span
  [[nodiscard]] constexpr device_span subspan(std::size_t first, std::size_t count) const {
    expects(first <= size_ && count <= size_ - first, "device_span: ", count, " elements first element ", first,
            " on must lie within its size, ", size_);
    return {first_ + first, count};
  }

 private:
  T* first_ = nullptr;
  std::size_t size_ = 0;
};

template <class Owner>
device_span(Owner const& o) -> device_span<typename decltype(o.span())::element_type>;

/// A device_span, or an owner of elements on a device, such as a cuda::array.
template <class D>
concept device_memory = requires(D const& d) { device_span(d); };
/// The element type, const for elements that may only be read.
template <device_memory D>
using device_element_t = typename decltype(device_span(std::declval<D const&>()))::element_type;

}  // namespace tutti
