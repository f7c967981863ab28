// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/identity.hpp>
#include <tutti/nn/layer/line.hpp>
#include <tutti/nn/shape.hpp>
#include <tutti/nn/vectorised.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti::nn {

/// y = activation(gamma (x - mean) / sqrt(variance + epsilon) + beta), channel by channel. In training,
/// mean and variance are those of the batch: of this rank's part of it, or of the whole where the pass
/// knows how to sum over ranks, on each of which the batch then has a row. Otherwise they are the
/// running ones that training left, which are statistics, not parameters.
///
/// Ioffe, Szegedy, "Batch normalization", ICML 2015.
/// Cost: two passes over the batch each way, and for statistics of all ranks one sum of 2 channels + 1
/// numbers forward and one of 2 channels backward.
template <class T, activation<T> Activation = identity>
class batch_norm {
 public:
  using value_type = T;

  static constexpr T epsilon = static_cast<T>(1e-5);
  static constexpr T momentum = static_cast<T>(0.1);  ///< share of the newest batch in the running statistics

  explicit batch_norm(image_shape const& image) : image_(image) {
    expects(image.size() > 0, "batch_norm: an image of at least one number");
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return image_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return image_.size(); }
  [[nodiscard]] image_shape output_shape() const noexcept { return image_; }
  [[nodiscard]] std::size_t parameters() const noexcept { return 2 * image_.channels; }
  [[nodiscard]] std::size_t statistics() const noexcept { return 2 * image_.channels; }
  [[nodiscard]] static constexpr weight_blocks weights() noexcept { return {}; }

