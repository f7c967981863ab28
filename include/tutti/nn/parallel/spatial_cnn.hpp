// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/parallel/row_parallel_dense.hpp>
#include <tutti/nn/parallel/sample_exchange.hpp>
#include <tutti/nn/parallel/spatial_conv2d.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A network of two convolutions of 3 x 3, each followed by max-pooling of 2 x 2, and one dense layer, divided over
/// the ranks along the rows of its images. Every rank has its band of all samples; over a ring a rank communicates
/// only with two neighbours:
///
///     convolutions   halos of one row with the ranks above and below
///     dense layer    its inputs are the bands: row_parallel_dense; each rank computes the metrics of its own samples
///     gradients      of the convolutions, which all ranks hold, by one allreduce
///
/// Cost per step: six halos of one row of pixels or channels for every neighbour and sample, a reduce_scatter and an
/// allgather of samples x classes numbers, an allreduce of the convolutions' weights. Memory for the values: those of
/// the band.
template <class T, group Communicator, class Topology>
  requires offers<Topology, op::allreduce>
class spatial_cnn {
  using exchange = sample_exchange<T, Communicator, Topology>;

 public:
  /// The type of the numbers.
  using value_type = T;

  /// @param channels output channels of the two convolutions
  /// @param batch number of samples of all ranks
  /// @pre images of one channel, with multiples of 4 as rows and columns; at least 4 rows for each rank; the batch is
  /// a multiple of the number of ranks
  spatial_cnn(Communicator& world, Topology topology, image_shape const& image, std::array<std::size_t, 2> channels,
              std::size_t classes, std::size_t batch)
      : rank_(world.rank()),
        batch_(batch),
        samples_per_rank_(batch / world.size()),
        exchange_(world, topology),
        add_up_(world, topology, tutti::sum<T>{}),
        image_(image),
        rows_(band(image, batch, world.rank(), world.size())),
        first_(world, image, rows_, {channels[0], {3, 1, 1}}, batch),
        first_pool_(first_.output_shape(), {2, 2}),
        second_(world, {channels[0], image.rows / 2, image.columns / 2}, {rows_.first / 2, rows_.count / 2},
                {channels[1], {3, 1, 1}}, batch),
        second_pool_(second_.output_shape(), {2, 2}),
        dense_(exchange_, image.rows / 4 * second_row(),
               {rows_.first / 4 * second_row(), rows_.count / 4 * second_row()}, classes),
        parameters_(first_.parameters() + second_.parameters() + dense_.parameters()),
        gradients_(parameters_.size()) {
    std::size_t offset = 0;
    auto const bind = [&](auto& layer) {
      layer.bind(std::span(parameters_).subspan(offset, layer.parameters()),
                 std::span(gradients_).subspan(offset, layer.parameters()));
      offset += layer.parameters();
    };
    bind(first_);
    bind(second_);
    bind(dense_);
    first_pool_.reserve(batch);
    second_pool_.reserve(batch);
    dense_.reserve(batch);
    std::array<std::size_t, 4> const sizes{first_.outputs(), first_pool_.outputs(), second_.outputs(),
                                           second_pool_.outputs()};
    for (std::size_t i = 0; i != sizes.size(); ++i) {
      values_[i].resize({batch, sizes[i]});
      output_gradients_[i].resize({batch, sizes[i]});
    }
    logits_.resize({samples_per_rank_, classes});
    logit_gradients_.resize({samples_per_rank_, classes});
  }

  // Layers refer to the exchange.
  spatial_cnn(spatial_cnn const&) = delete;
  spatial_cnn& operator=(spatial_cnn const&) = delete;

  /// The part of the batch that this rank receives: images, and values of each.
  [[nodiscard]] batch_part images() const {
    return {{0, batch_}, {rows_.first * image_.columns, rows_.count * image_.columns}};
  }
  /// The samples whose metrics this rank computes.
  [[nodiscard]] range scored_samples() const { return {rank_ * samples_per_rank_, samples_per_rank_}; }

  /// The parameters of this rank.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  /// The derivative of the loss with respect to each parameter, in the order of the parameters.
  [[nodiscard]] std::span<T> gradients() noexcept { return gradients_; }

