// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/convolution/geometry.hpp>
#include <tutti/nn/detail/products/product.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline convolution {

/// Convolution as matrix products, for all types of the BLAS: the values under each position of the window become a
/// row of a matrix. The matrix is made in pieces small enough to stay in a core's cache between writing and
/// multiplication.
///
/// Chellapilla, Puri, Simard, "High performance convolutional neural networks for document
/// processing", 2006.
template <class T>
class blas_convolution {
 public:
  explicit blas_convolution(convolution_geometry const& geometry) : geometry_(geometry) {}

  /// Allocates memory for one piece, independent of the batch.
  void reserve(std::size_t) { piece_.resize(piece_rows() * geometry_.fan_in()); }

  void forward(std::size_t images, T const* x, T const* weights, T* y) {
    for_each_piece(images, [&](piece const& p) {
      gather(x, p);
      multiply(operand::as_is, operand::as_is, p.rows, geometry_.group_outputs(), geometry_.fan_in(), piece_.data(),
               geometry_.fan_in(), weights + p.group * group_weights(), geometry_.group_outputs(), T{0},
               y + output_at(p), geometry_.output.channels);
    });
  }

  /// Overwrites the gradients of the weights.
  void differentiate_weights(std::size_t images, T const* x, T const* dy, T* gradients) {
    std::fill_n(gradients, geometry_.weights(), T{0});
    for_each_piece(images, [&](piece const& p) {
      gather(x, p);
      multiply(operand::transpose, operand::as_is, geometry_.fan_in(), geometry_.group_outputs(), p.rows, piece_.data(),
               geometry_.fan_in(), dy + output_at(p), geometry_.output.channels, T{1},
               gradients + p.group * group_weights(), geometry_.group_outputs());
    });
  }

  /// Overwrites the derivative with respect to the input.
  void differentiate_input(std::size_t images, T const* dy, T const* weights, T* dx) {
    std::fill_n(dx, images * geometry_.input.size(), T{0});
    for_each_piece(images, [&](piece const& p) {
      multiply(operand::as_is, operand::transpose, p.rows, geometry_.fan_in(), geometry_.group_outputs(),
               dy + output_at(p), geometry_.output.channels, weights + p.group * group_weights(),
               geometry_.group_outputs(), T{0}, piece_.data(), geometry_.fan_in());
      scatter(dx, p);
    });
  }

 private:
  /// Rows of the matrix of a group: `rows` positions of the window, beginning at position `first`, counted through
  /// the images of the batch.
  struct piece {
    std::size_t group;
    std::size_t first;
    std::size_t rows;
  };

  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  [[nodiscard]] std::size_t piece_rows() const noexcept {
    return std::max<std::size_t>(piece_bytes / sizeof(T) / geometry_.fan_in(), 16);
  }
  [[nodiscard]] std::size_t group_weights() const noexcept { return geometry_.fan_in() * geometry_.group_outputs(); }
  [[nodiscard]] std::size_t output_at(piece const& p) const noexcept {
    return p.first * geometry_.output.channels + p.group * geometry_.group_outputs();
  }

  template <class F>
  void for_each_piece(std::size_t images, F const& f) const {
    std::size_t const places = images * geometry_.pixels();
    for (std::size_t group = 0; group != geometry_.groups; ++group) {
      for (std::size_t first = 0; first < places; first += piece_rows()) {
        f(piece{group, first, (std::min)(piece_rows(), places - first)});
      }
    }
  }

  /// Computes c = a b + keep c. The leading dimensions select parts of matrices, which the views of xtensor-blas
  /// cannot.
  static void multiply(operand form_a, operand form_b, std::size_t rows, std::size_t columns, std::size_t inner,
                       T const* a, std::size_t lead_a, T const* b, std::size_t lead_b, T keep, T* c,
                       std::size_t lead_c) {
    using index = xt::blas_index_t;
    auto const transposition = [](operand form) {
      return form == operand::transpose ? cxxblas::Transpose::Trans : cxxblas::Transpose::NoTrans;
    };
    cxxblas::gemm<index>(cxxblas::StorageOrder::RowMajor, transposition(form_a), transposition(form_b),
                         static_cast<index>(rows), static_cast<index>(columns), static_cast<index>(inner), T{1}, a,
                         static_cast<index>(lead_a), b, static_cast<index>(lead_b), keep, c,
                         static_cast<index>(lead_c));
  }

  /// Calls f(pixel, run) for every input pixel under a position of the piece, with its run in the piece's matrix, and
  /// f(nullptr, run) for every pixel beyond the edge.
  template <class Number, class F>
  void walk(Number* image, piece const& p, F const& f) {
    auto const& [side, stride, padding] = geometry_.filter_window;
    std::size_t const channels = geometry_.group_inputs();
    T* run = piece_.data();
    for (std::size_t place = p.first; place != p.first + p.rows; ++place) {
      std::size_t const at = place % geometry_.pixels();
      Number* const group_image = image + place / geometry_.pixels() * geometry_.input.size() + p.group * channels;
      std::size_t const top = at / geometry_.output.columns * stride;
      std::size_t const left = at % geometry_.output.columns * stride;
      for (std::size_t i = top; i != top + side; ++i) {
        for (std::size_t j = left; j != left + side; ++j, run += channels) {
          // Before the first row or column the difference wraps around and is too large, too.
          bool const is_inside = i - padding < geometry_.input.rows && j - padding < geometry_.input.columns;
          f(is_inside
                ? group_image + ((i - padding) * geometry_.input.columns + (j - padding)) * geometry_.input.channels
                : nullptr,
            run);
        }
      }
    }
  }

  void gather(T const* x, piece const& p) {
    walk(x, p, [count = geometry_.group_inputs()](T const* pixel, T* run) {
      if (pixel == nullptr) {
        std::fill_n(run, count, T{0});
      } else {
        std::copy_n(pixel, count, run);
      }
    });
  }

  void scatter(T* dx, piece const& p) {
    walk(dx, p, [count = geometry_.group_inputs()](T* pixel, T const* run) {
      for (std::size_t c = 0; pixel != nullptr && c != count; ++c) {
        pixel[c] += run[c];
      }
    });
  }

  convolution_geometry geometry_;
  std::vector<T> piece_;
};

}  // namespace tutti::nn::detail::convolution