  /// The parameters hold gamma, then beta; the statistics the running mean, then the variance.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters() &&
                statistics.size() == this->statistics(),
            "batch_norm: bind takes exactly parameters() and statistics() numbers");
    parameters_ = parameters;
    gradients_ = gradients;
    statistics_ = statistics;
    sums_.resize(2 * image_.channels + 1);
    lines_.resize(6 * line());
  }

  void initialise(random_sequence&) {
    std::ranges::fill(parameters_.first(image_.channels), T{1});
    std::ranges::fill(parameters_.last(image_.channels), T{0});
    std::ranges::fill(statistics_.first(image_.channels), T{0});
    std::ranges::fill(statistics_.last(image_.channels), T{1});
  }

  static constexpr void reserve(std::size_t) noexcept {}

  void forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y) {
    std::size_t const channels = image_.channels;
    if (how.training) {
      measure(how, x);
    } else {
      for (std::size_t c = 0; c != channels; ++c) {
        mean()[c] = statistics_[c];
        spread()[c] = T{1} / std::sqrt(statistics_[channels + c] + epsilon);
      }
    }
    for (std::size_t c = 0; c != channels; ++c) {
      factor()[c] = parameters_[c] * spread()[c];
      offset()[c] = parameters_[channels + c] - mean()[c] * factor()[c];
    }
    for (T* const numbers : {mean(), factor(), offset()}) {
      repeat(numbers);
    }
    vectorised([&, factor = factor(), offset = offset(), from = x.data(), to = y.data()] {
      detail::for_each_line(x.size(), channels, [&](std::size_t at, std::size_t count) {
        T const* const in = from + at;
        T* const out = to + at;
        for (std::size_t i = 0; i != count; ++i) {
          out[i] = Activation::value(in[i] * factor[i] + offset[i]);
        }
      });
    });
  }

  void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                matrix_view<T> dx) {
    expects(how.training, "batch_norm: backward follows a forward in training");
    std::size_t const channels = image_.channels;
    // Sums of the derivatives by the normalised numbers, and of their products with x - mean.
    auto const sums = std::span(sums_).first(2 * channels);
    T* const slopes = sums.data();
    T* const moments = slopes + channels;
    add_up(x.size(), [middle = mean(), from = x.data(), values = y.data(), slopes_of = dy.data()](
                         std::size_t at, std::size_t count, T* first, T* second) {
      T const* const in = from + at;
      [[maybe_unused]] T const* const value = values + at;
      T* const slope = slopes_of + at;
      for (std::size_t i = 0; i != count; ++i) {
        if constexpr (!std::is_same_v<Activation, identity>) {  // or memory would be written as it is
          slope[i] *= Activation::slope(value[i]);
        }
        first[i] += slope[i];
        second[i] += slope[i] * (in[i] - middle[i]);
      }
    });
    for (std::size_t c = 0; c != channels; ++c) {
      gradients_[c] = moments[c] * spread()[c];
      gradients_[channels + c] = slopes[c];
    }
    if (dx.shape(1) == 0) {
      // The layer is the first of its model on every rank: nobody waits for the sum.
      return;
    }
    how.sum(sums);
    T* const moment = partial();
    T* const mean_slope = partial() + line();
    for (std::size_t c = 0; c != channels; ++c) {
      moment[c] = moments[c] * factor()[c] * spread()[c] * spread()[c] / samples_;
      mean_slope[c] = slopes[c] * factor()[c] / samples_;
    }
    repeat(moment);
    repeat(mean_slope);
    vectorised([=, factor = factor(), middle = mean(), from = x.data(), slopes_of = dy.data(), to = dx.data(),
                numbers = x.size()] {
      detail::for_each_line(numbers, channels, [=](std::size_t at, std::size_t count) {
        T const* const in = from + at;
        T const* const slope = slopes_of + at;
        T* const out = to + at;
        for (std::size_t i = 0; i != count; ++i) {
          out[i] = factor[i] * slope[i] - mean_slope[i] - (in[i] - middle[i]) * moment[i];
        }
      });
    });
  }

 private:
  // What there is of a number for each channel; the loops over pixels want it as lines.
  [[nodiscard]] std::size_t line() const noexcept { return detail::line_length(image_.channels); }
  [[nodiscard]] T* mean() noexcept { return lines_.data(); }
  [[nodiscard]] T* factor() noexcept { return lines_.data() + line(); }
  [[nodiscard]] T* offset() noexcept { return lines_.data() + 2 * line(); }
  [[nodiscard]] T* spread() noexcept { return lines_.data() + 3 * line(); }  // 1 / standard deviation
  [[nodiscard]] T* partial() noexcept { return lines_.data() + 4 * line(); }

  /// Makes a line of its first numbers, those of the channels.
  void repeat(T* numbers) noexcept {
    for (std::size_t at = image_.channels; at != line(); ++at) {
      numbers[at] = numbers[at - image_.channels];
    }
  }

  /// Adds up two numbers of each channel over all pixels: f(at, count, first, second) adds those of the line at
  /// `at`. Runs of lines are added up by themselves, or the last ones would be lost in the sum.
  template <class F>
  void add_up(std::size_t numbers, F const& f) {
    std::size_t const channels = image_.channels;
    T* const first = partial();
    T* const second = partial() + line();
    std::fill_n(sums_.data(), 2 * channels, T{0});
    std::size_t const run = 256 * line();
    for (std::size_t done = 0; done < numbers; done += run) {
      std::fill_n(first, 2 * line(), T{0});
      vectorised([&] {
        detail::for_each_line(std::min(run, numbers - done), channels,
                              [&](std::size_t at, std::size_t count) { f(done + at, count, first, second); });
      });
      detail::fold_line(first, channels, sums_.data());
      detail::fold_line(second, channels, sums_.data() + channels);
    }
  }

  /// Mean and spread of the batch, from differences to the running mean: those of the numbers themselves
  /// would lose the digits that a large mean takes.
  void measure(pass<T> const& how, matrix_view<T const> const& x) {
    std::size_t const channels = image_.channels;
    T* const running = statistics_.data();
    std::copy_n(running, channels, mean());
    repeat(mean());
    add_up(x.size(), [middle = mean(), from = x.data()](std::size_t at, std::size_t count, T* first, T* second) {
      T const* const in = from + at;
      for (std::size_t i = 0; i != count; ++i) {
        T const difference = in[i] - middle[i];
        first[i] += difference;
        second[i] += difference * difference;
      }
    });
    sums_.back() = static_cast<T>(x.size() / channels);
    how.sum(sums_);
    samples_ = sums_.back();
    for (std::size_t c = 0; c != channels; ++c) {
      T const difference = sums_[c] / samples_;
      T const variance = std::max(sums_[channels + c] / samples_ - difference * difference, T{0});
      mean()[c] = running[c] + difference;
      spread()[c] = T{1} / std::sqrt(variance + epsilon);
      T const unbiased = variance * samples_ / std::max(samples_ - T{1}, T{1});
      running[c] += momentum * difference;
      running[channels + c] += momentum * (unbiased - running[channels + c]);
    }
  }

  image_shape image_;
  std::span<T> parameters_;
  std::span<T> gradients_;
  std::span<T> statistics_;
  std::vector<T> sums_;   // what ranks add up
  std::vector<T> lines_;  // mean, factor, offset, spread, two partial sums
  T samples_ = 0;         // of the batch of all ranks
};

static_assert(layer<batch_norm<float>>);

}  // namespace tutti::nn
