// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/buffer.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

template <class B, class T>
constexpr bool writes = tutti::mutable_buffer_of<B, T>;
template <class B, class T>
constexpr bool reads = tutti::buffer_of<B, T> && !tutti::mutable_buffer<B>;

static_assert(writes<std::vector<float>, float>);
static_assert(writes<std::array<double, 3>, double>);
static_assert(writes<std::span<int>, int>);
static_assert(writes<std::span<int> const, int>);  // a constant span of mutable elements
static_assert(writes<std::span<int, 4>, int>);
static_assert(writes<std::string, char>);

static_assert(reads<std::vector<float> const, float>);
static_assert(reads<std::array<float, 2> const, float>);
static_assert(reads<std::span<float const>, float>);
static_assert(reads<std::string_view, char>);

// An array of any dimensions is a buffer of its scalar elements.
static_assert(writes<float[4], float>);
static_assert(writes<float (&)[4], float>);
static_assert(writes<float[2][3][4], float>);
static_assert(reads<float const[4], float>);
static_assert(reads<float const (&)[2][3], float>);

// A pointer becomes a buffer together with a count.
static_assert(!tutti::buffer<float*>);
static_assert(writes<decltype(std::span(std::declval<float (&)[4]>())), float>);
static_assert(writes<decltype(std::span(std::declval<float*>(), std::size_t{4})), float>);

// One number is a buffer of one; an object of a class is one only where its type is asked for.
struct pair_of_numbers {
  float first, second;
};
enum class colour : short { red };
static_assert(writes<float, float> && writes<float&, float> && reads<float const&, float>);
static_assert(writes<colour&, colour> && writes<std::complex<float>&, std::complex<float>> && writes<bool&, bool>);
static_assert(!tutti::buffer<pair_of_numbers&> && tutti::mutable_buffer_of<pair_of_numbers&, pair_of_numbers> &&
              tutti::buffer_of<pair_of_numbers const&, pair_of_numbers> &&
              !tutti::mutable_buffer_of<pair_of_numbers const&, pair_of_numbers>);
static_assert(!tutti::buffer<std::nullptr_t> && !tutti::buffer<void (*)()>);

// Outputs outlive the call, and so do inputs of started operations: variables do, and views of them.
static_assert(tutti::lasting_mutable_buffer<std::vector<int>&> && !tutti::lasting_mutable_buffer<std::vector<int>>);
static_assert(tutti::lasting_mutable_buffer<std::span<int>> && !tutti::lasting_mutable_buffer<std::array<int, 2>>);
static_assert(tutti::lasting_mutable_buffer<int&> && !tutti::lasting_buffer<int>);
static_assert(!tutti::buffer<std::vector<bool>>);         // its elements are bits
static_assert(!tutti::buffer<std::list<int>>);            // not contiguous
static_assert(!tutti::buffer<std::deque<int>>);           // not contiguous, though random access
static_assert(!tutti::buffer<std::vector<std::string>>);  // bytes are not the value

// A type with only data() and size() may also have strides, which these do not show.
struct plane {
  int* first;
  int rows, columns, stride;
  [[nodiscard]] int* data() const { return first; }
  [[nodiscard]] int size() const { return rows * columns; }
};
static_assert(!tutti::buffer<plane> && !tutti::buffer<plane const&>);

// A type whose author states that it has no strides.
struct line : plane {};

}  // namespace

template <>
inline constexpr bool tutti::enable_buffer<line> = true;

namespace {

static_assert(writes<line, int> && writes<line const&, int>);

BOOST_AUTO_TEST_CASE(elements_are_those_of_the_container) {
  std::vector<int> v{1, 2, 3};
  BOOST_TEST(tutti::elements(v).data() == v.data());
  BOOST_TEST(tutti::elements(v).size() == 3U);
  static_assert(std::is_same_v<decltype(tutti::elements(v)), std::span<int>>);
  static_assert(std::is_same_v<decltype(tutti::elements(std::as_const(v))), std::span<int const>>);
  BOOST_TEST(tutti::elements(std::span(v).subspan(1)).data() == v.data() + 1);

  std::vector<int> const none;
  BOOST_TEST(tutti::elements(none).empty());

  line const whole{{v.data(), 1, 3, 99}};
  BOOST_TEST(tutti::elements(whole).data() == v.data());
  BOOST_TEST(tutti::elements(whole).size() == 3U);
}

BOOST_AUTO_TEST_CASE(an_array_is_as_long_as_all_of_its_dimensions) {
  int flat[3] = {1, 2, 3};
  BOOST_TEST(tutti::elements(flat).data() == flat);
  BOOST_TEST(tutti::elements(flat).size() == 3U);

  double const cube[2][3][4] = {};
  auto const elements = tutti::elements(cube);
  static_assert(std::is_same_v<decltype(elements), std::span<double const> const>);
  BOOST_TEST(elements.data() == &cube[0][0][0]);
  BOOST_TEST(elements.size() == 24U);
  BOOST_TEST(&elements[23] == &cube[1][2][3]);
}

// Elements: types that may travel.
struct point {
  float x, y;
};
struct alignas(32) wide {
  float x[8];
};
struct owner {
  std::string s;
};
static_assert(tutti::element<float> && tutti::element<point> && tutti::element<std::byte> && tutti::element<int[2]>);
static_assert(!tutti::element<wide>);
static_assert(!tutti::element<owner> && !tutti::element<float const> && !tutti::element<float&> &&
              !tutti::element<void>);

// Names of builtin types are fixed: the two ends may be built by different compilers.
static_assert(tutti::element_name<float>() == "float32" && tutti::element_name<double>() == "float64");
static_assert(tutti::element_name<bool>() == "bool" && tutti::element_name<std::byte>() == "byte");
static_assert(tutti::element_name<std::int8_t>() == "int8" && tutti::element_name<std::uint8_t>() == "uint8");
static_assert(tutti::element_name<std::int16_t>() == "int16" && tutti::element_name<std::uint16_t>() == "uint16");
static_assert(tutti::element_name<int>() == "int32" && tutti::element_name<unsigned>() == "uint32");
static_assert(tutti::element_name<long>() == "int64" && tutti::element_name<long long>() == "int64");
static_assert(tutti::element_name<unsigned long long>() == "uint64");
#ifdef __SIZEOF_INT128__
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
static_assert(tutti::element_name<int128>() == "int128" && tutti::element_name<uint128>() == "uint128");
#endif
// The formats of long double differ between processors, and so do the names of types made of it.
static_assert(tutti::element_name<long double>() != "float64" && tutti::element_name<long double>() != "long double");
static_assert(tutti::element_name<std::complex<long double>>().starts_with("complex float"));

}  // namespace

namespace geometry {

struct vertex {
  double x;
};

BOOST_AUTO_TEST_CASE(a_class_is_named_as_the_compiler_spells_it) {
  BOOST_TEST(tutti::element_name<vertex>() == "geometry::vertex");
}

}  // namespace geometry
