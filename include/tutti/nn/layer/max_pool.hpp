// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/pooling.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::nn {

/// The largest number under each place of a window, channel by channel. Pixels beyond the edge do not
/// count. Of equal ones the first is it; a NaN is larger than all else, so that it shows.
template <class T>
class max_pool : public detail::pooling<T> {
 public:
  using detail::pooling<T>::pooling;

  void reserve(std::size_t rows) { chosen_.resize(std::max(chosen_.size(), rows * this->outputs())); }

  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) {
    this->for_each_place(x.shape(0), [&](detail::place const& p) {
      T* const best = y.data() + p.output;
      std::uint32_t* const at = chosen_.data() + p.output;
      bool first = true;
      p.for_each_pixel(this->input(), [&](std::size_t from) {
        T const* const pixel = x.data() + from;
        auto const offset = static_cast<std::uint32_t>(from - p.image);
        for (std::size_t c = 0; c != this->input().channels; ++c) {
          bool const better = first || pixel[c] > best[c] || pixel[c] != pixel[c];
          best[c] = better ? pixel[c] : best[c];
          at[c] = better ? offset : at[c];
        }
        first = false;
      });
    });
  }

  void backward(pass<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) const {
    if (dx.shape(1) == 0) {
      return;
    }
    std::fill_n(dx.data(), dx.size(), T{0});
    this->for_each_place(dy.shape(0), [&](detail::place const& p) {
      T const* const slope = dy.data() + p.output;
      std::uint32_t const* const at = chosen_.data() + p.output;
      T* const to = dx.data() + p.image;
      for (std::size_t c = 0; c != this->input().channels; ++c) {
        to[at[c] + c] += slope[c];
      }
    });
  }

 private:
  std::vector<std::uint32_t> chosen_;  // for each number of the output, which pixel it is from
};

static_assert(layer<max_pool<float>>);

}  // namespace tutti::nn
