// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/detail/layer/pooling.hpp>
#include <tutti/nn/extend/layer.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The mean of the pixels under each position of a window, channel by channel. Pixels beyond the edge do not count.
template <class T>
class average_pool final : public detail::pooling<T> {
 public:
  using detail::pooling<T>::pooling;

  /// Returns a copy of the layer.
  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<average_pool>(*this); }
  /// Describes the layer without its arithmetic.
  [[nodiscard]] geometry::variant geometry() const override {
    return {this->geometry_of(geometry::pooling_kind::mean)};
  }

  /// Computes y from x, row by row.
  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) override {
    this->for_each_place(x.shape(0), [&](detail::place const& p) {
      T* const mean = y.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      std::fill_n(mean, this->input().channels, T{0});
      p.for_each_pixel(this->input(), [&](std::size_t pixel_index) {
        T const* const pixel = x.data() + pixel_index;
        for (std::size_t c = 0; c != this->input().channels; ++c) {
          mean[c] += pixel[c] * share;
        }
      });
    });
  }

  /// Computes dx, the derivative with respect to x, from dy, the one with respect to y, unless dx has no columns.
  void backward(batch_context<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) override {
    this->differentiate(dy, dx, [&](detail::place const& p) {
      T const* const derivative = dy.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      p.for_each_pixel(this->input(), [&](std::size_t pixel_index) {
        T* const pixel = dx.data() + pixel_index;
        for (std::size_t c = 0; c != this->input().channels; ++c) {
          pixel[c] += derivative[c] * share;
        }
      });
    });
  }
};

/// The largest value under each position of a window, channel by channel. Pixels beyond the edge do not count. Among
/// equal values the first is chosen; a NaN is larger than all else, so that it shows.
///
/// Values are compared as integers of the same order, several channels at a time, because branches on the comparison
/// would be unpredictable.
template <class T>
class max_pool final : public detail::pooling<T> {
 public:
  using detail::pooling<T>::pooling;

  /// Returns a copy of the layer.
  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<max_pool>(*this); }
  /// Describes the layer without its arithmetic.
  [[nodiscard]] geometry::variant geometry() const override {
    return {this->geometry_of(geometry::pooling_kind::largest)};
  }

  /// Allocates memory for batches of this many rows; later calls do not allocate.
  void reserve(std::size_t rows) override { sources_.resize((std::max)(sources_.size(), rows * this->outputs())); }

  /// Computes y from x, row by row.
  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) override {
    auto const& input = this->input();
    this->for_each_place(
        x.shape(0), [input, x_data = x.data(), y_data = y.data(), sources = sources_.data()](detail::place const& p) {
          T const* const image = x_data + p.image;
          std::size_t const rest = input.size() - ((p.bottom - 1) * input.columns + p.right - 1) * input.channels;
          for (std::size_t c = 0; c < input.channels; c += lanes) {
            // Writing beyond the last channel is harmless: it hits the next position, which is written later.
            if (c + lanes <= rest && p.output + c + lanes <= p.end) {
              find_largest(input, p, image + c, y_data + p.output + c, sources + p.output + c, lanes);
            } else {
              find_largest(input, p, image + c, y_data + p.output + c, sources + p.output + c,
                           (std::min)(lanes, input.channels - c));
            }
          }
        });
  }

  /// Computes dx, the derivative with respect to x, from dy, the one with respect to y, unless dx has no columns.
  void backward(batch_context<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) override {
    this->differentiate(dy, dx, [&](detail::place const& p) {
      T const* const derivative = dy.data() + p.output;
      std::uint32_t const* const sources = sources_.data() + p.output;
      T* const dx_image = dx.data() + p.image;
      for (std::size_t c = 0; c != this->input().channels; ++c) {
        dx_image[sources[c] + c] += derivative[c];
      }
    });
  }

 private:
  using key = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  static constexpr key all_but_the_sign = (std::numeric_limits<key>::max)();

  static constexpr std::size_t lanes = 8;
  // Two types and a choice (compilers.md: Smaller gaps).
  using narrow_keys [[gnu::vector_size(lanes * sizeof(std::int32_t))]] = std::int32_t;
  using wide_keys [[gnu::vector_size(lanes * sizeof(std::int64_t))]] = std::int64_t;
  using keys = std::conditional_t<sizeof(T) == 4, narrow_keys, wide_keys>;

  /// Converts the bits of numbers to keys, and keys to bits, except that the key of a NaN of either sign is the
  /// largest.
  static void exchange(keys& k) noexcept { k ^= (k >> (8 * sizeof(key) - 1)) & all_but_the_sign; }
  static void order(keys& k) noexcept {
    keys const nan = (k & all_but_the_sign) > std::bit_cast<key>(std::numeric_limits<T>::infinity());
    exchange(k);
    k ^= (k ^ all_but_the_sign) & nan;
  }

  /// Finds the largest value of each of this many channels under the window, and the beginning of its pixel in the
  /// image.
  [[gnu::always_inline]] static void find_largest(image_shape const& input, detail::place const& p, T const* image,
                                                  T* largest, std::uint32_t* sources, std::size_t channels) noexcept {
    keys best = keys{} + (std::numeric_limits<key>::min)();  // less than the key of any number
    keys source_keys{};
    for (std::size_t i = p.top; i != p.bottom; ++i) {
      for (std::size_t j = p.left; j != p.right; ++j) {
        std::size_t const pixel = (i * input.columns + j) * input.channels;
        keys k{};
        std::memcpy(&k, image + pixel, channels * sizeof(T));
        order(k);
        keys const better = k > best;
        best ^= (best ^ k) & better;
        source_keys ^= (source_keys ^ static_cast<key>(pixel)) & better;
      }
    }
    exchange(best);
    std::memcpy(largest, &best, channels * sizeof(T));
    for (std::size_t c = 0; c != channels; ++c) {
      sources[c] = static_cast<std::uint32_t>(source_keys[c]);
    }
  }

  std::vector<std::uint32_t> sources_;  // for each output value, the beginning of its source pixel
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class max_pool<float>;
extern template class average_pool<float>;
extern template class max_pool<double>;
extern template class average_pool<double>;
#endif

}  // namespace tutti::nn