  /// Draws this rank's part of the initial parameters of a model of these five layers.
  void initialise(std::uint64_t seed) {
    random_sequence first_random(seed, 0);
    first_.initialise(first_random);
    random_sequence second_random(seed, 2);
    second_.initialise(second_random);
    random_sequence dense_random(seed, 4);
    dense_.initialise(dense_random);
  }

  /// Computes the gradients of the mean loss over the batch, and returns the batch metrics. Collective.
  batch_metrics<T> gradient(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    batch_context<T> const context{.training = true};
    forward(context, images);
    auto const result = softmax_cross_entropy::differentiate<T>(
        all_rows(logits_), labels, T{1} / static_cast<T>(batch_), all_rows(logit_gradients_));
    dense_.backward(context, values(3), all_rows(logits_), all_rows(logit_gradients_), all_rows(output_gradients_[3]));
    second_pool_.backward(context, values(2), all_rows(values_[3]), all_rows(output_gradients_[3]),
                          all_rows(output_gradients_[2]));
    second_.backward(context, all_rows(values_[2]), all_rows(output_gradients_[2]), all_rows(output_gradients_[1]));
    first_pool_.backward(context, values(0), all_rows(values_[1]), all_rows(output_gradients_[1]),
                         all_rows(output_gradients_[0]));
    first_.backward(context, all_rows(values_[0]), all_rows(output_gradients_[0]), view<T>(nullptr, batch_, 0));
    add_up_(std::span(gradients_).first(first_.parameters() + second_.parameters()));
    return result;
  }

  /// Scores these images. Collective.
  batch_metrics<T> test(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    forward({}, images);
    return softmax_cross_entropy::measure<T>(all_rows(logits_), labels);
  }

 private:
  /// This rank's rows, in multiples of the four that become one in the second pool.
  static range band(image_shape const& image, std::size_t batch, rank_type rank, rank_type size) {
    expects(image.channels == 1 && image.rows % 4 == 0 && image.columns % 4 == 0,
            "spatial_cnn: images must have one channel, and rows and columns that are multiples of 4; not ",
            image.channels, " x ", image.rows, " x ", image.columns);
    expects(image.rows / 4 >= size, "spatial_cnn: each rank needs at least 4 rows of the images; ", image.rows,
            " rows are too few for ", size, " ranks; use fewer ranks");
    expects(batch > 0 && batch % size == 0, "spatial_cnn: the batch must be a multiple of the ", size, " ranks, not ",
            batch);
    return {4 * block_begin(image.rows / 4, size, rank), 4 * block_size(image.rows / 4, size, rank)};
  }

  /// The number of values in a row of the second pool's output.
  [[nodiscard]] std::size_t second_row() const { return image_.columns / 4 * second_pool_.output_shape().channels; }

  [[nodiscard]] static matrix_view<T> all_rows(matrix<T>& m) { return first_rows(m, m.shape(0)); }
  [[nodiscard]] matrix_view<T const> values(std::size_t i) { return read_only<T>(all_rows(values_[i])); }

  void forward(batch_context<T> const& context, matrix_view<T const> const& images) {
    first_.forward(context, images, all_rows(values_[0]));
    first_pool_.forward(context, values(0), all_rows(values_[1]));
    second_.forward(context, values(1), all_rows(values_[2]));
    second_pool_.forward(context, values(2), all_rows(values_[3]));
    dense_.forward(context, values(3), all_rows(logits_));
  }

  rank_type rank_;
  std::size_t batch_;
  std::size_t samples_per_rank_;  // samples whose metrics a rank computes
  exchange exchange_;
  allreduce<Communicator, Topology, tutti::sum<T>> add_up_;
  image_shape image_;
  range rows_;  // this rank's rows of the images
  spatial_conv2d<T, relu, Communicator> first_;
  max_pool<T> first_pool_;
  spatial_conv2d<T, relu, Communicator> second_;
  max_pool<T> second_pool_;
  row_parallel_dense<T, identity, exchange> dense_;
  std::vector<T> parameters_;
  std::vector<T> gradients_;
  std::array<matrix<T>, 4> values_;  // this rank's bands of all samples
  std::array<matrix<T>, 4> output_gradients_;
  matrix<T> logits_ = matrix<T>::from_shape({0, 0});  // outputs for this rank's samples
  matrix<T> logit_gradients_ = matrix<T>::from_shape({0, 0});
};

}  // namespace tutti::nn
