// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/parallel/halo_exchange.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/layer/conv2d.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A convolution that keeps the size of its images, divided over the ranks by rows: each rank has a band of rows of
/// all samples, and all weights. The window extends over a band's edge by half of its side, so every rank first
/// exchanges that many rows, a halo, with its two neighbours. Backward, the derivatives of the halo return to the
/// rank of these rows, which adds them to its own.
///
///     rank 0   | rows 0..6  |           forward: 7 to rank 0, 6 to rank 1
///     rank 1   | rows 7..13 |           backward: the derivative by 7 to rank 1, by 6 to rank 0
///
/// The gradients of the weights are those of the band: the sum over the ranks is the gradient.
///
/// Dryden et al., "Improving strong-scaling of CNN training by exploiting finer-grained parallelism", IPDPS 2019;
/// Coates et al., "Deep learning with COTS HPC systems", ICML 2013.
///
/// Cost: two messages to each neighbour and step, one if dx is not needed, each of samples x side / 2 x columns x
/// channels numbers; a copy of the band, during the messages.
template <class T, activation<T> Activation, group Communicator>
class spatial_conv2d {
  using halos = detail::halo_exchange<T, Communicator>;

 public:
  /// @param image shape of the whole image
  /// @param local_rows this rank's rows of it
  /// @param samples largest number in a batch
  /// @pre an odd side and a padding of half of it; each rank has at least as many rows as the padding
  spatial_conv2d(Communicator& world, image_shape const& image, range local_rows, convolution const& options,
                 std::size_t samples)
      : band_{image.channels, local_rows.count, image.columns},
        halo_(options.filter_window.side / 2),
        padded_shape_{image.channels, local_rows.count + 2 * halo_, image.columns + 2 * halo_},
        convolution_(padded_shape_, without_padding(options, local_rows)),
        halo_exchange_(world, samples * edge()),
        x_(samples * padded_shape_.size()),
        dx_(samples * padded_shape_.size()) {
    convolution_.reserve(samples);
  }

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const noexcept { return band_.size(); }
  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const noexcept { return convolution_.outputs(); }
  /// The shape of an output image.
  [[nodiscard]] image_shape output_shape() const noexcept { return convolution_.output_shape(); }
  /// The number of parameters.
  [[nodiscard]] std::size_t parameters() const noexcept { return convolution_.parameters(); }

  /// Binds the vectors of parameters and gradients.
  void bind(std::span<T> parameters, std::span<T> gradients) { convolution_.bind(parameters, gradients, {}); }
  /// Draws the initial parameters. Equal random numbers give equal parameters.
  void initialise(random_sequence& random) { convolution_.initialise(random); }

