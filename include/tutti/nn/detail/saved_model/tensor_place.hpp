// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <algorithm>
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

  /// Calls f(i, at) for each element: its number in PyTorch's order, and its number in the vector.
  ///
  /// Units that are beside each other in the vector are far from each other in the tensor, and the elements of a unit
  /// are far from each other in the vector. So units are visited in tiles of a cache line.
  template <class F>
  void for_each(F f) const {
    std::vector<loop> loops;
    loop units{1, 1, 1};
    std::size_t i_stride = size();
    for (auto const& [count, stride] : axes) {
      i_stride /= count;
      if (stride == 1 && units.count == 1) {
        units = {count, i_stride, stride};
      } else {
        loops.push_back({count, i_stride, stride});
      }
    }
    constexpr std::size_t tile = 16;
    for (std::size_t unit = 0; unit < units.count; unit += tile) {
      std::size_t const end = (std::min)(units.count, unit + tile);
      visit(loops, 0, first, [&](std::size_t i, std::size_t at) {
        for (std::size_t u = unit; u != end; ++u) {
          f(i + u * units.i_stride, at + u);
        }
      });
    }
  }

 private:
  struct loop {
    std::size_t count;
    std::size_t i_stride;
    std::size_t at_stride;
  };

  template <class F>
  static void visit(std::span<loop const> loops, std::size_t i, std::size_t at, F const& f) {
    if (loops.empty()) {
      f(i, at);
      return;
    }
    auto const& outer = loops.front();
    for (std::size_t k = 0; k != outer.count; ++k) {
      visit(loops.subspan(1), i + k * outer.i_stride, at + k * outer.at_stride, f);
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
