// SPDX-License-Identifier: Apache-2.0
// test: address
#include <reduction/integer.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/logical.hpp>

#include <array>

namespace {

using integers = decltype(std::tuple_cat(std::tuple<bool>{}, integer::types{}));

template <class T>
struct samples_of {
  static std::vector<T> make() {
    return {static_cast<T>(0),
            static_cast<T>(1),
            static_cast<T>(2),
            static_cast<T>(0x55),
            static_cast<T>(0xff),
            static_cast<T>(~static_cast<T>(0)),
            static_cast<T>(static_cast<T>(1) << (8 * sizeof(T) - 2))};
  }
};
template <>
struct samples_of<bool> {
  // An array, because std::vector<bool> has no data().
  static std::array<bool, 2> make() { return {false, true}; }
};

struct same_truth {
  template <class T>
  bool operator()(T result, T x) const {
    return result == static_cast<T>(x ? 1 : 0);
  }
};

template <class R>
void check_logical() {
  using T = typename R::value_type;
  auto const samples = samples_of<T>::make();
  BOOST_TEST(laws::algebra(R{}, std::span<T const>(samples), laws::same_bits{}, same_truth{}) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(logical_ones_obey_the_laws, T, integers) {
  check_logical<tutti::logical_and<T>>();
  check_logical<tutti::logical_or<T>>();
  check_logical<tutti::logical_xor<T>>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(logical_ones_make_zero_or_one, T, integers) {
  for (T const x : samples_of<T>::make()) {
    for (T const y : samples_of<T>::make()) {
      bool const a = x != T{};
      bool const b = y != T{};
      BOOST_TEST((tutti::logical_and<T>::combine(x, y) == static_cast<T>(a && b ? 1 : 0)));
      BOOST_TEST((tutti::logical_or<T>::combine(x, y) == static_cast<T>(a || b ? 1 : 0)));
      BOOST_TEST((tutti::logical_xor<T>::combine(x, y) == static_cast<T>(a != b ? 1 : 0)));
    }
  }
}

template <class R>
void check_bitwise() {
  using T = typename R::value_type;
  auto const samples = samples_of<T>::make();
  BOOST_TEST(laws::algebra(R{}, std::span<T const>(samples)) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bitwise_ones_obey_the_laws, T, integers) {
  check_bitwise<tutti::bit_and<T>>();
  check_bitwise<tutti::bit_or<T>>();
  check_bitwise<tutti::bit_xor<T>>();
}

BOOST_AUTO_TEST_CASE(bytes_are_bits) {
  check_bitwise<tutti::bit_and<std::byte>>();
  check_bitwise<tutti::bit_or<std::byte>>();
  check_bitwise<tutti::bit_xor<std::byte>>();
}

BOOST_AUTO_TEST_CASE(values) {
  BOOST_TEST(tutti::bit_and<unsigned>::combine(12, 10) == 8U);
  BOOST_TEST(tutti::bit_or<unsigned>::combine(12, 10) == 14U);
  BOOST_TEST(tutti::bit_xor<unsigned>::combine(12, 10) == 6U);
}

// Kernels of one type of each size; the arithmetic tests check all types.
template <class R>
void check_kernels() {
  using T = typename R::value_type;
  std::vector<T> const samples = samples_of<T>::make();
  BOOST_TEST(laws::kernels(R{}, std::span<T const>(samples)) == "");
}

BOOST_AUTO_TEST_CASE(kernels_match) {
  check_kernels<tutti::logical_and<std::int32_t>>();
  check_kernels<tutti::logical_or<std::uint8_t>>();
  check_kernels<tutti::logical_xor<std::int64_t>>();
  check_kernels<tutti::bit_and<std::uint16_t>>();
  check_kernels<tutti::bit_or<std::byte>>();
  check_kernels<tutti::bit_xor<std::uint32_t>>();
}

/// An array of bool, because the laws would need a std::vector<bool>, which is none.
BOOST_AUTO_TEST_CASE(kernels_match_for_bool) {
  bool a[67];
  bool b[67];
  bool result[67];
  for (std::size_t i = 0; i < 67; ++i) {
    a[i] = i % 2 == 0;
    b[i] = i % 3 == 0;
  }
  tutti::detail::fold(tutti::logical_and<>{}, {}, reinterpret_cast<std::byte const*>(a),
                      reinterpret_cast<std::byte const*>(b), reinterpret_cast<std::byte*>(result), 67, 2);
  bool is_right = true;
  for (std::size_t i = 0; i < 67; ++i) {
    is_right = is_right && result[i] == (i % 6 == 0);
  }
  BOOST_TEST(is_right);
}

}  // namespace