  /// @param x, y this rank's bands of all samples
  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) {
    std::size_t const samples = x.shape(0);
    for (std::size_t n = 0; n != samples; ++n) {
      T const* const rows = x.data() + n * band_.size();
      std::copy_n(rows, edge(), halo_exchange_.send_buffer(halos::previous).data() + n * edge());
      std::copy_n(rows + band_.size() - edge(), edge(), halo_exchange_.send_buffer(halos::next).data() + n * edge());
    }
    halo_exchange_.start(samples * edge());
    for (std::size_t n = 0; n != samples; ++n) {
      copy_rows(x.data() + n * band_.size(), band_.rows, padded_at(x_, n, halo_));
    }
    halo_exchange_.finish();
    for (std::size_t n = 0; n != samples; ++n) {
      copy_rows(halo_exchange_.receive_buffer(halos::previous).data() + n * edge(), halo_, padded_at(x_, n, 0));
      copy_rows(halo_exchange_.receive_buffer(halos::next).data() + n * edge(), halo_,
                padded_at(x_, n, halo_ + band_.rows));
    }
    convolution_.forward(context, view<T const>(x_.data(), samples, padded_shape_.size()), y);
  }

  /// @param dx derivatives of x; not computed if it has no columns
  void backward(batch_context<T> const& context, matrix_view<T> const& y, matrix_view<T> dy, matrix_view<T> dx) {
    std::size_t const samples = y.shape(0);
    bool const needs_input_gradient = dx.shape(1) != 0;
    convolution_.backward(context, view<T const>(x_.data(), samples, padded_shape_.size()), y, dy,
                          view<T>(dx_.data(), samples, needs_input_gradient ? padded_shape_.size() : 0));
    if (!needs_input_gradient) {
      return;
    }
    for (std::size_t n = 0; n != samples; ++n) {
      take_rows(padded_at(dx_, n, 0), halo_, halo_exchange_.send_buffer(halos::previous).data() + n * edge());
      take_rows(padded_at(dx_, n, halo_ + band_.rows), halo_,
                halo_exchange_.send_buffer(halos::next).data() + n * edge());
    }
    halo_exchange_.start(samples * edge());
    for (std::size_t n = 0; n != samples; ++n) {
      take_rows(padded_at(dx_, n, halo_), band_.rows, dx.data() + n * band_.size());
    }
    halo_exchange_.finish();
    for (std::size_t n = 0; n != samples; ++n) {
      T* const rows = dx.data() + n * band_.size();
      add(halo_exchange_.receive_buffer(halos::previous).data() + n * edge(), rows);
      add(halo_exchange_.receive_buffer(halos::next).data() + n * edge(), rows + band_.size() - edge());
    }
  }

 private:
  /// Removes the padding, because the halo replaces it; at the image's own edges the halo is zeros.
  static convolution without_padding(convolution options, range local_rows) {
    expects(options.filter_window.side % 2 == 1 && options.filter_window.padding == options.filter_window.side / 2 &&
                options.filter_window.stride == 1,
            "spatial_conv2d: the window must keep the size of images, with an odd side, stride 1 and a padding "
            "of half the side; not side ",
            options.filter_window.side, ", stride ", options.filter_window.stride, " and padding ",
            options.filter_window.padding);
    expects(local_rows.count >= options.filter_window.padding && local_rows.count > 0, "spatial_conv2d: a rank has ",
            local_rows.count, " rows, fewer than the ", options.filter_window.padding,
            " that the window reaches over its edge; use fewer ranks");
    options.filter_window.padding = 0;
    return options;
  }

  /// The values of a sample that one neighbour needs.
  [[nodiscard]] std::size_t edge() const noexcept { return halo_ * band_.columns * band_.channels; }

  /// The beginning of a sample's row in the padded images, behind the padding.
  [[nodiscard]] T* padded_at(std::vector<T>& images, std::size_t sample, std::size_t row) const noexcept {
    return images.data() + sample * padded_shape_.size() +
           (row * padded_shape_.columns + halo_) * padded_shape_.channels;
  }
  void copy_rows(T const* source, std::size_t rows, T* destination) const noexcept {
    for (std::size_t r = 0; r != rows; ++r) {
      std::copy_n(source + r * band_.columns * band_.channels, band_.columns * band_.channels,
                  destination + r * padded_shape_.columns * padded_shape_.channels);
    }
  }
  void take_rows(T const* source, std::size_t rows, T* destination) const noexcept {
    for (std::size_t r = 0; r != rows; ++r) {
      std::copy_n(source + r * padded_shape_.columns * padded_shape_.channels, band_.columns * band_.channels,
                  destination + r * band_.columns * band_.channels);
    }
  }
  void add(T const* source, T* destination) const noexcept {
    for (std::size_t i = 0; i != edge(); ++i) {
      destination[i] += source[i];
    }
  }

  image_shape band_;          // shape of this rank's rows of an image
  std::size_t halo_;          // rows of the halo
  image_shape padded_shape_;  // shape of the band with halo and padding
  conv2d<T, Activation> convolution_;
  halos halo_exchange_;
  std::vector<T> x_;  // padded inputs; zeros where no neighbour sends
  std::vector<T> dx_;
};

}  // namespace tutti::nn
