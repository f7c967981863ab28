// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/vectorised.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace tutti::nn {

/// The largest number under each place of a window, channel by channel. Pixels beyond the edge do not
/// count. Of equal ones the first is it; a NaN is larger than all else, so that it shows.
///
/// Numbers are compared as integers in the same order, and what is chosen is chosen by masks: which one is the largest
/// is nothing that a processor could foresee. First the rows under the window, number by number, then the columns of
/// that.
template <class T>
class max_pool : public detail::pooling<T> {
 public:
  using detail::pooling<T>::pooling;

  void reserve(std::size_t rows) {
    chosen_.resize(std::max(chosen_.size(), rows * this->outputs()));
    largest_.resize(this->input().columns * this->input().channels);
    from_.resize(largest_.size());
  }

  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) {
    T const* image = x.data();
    T* to = y.data();
    auto* at = chosen_.data();
    for (std::size_t n = 0; n != x.shape(0); ++n, image += this->inputs()) {
      for (std::size_t i = 0; i != this->output().rows; ++i) {
        choose_rows(image, this->over().begin(i), this->over().end(i, this->input().rows));
        std::size_t const made = this->output().columns * this->output().channels;
        choose_columns(to, at);
        to += made;
        at += made;
      }
    }
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
  using key = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  static constexpr key all_but_the_sign = std::numeric_limits<key>::max();

  static key key_of(T number) noexcept {
    key const bits = std::bit_cast<key>(number);
    key const ordered = bits ^ ((bits >> (8 * sizeof(key) - 1)) & all_but_the_sign);
    // A comparison of numbers would be a branch, because it may raise a flag.
    bool const is_nan = (bits & all_but_the_sign) > std::bit_cast<key>(std::numeric_limits<T>::infinity());
    return ordered ^ ((ordered ^ all_but_the_sign) & -static_cast<key>(is_nan));  // the largest is that of a NaN, too
  }
  static T number_of(key k) noexcept {
    return std::bit_cast<T>(static_cast<key>(k ^ ((k >> (8 * sizeof(key) - 1)) & all_but_the_sign)));
  }

  /// Of each column and channel the largest in these rows of an image, and which row that is.
  void choose_rows(T const* image, std::size_t top, std::size_t bottom) noexcept {
    std::size_t const width = largest_.size();
    vectorised([=, largest = largest_.data(), from = from_.data()] {
      for (std::size_t e = 0; e != width; ++e) {
        largest[e] = key_of(image[top * width + e]);
        from[e] = static_cast<std::uint32_t>(top);
      }
      for (std::size_t r = top + 1; r != bottom; ++r) {
        T const* const row = image + r * width;
        auto const number = static_cast<std::uint32_t>(r);
        for (std::size_t e = 0; e != width; ++e) {
          key const k = key_of(row[e]);
          key const before = largest[e];
          std::uint32_t const where = from[e];
          largest[e] = k > before ? k : before;
          from[e] = k > before ? number : where;
        }
      }
    });
  }

  /// Of each place along these rows, and of each channel, the largest, and which pixel of the image that is.
  void choose_columns(T* to, std::uint32_t* at) const noexcept {
    std::size_t const channels = this->input().channels;
    auto const columns = static_cast<std::uint32_t>(this->input().columns);
    for (std::size_t j = 0; j != this->output().columns; ++j) {
      std::size_t const left = this->over().begin(j);
      std::size_t const right = this->over().end(j, columns);
      for (std::size_t c = 0; c != channels; ++c) {
        key best = largest_[left * channels + c];
        std::uint32_t pixel = from_[left * channels + c] * columns + static_cast<std::uint32_t>(left);
        for (std::size_t column = left + 1; column != right; ++column) {
          key const k = largest_[column * channels + c];
          std::uint32_t const other = from_[column * channels + c] * columns + static_cast<std::uint32_t>(column);
          auto const better = static_cast<unsigned>(k > best) | (static_cast<unsigned>(k == best) & (other < pixel));
          best ^= (best ^ k) & -static_cast<key>(better);
          pixel ^= (pixel ^ other) & (0U - better);
        }
        *to++ = number_of(best);
        *at++ = pixel * static_cast<std::uint32_t>(channels);
      }
    }
  }

  std::vector<std::uint32_t> chosen_;  // for each number of the output, which pixel it is from
  std::vector<key> largest_;           // of some rows
  std::vector<std::uint32_t> from_;    // which of them
};

static_assert(layer<max_pool<float>>);

}  // namespace tutti::nn
