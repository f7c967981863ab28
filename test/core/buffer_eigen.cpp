// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/buffer.hpp>

#include <boost/test/unit_test.hpp>

#include <Eigen/Core>
#include <complex>
#include <utility>
#include <vector>

namespace {

template <class B, class T>
constexpr bool writes = tutti::mutable_buffer_of<B, T>;
template <class B, class T>
constexpr bool reads = tutti::buffer_of<B, T> && !tutti::mutable_buffer<B>;

using Eigen::Dynamic;
using Eigen::InnerStride;
using Eigen::Map;
using Eigen::Matrix4d;
using Eigen::MatrixXd;
using Eigen::OuterStride;
using Eigen::VectorXd;
using row_major_matrix = Eigen::Matrix<double, Dynamic, Dynamic, Eigen::RowMajor>;

// Owners of numbers have no gaps, nor have maps without strides.
static_assert(writes<MatrixXd, double> && writes<Matrix4d, double> && writes<row_major_matrix&, double>);
static_assert(writes<VectorXd, double> && writes<Eigen::RowVector3f, float> && writes<Eigen::ArrayXXi, int>);
static_assert(reads<MatrixXd const, double> && reads<VectorXd const&, double>);
static_assert(writes<Map<MatrixXd>, double> && reads<Map<MatrixXd const>, double>);
static_assert(writes<Eigen::VectorXcd, std::complex<double>>);

// Parts of a vector, columns of columns and rows of rows have no gaps.
static_assert(writes<decltype(std::declval<VectorXd&>().segment(1, 2)), double> &&
              writes<decltype(std::declval<VectorXd&>().tail<2>()), double>);
static_assert(writes<decltype(std::declval<MatrixXd&>().col(1)), double> &&
              writes<decltype(std::declval<row_major_matrix&>().row(1)), double>);
static_assert(writes<decltype(std::declval<Matrix4d&>().col(1)), double> &&
              writes<decltype(std::declval<Matrix4d&>().leftCols<2>()), double>);

// A type whose neighbours are apart does not compile.
static_assert(!tutti::buffer<decltype(std::declval<MatrixXd&>().row(1))> &&
              !tutti::buffer<decltype(std::declval<row_major_matrix&>().col(1))>);
static_assert(!tutti::buffer<decltype(std::declval<Matrix4d&>().row(1))> &&
              !tutti::buffer<decltype(std::declval<Matrix4d&>().block<2, 2>(0, 0))>);
static_assert(!tutti::buffer<decltype(std::declval<MatrixXd&>().diagonal())> &&
              !tutti::buffer<decltype(std::declval<VectorXd&>().reverse())>);
static_assert(!tutti::buffer<decltype(std::declval<Eigen::VectorXcd&>().real())> &&
              !tutti::buffer<decltype(std::declval<MatrixXd&>() + std::declval<MatrixXd&>())>);
static_assert(!tutti::buffer<Map<VectorXd, 0, InnerStride<2>>> && !tutti::buffer<Map<VectorXd, 0, InnerStride<>>>);

// A part or a map of a matrix is a view, so as a temporary it lasts; a matrix does not.
static_assert(tutti::lasting_mutable_buffer<decltype(std::declval<MatrixXd&>().col(1))> &&
              tutti::lasting_mutable_buffer<decltype(std::declval<VectorXd&>().tail<2>())> &&
              tutti::lasting_mutable_buffer<Map<MatrixXd>>);
static_assert(tutti::lasting_mutable_buffer<MatrixXd&> && !tutti::lasting_mutable_buffer<MatrixXd> &&
              !tutti::lasting_mutable_buffer<Matrix4d> && !tutti::lasting_mutable_buffer<Eigen::ArrayXXi>);

/// A matrix whose elements are numbered in storage order.
[[nodiscard]] MatrixXd numbered_matrix(Eigen::Index n, Eigen::Index columns) {
  MatrixXd matrix(n, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<double>(i);
  }
  return matrix;
}

/// Law: the elements are those of the matrix, column by column; a matrix with gaps is refused.
template <class Matrix>
[[nodiscard]] bool is_whole(Matrix&& matrix) {
  auto const elements = tutti::elements(matrix);
  std::vector<double> expected;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
      expected.push_back(matrix(i, j));
    }
  }
  return std::vector<double>(elements.begin(), elements.end()) == expected;
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

BOOST_AUTO_TEST_CASE(without_gaps_it_is_right) {
  MatrixXd a = numbered_matrix(4, 6);
  BOOST_TEST(is_whole(a));
  BOOST_TEST(is_whole(std::as_const(a)));
  BOOST_TEST(is_whole(a.col(2)));
  BOOST_TEST(is_whole(a.middleCols(1, 3)));
  BOOST_TEST(is_whole(a.block(0, 1, 4, 3)));
  BOOST_TEST(is_whole(a.block(1, 2, 2, 1)));  // one column
  BOOST_TEST(is_whole(a.block(0, 0, 2, 0)));  // nothing
  BOOST_TEST(is_whole(Map<MatrixXd>(a.data(), 3, 8)));
  BOOST_TEST(is_whole(Map<MatrixXd, 0, OuterStride<>>(a.data(), 3, 8, OuterStride<>(3))));
  VectorXd b = numbered_matrix(9, 1);
  BOOST_TEST(is_whole(b));
  BOOST_TEST(is_whole(b.segment(2, 5)));
  BOOST_TEST(is_whole(Eigen::Ref<VectorXd>(b)));
  Matrix4d c = numbered_matrix(4, 4);
  BOOST_TEST(is_whole(c));
  BOOST_TEST(is_whole(MatrixXd()));
}

BOOST_AUTO_TEST_CASE(gaps_between_columns_are_refused) {
  MatrixXd a = numbered_matrix(4, 6);
  BOOST_TEST(is_refused(a.block(0, 1, 3, 3)));
  BOOST_TEST(is_refused(a.topRows(2)));
  BOOST_TEST(is_refused(Map<MatrixXd, 0, OuterStride<>>(a.data(), 3, 6, OuterStride<>(4))));
  BOOST_TEST(is_refused(Map<MatrixXd, 0, Eigen::Stride<4, 1>>(a.data(), 3, 6)));
  BOOST_TEST(is_refused(Eigen::Ref<MatrixXd>(a.topRows(3))));
}

}  // namespace
