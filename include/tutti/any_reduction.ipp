// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/any_reduction.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/bfloat16.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/location.hpp>
#include <tutti/reduction/logical.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

namespace tutti::inline v0_1_0 {

namespace detail {

template <class R>
inline constexpr combining<R> policy_of{};

/// Sums and means of floating-point numbers, and arithmetic on signed numbers of 4 and 8 bytes.
template <class R, class T = typename R::value_type>
concept frequent = (floating_number<T> && (R::name == "sum" || R::name == "mean")) ||
                   (std::is_signed_v<T> && sizeof(T) >= 4 && std::derived_from<R, of_numbers<T>>);

/// The kernels of R. A header-only program compiles them in each unit, so it has rare ones for the baseline alone.
#ifdef TUTTI_SEPARATE_COMPILATION
template <class R>
using kernels_of = R;
#else
template <class R>
using kernels_of = std::conditional_t<frequent<R>, R, baseline_only<R>>;
#endif

/// The entry of R, computed by the kernels of Kernels.
template <class R, class Kernels = R>
constinit inline reduction_entry const entry_of{policy_of<R>, policy_of<kernels_of<Kernels>>};

/// The reductions of an element type.
struct reduction_row {
  any_element element;
  std::span<reduction_entry const* const> entries;
};
template <class T, reduction_entry const&... Entries>
struct row_of {
  static constexpr reduction_entry const* entries[] = {&Entries...};
  static constexpr reduction_row value{any_element::make<T>(), entries};
};

/// A complex number, without <complex>.
template <class T>
struct complex_pair {
  using value_type = T;

  constexpr complex_pair(T re, T im) noexcept : parts{re, im} {}
  [[nodiscard]] constexpr T real() const noexcept { return parts[0]; }
  [[nodiscard]] constexpr T imag() const noexcept { return parts[1]; }

  T parts[2];
};

// Integers that differ in their sign alone share kernels where results have the same bits.
template <class T, class Signed = std::make_signed_t<T>, class Unsigned = std::make_unsigned_t<T>>
using integer_row =
    row_of<T, entry_of<sum<T>, sum<Signed>>, entry_of<prod<T>, prod<Signed>>, entry_of<min<T>>, entry_of<max<T>>,
           entry_of<logical_and<T>, logical_and<Unsigned>>, entry_of<logical_or<T>, logical_or<Unsigned>>,
           entry_of<logical_xor<T>, logical_xor<Unsigned>>, entry_of<bit_and<T>, bit_and<Unsigned>>,
           entry_of<bit_or<T>, bit_or<Unsigned>>, entry_of<bit_xor<T>, bit_xor<Unsigned>>>;
template <class T>
using floating_row =
    row_of<T, entry_of<sum<T>>, entry_of<prod<T>>, entry_of<min<T>>, entry_of<max<T>>, entry_of<mean<T>>>;
template <class T>
using complex_row = row_of<complex_pair<T>, entry_of<sum<complex_pair<T>>>, entry_of<prod<complex_pair<T>>>>;
template <class T>
using location_row = row_of<indexed_value<T>, entry_of<min_location<T>>, entry_of<max_location<T>>>;
/// Bytes that are not C++'s own bool may have any value: the logical kernels read all but 0 as true, and write 0 or 1.
using bool_row =
    row_of<bool, entry_of<logical_and<bool>, logical_and<std::uint8_t>>,
           entry_of<logical_or<bool>, logical_or<std::uint8_t>>, entry_of<logical_xor<bool>, logical_xor<std::uint8_t>>,
           entry_of<bit_and<bool>, logical_and<std::uint8_t>>, entry_of<bit_or<bool>, logical_or<std::uint8_t>>,
           entry_of<bit_xor<bool>, logical_xor<std::uint8_t>>>;
using byte_row =
    row_of<std::byte, entry_of<bit_and<std::byte>, bit_and<std::uint8_t>>,
           entry_of<bit_or<std::byte>, bit_or<std::uint8_t>>, entry_of<bit_xor<std::byte>, bit_xor<std::uint8_t>>>;

template <class... Rows>
inline constexpr reduction_row rows_of[] = {Rows::value...};
inline constexpr std::span<reduction_row const> reduction_table =
    rows_of<integer_row<std::int8_t>, integer_row<std::int16_t>, integer_row<std::int32_t>, integer_row<std::int64_t>,
            integer_row<std::uint8_t>, integer_row<std::uint16_t>, integer_row<std::uint32_t>,
            integer_row<std::uint64_t>, floating_row<half>, floating_row<bfloat16>, floating_row<float>,
            floating_row<double>, complex_row<float>, complex_row<double>, bool_row, byte_row,
            location_row<std::int32_t>, location_row<std::int64_t>, location_row<std::uint32_t>,
            location_row<std::uint64_t>, location_row<float>, location_row<double>>;

}  // namespace detail

TUTTI_DECL any_reduction::any_reduction(std::string_view name, any_element const& element) {
  std::string offered_names;
  for (detail::reduction_row const& row : detail::reduction_table) {
    if (row.element != element) {
      continue;
    }
    for (detail::reduction_entry const* const entry : row.entries) {
      if (name == entry->names.reduction) {
        entry_ = intrusive_pointer(entry);
        return;
      }
      detail::append(offered_names, {offered_names.empty() ? "" : ", ", entry->names.reduction});
    }
  }
  detail::refuse(
      std::source_location::current(),
      {"any_reduction: ", element.name(), " has no reduction \"", name, "\"; ",
       offered_names.empty() ? "it is only moved, or combined by a function of yours" : "it has ", offered_names});
}

TUTTI_DECL any_reduction::any_reduction(std::string_view name, any_element const& element, function f, void* context,
                                        bool commutes) {
  expects(f != nullptr, "any_reduction: the function is null; give one that combines two vectors");
  call names = make_call({}, element.name(), name, "");
  names.identity = hash(name, element.identity() ^ hash("|")) ^ hash("|");  // names_identity of full names
  names.identity ^= hash(detail::function_spelling(commutes)) ^ hash({});   // equals combining::identity of a functor
  entry_ = intrusive_pointer<detail::reduction_entry const>(
      new detail::reduction_entry(names, element.size(), commutes, f, context));
}

}  // namespace tutti
