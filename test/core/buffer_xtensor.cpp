// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/buffer.hpp>

#include <boost/test/unit_test.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <numeric>
#include <vector>

namespace {

using xt::all;
using xt::range;

template <class B, class T>
constexpr bool writes = tutti::mutable_buffer_of<B, T>;
template <class B, class T>
constexpr bool reads = tutti::buffer_of<B, T> && !tutti::mutable_buffer<B>;

using rows = xt::xtensor<float, 2>;
using columns = xt::xtensor<float, 2, xt::layout_type::column_major>;
using any_layout = xt::xtensor<float, 2, xt::layout_type::dynamic>;

static_assert(writes<rows, float> && writes<columns, float> && writes<any_layout, float>);
static_assert(writes<xt::xarray<double>, double> && writes<xt::xtensor_fixed<int, xt::xshape<2, 3>>, int>);
static_assert(reads<rows const, float> && reads<columns const&, float>);
// Lazily computed elements have no memory.
static_assert(!tutti::buffer<decltype(std::declval<rows&>() + 1.0F)>);
static_assert(!tutti::buffer<decltype(xt::view(std::declval<rows&>(), xt::keep(0, 2)))>);

/// 4 x 6 elements, numbered in storage order.
template <class Tensor>
[[nodiscard]] Tensor numbered_tensor() {
  auto t = Tensor::from_shape({4, 6});
  for (std::size_t i = 0; i < t.size(); ++i) {
    t.storage()[i] = static_cast<float>(i);
  }
  return t;
}

/// Law: the elements are those of the view, each once and in the order of its indices; a view with gaps is refused.
template <class View>
[[nodiscard]] bool is_whole(View&& view) {
  auto const v = tutti::elements(view);
  return std::vector<float>(v.begin(), v.end()) == std::vector<float>(view.begin(), view.end()) &&
         (v.empty() || v.data() == &*view.begin());
}

template <class View>
[[nodiscard]] bool is_refused(View&& view) {
  try {
    static_cast<void>(tutti::elements(view));
    return false;
  } catch (tutti::precondition_error const&) {
    return true;
  }
}

BOOST_AUTO_TEST_CASE(a_container_is_its_memory) {
  auto t = numbered_tensor<rows>();
  BOOST_TEST(is_whole(t));
  BOOST_TEST(is_whole(std::as_const(t)));
  auto c = numbered_tensor<columns>();
  BOOST_TEST(tutti::elements(c).data() == c.data());
  BOOST_TEST(tutti::elements(c).size() == 24U);
  xt::xarray<float> const none = xt::empty<float>({0, 5});
  BOOST_TEST(tutti::elements(none).empty());
}

BOOST_AUTO_TEST_CASE(a_view_begins_where_it_says) {
  auto t = numbered_tensor<rows>();
  BOOST_TEST(is_whole(xt::view(t, 2)));
  BOOST_TEST(is_whole(xt::view(t, 2, all())));
  BOOST_TEST(is_whole(xt::view(t, range(1, 3), all())));
  BOOST_TEST(is_whole(xt::view(std::as_const(t), 3)));
  BOOST_TEST(is_whole(xt::row(t, 1)));
  BOOST_TEST(is_whole(xt::view(t, 1, range(2, 5))));  // bounds known at run time
  BOOST_TEST(is_whole(xt::view(t, 2, range(0, 6, 9))));
  BOOST_TEST(is_whole(xt::strided_view(t, {range(1, 3), all()})));
  BOOST_TEST(is_whole(xt::flatten(t)));
  BOOST_TEST(is_whole(xt::view(t, range(2, 2), range(1, 3))));  // empty
}

BOOST_AUTO_TEST_CASE(gaps_are_refused) {
  auto t = numbered_tensor<rows>();
  BOOST_TEST(is_refused(xt::view(t, all(), 1)));
  BOOST_TEST(is_refused(xt::col(t, 0)));
  BOOST_TEST(is_refused(xt::view(t, all(), range(0, 5))));
  BOOST_TEST(is_refused(xt::view(t, range(0, 4, 2), all())));
  BOOST_TEST(is_refused(xt::view(t, 1, range(0, 6, 2))));
  BOOST_TEST(is_refused(xt::strided_view(t, {all(), range(1, 3)})));
  BOOST_TEST(is_refused(xt::strided_view(t, {range(0, 4, 3)})));
  BOOST_TEST(is_refused(xt::flip(t, 0)));
  auto c = numbered_tensor<columns>();
  BOOST_TEST(is_refused(xt::view(c, 1, all())));
}

/// A sum with another rank's tensor, or into another tensor, would combine elements of different indices.
BOOST_AUTO_TEST_CASE(another_order_than_that_of_the_indices_is_refused_if_only_the_run_knows_it) {
  auto t = numbered_tensor<rows>();
  BOOST_TEST(is_refused(xt::transpose(t)));
  any_layout column_major(std::array<std::size_t, 2>{4, 6}, xt::layout_type::column_major);
  BOOST_TEST(is_refused(column_major));
  any_layout row_major(std::array<std::size_t, 2>{4, 6}, xt::layout_type::row_major);
  std::iota(row_major.storage().begin(), row_major.storage().end(), 0.0F);  // xtensor leaves them uninitialised
  BOOST_TEST(is_whole(row_major));
}

BOOST_AUTO_TEST_CASE(adapted_memory_is_looked_at) {
  std::vector<float> v(24, 1.0F);
  std::array<std::size_t, 2> const shape{4, 3};
  BOOST_TEST(is_whole(xt::adapt(v, std::array<std::size_t, 2>{4, 6})));
  BOOST_TEST(is_whole(xt::adapt(v.data(), 12, xt::no_ownership(), shape)));
  BOOST_TEST(is_whole(xt::adapt(v.data(), 12, xt::no_ownership(), shape, std::array<std::ptrdiff_t, 2>{3, 1})));
  BOOST_TEST(is_refused(xt::adapt(v.data(), 12, xt::no_ownership(), shape, std::array<std::ptrdiff_t, 2>{6, 1})));
}

}  // namespace
