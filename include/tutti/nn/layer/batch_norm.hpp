// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/detail/layer/line.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// y = activation(gamma (x - mean) / sqrt(variance + epsilon) + beta), channel by channel. In training, mean and
/// variance are those of the batch: of this rank's part, or of the whole batch if the context sums over ranks; then
/// the batch must have a row on each rank. Otherwise they are the running mean and variance of the training, which
/// are statistics, not parameters.
///
/// Ioffe, Szegedy, "Batch normalization", ICML 2015.
/// Cost: two passes over the batch each way, and for statistics of all ranks one sum of 2 channels + 1 values forward
/// and one of 2 channels backward.
template <class T, activation<T> Activation = identity>
class batch_norm final : public layer<T> {
 public:
  /// The constant that is added to a variance before its root is taken.
  static constexpr T epsilon = static_cast<T>(1e-5);
  static constexpr T momentum = static_cast<T>(0.1);  ///< weight of the newest batch in the running statistics

  /// Constructs a layer for images of this shape.
  explicit batch_norm(image_shape const& image) : image_(image) {
    expects(image.size() > 0, "batch_norm: an image must have at least one number, not ", image.channels, " x ",
            image.rows, " x ", image.columns);
  }

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<batch_norm>(*this); }
  [[nodiscard]] std::size_t inputs() const noexcept override { return image_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept override { return image_.size(); }
  /// The shape of an output image.
  [[nodiscard]] image_shape output_shape() const noexcept { return image_; }
  [[nodiscard]] std::size_t parameters() const noexcept override { return 2 * image_.channels; }
  [[nodiscard]] std::size_t decayed_parameters() const noexcept override { return 0; }
  [[nodiscard]] std::size_t statistics() const noexcept override { return 2 * image_.channels; }
  [[nodiscard]] std::size_t pixels() const noexcept override { return image_.rows * image_.columns; }
  [[nodiscard]] geometry::variant geometry() const override {
    return {geometry::batch_norm{image_, Activation::kind, static_cast<float>(epsilon), static_cast<float>(momentum)}};
  }

  /// Binds the vectors: the parameters are gamma, then beta; the statistics are the running mean, then the variance.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) override {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters() &&
                statistics.size() == this->statistics(),
            "batch_norm: bind takes ", this->parameters(), " parameters, as many gradients and ", this->statistics(),
            " statistics, not ", parameters.size(), ", ", gradients.size(), " and ", statistics.size());
    parameters_ = parameters;
    gradients_ = gradients;
    statistics_ = statistics;
    sums_.resize(2 * image_.channels + 1);
    inverse_deviations_.resize(image_.channels);
    lines_.resize(5 * line());
  }

  void initialise(random_sequence&) override {
    std::ranges::fill(parameters_.first(image_.channels), T{1});
    std::ranges::fill(parameters_.last(image_.channels), T{0});
    std::ranges::fill(statistics_.first(image_.channels), T{0});
    std::ranges::fill(statistics_.last(image_.channels), T{1});
  }

  void reserve(std::size_t rows) override {
    std::size_t const runs = detail::runs_of_lines(rows * image_.size(), image_.channels, run_of_lines);
    partial_sums_.resize((std::max)(partial_sums_.size(), 2 * runs * line()));
  }

  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) override {
    std::size_t const channels = image_.channels;
    if (context.training) {
      measure_batch(context, x);
    } else {
      for (std::size_t c = 0; c != channels; ++c) {
        mean()[c] = statistics_[c];
        inverse_deviation()[c] = T{1} / std::sqrt(statistics_[channels + c] + epsilon);
      }
    }
    for (std::size_t c = 0; c != channels; ++c) {
      factor()[c] = parameters_[c] * inverse_deviation()[c];
      offset()[c] = parameters_[channels + c] - mean()[c] * factor()[c];
    }
    for (T* const numbers : {mean(), factor(), offset()}) {
      repeat(numbers);
    }
    detail::for_each_line(x.size(), channels,
                          [factor = factor(), offset = offset(), x_data = x.data(), y_data = y.data()](
                              std::size_t at, std::size_t count) {
                            T const* const x_line = x_data + at;
                            T* const y_line = y_data + at;
                            for (std::size_t i = 0; i != count; ++i) {
                              y_line[i] = Activation::value(x_line[i] * factor[i] + offset[i]);
                            }
                          });
  }

  /// Computes the gradients from dy, the derivative with respect to y, and dx, the one with respect to x, unless dx
  /// has no columns.
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const&,
                matrix_view<T> dy, matrix_view<T> dx) override {
    expects(context.training,
            "batch_norm: call backward only after a forward in training, with batch_context::training set");
    std::size_t const channels = image_.channels;
    // Sums of the derivatives with respect to the normalised values, and of their products with x - mean.
    auto const sums = std::span(sums_).first(2 * channels);
    T* const dy_sums = sums.data();
    T* const moments = dy_sums + channels;
    add_up(x.size(), [middle = mean(), factor = factor(), offset = offset(), x_data = x.data(), dy_data = dy.data()](
                         std::size_t at, std::size_t count, T* first, T* second) {
      T const* const x_line = x_data + at;
      T* const dy_line = dy_data + at;
      if constexpr (!std::is_same_v<Activation, identity>) {
        // The activation's argument is computed again, which costs less than loading y from memory.
        for (std::size_t i = 0; i != count; ++i) {
          dy_line[i] *= Activation::derivative(Activation::value(x_line[i] * factor[i] + offset[i]));
        }
      }
      for (std::size_t i = 0; i != count; ++i) {
        first[i] += dy_line[i];
        second[i] += dy_line[i] * (x_line[i] - middle[i]);
      }
    });
    for (std::size_t c = 0; c != channels; ++c) {
      gradients_[c] = moments[c] * inverse_deviation()[c];
      gradients_[channels + c] = dy_sums[c];
    }
    if (dx.shape(1) == 0) {
      // The layer is the first of its model on every rank, so no rank waits for the sum.
      return;
    }
    context.sum(sums);
    T* const moment = lines_.data() + 3 * line();
    T* const mean_dy = moment + line();
    for (std::size_t c = 0; c != channels; ++c) {
      moment[c] = moments[c] * factor()[c] * inverse_deviation()[c] * inverse_deviation()[c] / samples_;
      mean_dy[c] = dy_sums[c] * factor()[c] / samples_;
    }
    repeat(moment);
    repeat(mean_dy);
    detail::for_each_line(x.size(), channels,
                          [=, factor = factor(), middle = mean(), x_data = x.data(), dy_data = dy.data(),
                           dx_data = dx.data()](std::size_t at, std::size_t count) {
                            T const* const x_line = x_data + at;
                            T const* const dy_line = dy_data + at;
                            T* const dx_line = dx_data + at;
                            for (std::size_t i = 0; i != count; ++i) {
                              dx_line[i] = factor[i] * dy_line[i] - mean_dy[i] - (x_line[i] - middle[i]) * moment[i];
                            }
                          });
  }

 private:
  static constexpr std::size_t run_of_lines = 256;

  // A value for each channel; the loops over pixels need some of them as lines.
  [[nodiscard]] std::size_t line() const noexcept { return detail::line_length(image_.channels); }
  [[nodiscard]] T* mean() noexcept { return lines_.data(); }
  [[nodiscard]] T* factor() noexcept { return lines_.data() + line(); }
  [[nodiscard]] T* offset() noexcept { return lines_.data() + 2 * line(); }
  [[nodiscard]] T* inverse_deviation() noexcept { return inverse_deviations_.data(); }  // 1 / standard deviation

  /// Extends the values of the channels to a line, by repetition.
  void repeat(T* numbers) noexcept {
    for (std::size_t at = image_.channels; at != line(); ++at) {
      numbers[at] = numbers[at - image_.channels];
    }
  }

  /// Sums two values of each channel over all pixels, into sums_: f(at, count, first, second) adds the values of the
  /// line at `at`.
  template <class F>
  void add_up(std::size_t numbers, F const& f) {
    detail::sum_lines<2>(
        numbers, image_.channels, run_of_lines, partial_sums_.data(), sums_.data(),
        [&f, line = line()](std::size_t at, std::size_t count, T* sums) { f(at, count, sums, sums + line); });
  }

  /// Computes mean and spread of the batch, from differences to the running mean: sums of the values themselves would
  /// lose as many digits as a large mean takes.
  void measure_batch(batch_context<T> const& context, matrix_view<T const> const& x) {
    std::size_t const channels = image_.channels;
    T* const running = statistics_.data();
    std::copy_n(running, channels, mean());
    repeat(mean());
    add_up(x.size(), [middle = mean(), x_data = x.data()](std::size_t at, std::size_t count, T* first, T* second) {
      T const* const x_line = x_data + at;
      for (std::size_t i = 0; i != count; ++i) {
        T const difference = x_line[i] - middle[i];
        first[i] += difference;
        second[i] += difference * difference;
      }
    });
    std::size_t const lines = x.size() / channels;
    sums_.back() = static_cast<T>(lines);
    context.sum(sums_);
    samples_ = sums_.back();
    for (std::size_t c = 0; c != channels; ++c) {
      T const difference = sums_[c] / samples_;
      T const variance = (std::max)(sums_[channels + c] / samples_ - difference * difference, T{0});
      mean()[c] = running[c] + difference;
      inverse_deviation()[c] = T{1} / std::sqrt(variance + epsilon);
      T const sample_variance = variance * samples_ / (std::max)(samples_ - T{1}, T{1});
      running[c] += momentum * difference;
      running[channels + c] += momentum * (sample_variance - running[channels + c]);
    }
  }

  image_shape image_;
  std::span<T> parameters_;
  std::span<T> gradients_;
  std::span<T> statistics_;
  std::vector<T> sums_;  // sums over ranks
  std::vector<T> inverse_deviations_;
  std::vector<T> lines_;  // mean, factor, offset, and two of backward
  std::vector<T> partial_sums_;
  T samples_ = 0;  // rows times pixels in the batch of all ranks
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class batch_norm<float, identity>;
extern template class batch_norm<float, relu>;
extern template class batch_norm<double, identity>;
extern template class batch_norm<double, relu>;
#endif

}  // namespace tutti::nn
