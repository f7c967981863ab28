// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

/// A tensor as PyTorch has it, and the place of its elements in a model's vector of parameters or of statistics.
/// Element (i, j, ...) of the axes is number `first` + i * stride of the first axis + j * stride of the second + ...
struct tensor_place {
  /// A loop over elements.
  struct axis {
    std::size_t count;
    std::size_t stride;
  };

  std::string name;                ///< such as "layer1.0.conv1.weight"
  std::vector<std::size_t> shape;  ///< shape in PyTorch
  std::vector<axis> axes;          ///< loops over the elements in PyTorch's order, the last one innermost
  std::size_t first = 0;
  bool is_statistic = false;  ///< true: in the vector of statistics

  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t product = 1;
    for (auto const& a : axes) {
      product *= a.count;
    }
    return product;
  }

  /// Calls f with the number of each element in the vector, in PyTorch's order.
  template <class F>
  void for_each(F f) const {
    visit(axes, first, f);
  }

 private:
  template <class F>
  static void visit(std::span<axis const> loops, std::size_t at, F& f) {
    if (loops.empty()) {
      f(at);
      return;
    }
    for (std::size_t i = 0; i != loops.front().count; ++i, at += loops.front().stride) {
      visit(loops.subspan(1), at, f);
    }
  }
};

/// The tensors of a model, in the order of its layers. A dense layer behind an image takes it as PyTorch flattens it,
/// channel after channel, whereas layers here have the channels of a pixel beside each other.
[[nodiscard]] TUTTI_DECL std::vector<tensor_place> tensor_places(std::span<geometry::variant const> layers);

}  // namespace tutti::nn::detail::saved_model

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/saved_model/tensor_place.ipp>
#endif
