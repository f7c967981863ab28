// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/parallel/column_parallel_dense.hpp>
#include <tutti/nn/parallel/row_parallel_dense.hpp>
#include <tutti/nn/parallel/sample_exchange.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Two dense layers, the first divided by columns, the second by rows: the hidden units never leave their rank. Input
/// and output are each rank's own samples.
template <class T, activation<T> Last, class Exchange>
class dense_pair {
 public:
  /// Constructs layers of these widths, divided among the ranks.
  dense_pair(Exchange& ranks, std::size_t inputs, std::size_t hidden_units, std::size_t outputs)
      : first_(ranks, inputs, hidden_units), second_(ranks, hidden_units, first_.local_outputs(), outputs) {}

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const noexcept { return first_.inputs(); }
  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const noexcept { return second_.outputs(); }
  /// The number of parameters of this rank.
  [[nodiscard]] std::size_t parameters() const noexcept { return first_.parameters() + second_.parameters(); }

  /// Binds the vectors of parameters and gradients.
  void bind(std::span<T> parameters, std::span<T> gradients) {
    std::size_t const first_count = first_.parameters();
    first_.bind(parameters.first(first_count), gradients.first(first_count));
    second_.bind(parameters.subspan(first_count), gradients.subspan(first_count));
  }

  /// Draws the initial parameters of layers `place` and `place` + 1 of a model.
  void initialise(std::uint64_t seed, std::size_t place) {
    random_sequence first_random(seed, place);
    first_.initialise(first_random);
    random_sequence second_random(seed, place + 1);
    second_.initialise(second_random);
  }

  /// @param samples number of samples of all ranks
  void reserve(std::size_t samples, bool needs_input_gradient) {
    first_.reserve(samples, needs_input_gradient);
    second_.reserve(samples);
    hidden_values_.resize({samples, first_.local_outputs().count});
    hidden_gradients_.resize({samples, first_.local_outputs().count});
  }

  /// Computes y from x, row by row.
  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) {
    first_.forward(context, x, first_rows(hidden_values_, hidden_values_.shape(0)));
    second_.forward(context, read_only<T>(first_rows(hidden_values_, hidden_values_.shape(0))), y);
  }

  /// Computes the gradients from dy, the derivative with respect to y, and dx, the one with respect to x, unless dx
  /// has no columns.
  void backward(batch_context<T> const& context, matrix_view<T> const& y, matrix_view<T> dy, matrix_view<T> dx) {
    auto hidden_values = first_rows(hidden_values_, hidden_values_.shape(0));
    auto hidden_gradients = first_rows(hidden_gradients_, hidden_gradients_.shape(0));
    second_.backward(context, read_only<T>(hidden_values), y, dy, hidden_gradients);
    first_.backward(context, hidden_values, hidden_gradients, dx);
  }

 private:
  column_parallel_dense<T, relu, Exchange> first_;
  row_parallel_dense<T, Last, Exchange> second_;
  matrix<T> hidden_values_ = matrix<T>::from_shape({0, 0});  // this rank's units of all samples
  matrix<T> hidden_gradients_ = matrix<T>::from_shape({0, 0});
};

/// A multilayer perceptron (zoo/mlp.hpp, relu) whose layers are divided over the ranks, pair by pair. Each weight is
/// on one rank, except the biases of every other layer. Each rank reads and scores its own samples.
///
/// Cost per step and pair, with B samples, inputs I and outputs O of the pair: forward an allgather of B x I and a
/// reduce_scatter of B x O numbers, backward the reverse (in the first pair only B x O). Independent of the number of
/// hidden units.
template <class T, group Communicator, class Topology>
class tensor_parallel_mlp {
  using exchange = sample_exchange<T, Communicator, Topology>;

 public:
  /// The type of the numbers.
  using value_type = T;

  /// @param widths inputs, hidden layers, classes: an odd number, so that layers are pairs
  /// @param batch number of samples of all ranks
  /// @pre the batch is a multiple of the number of ranks; the layers at odd places have a unit for each rank
  tensor_parallel_mlp(Communicator& world, Topology topology, std::span<std::size_t const> widths, std::size_t batch)
      : ranks_(world, topology), batch_(batch) {
    expects(widths.size() >= 3 && widths.size() % 2 == 1,
            "tensor_parallel_mlp: layers come in pairs, so there must be an odd number of widths, 3 or more; not ",
            widths.size());
    expects(batch > 0 && batch % world.size() == 0, "tensor_parallel_mlp: the batch must be a multiple of the ",
            world.size(), " ranks, not ", batch);
    std::size_t const last = widths.size() - 3;
    for (std::size_t i = 0; i != last; i += 2) {
      pairs_.emplace_back(ranks_, widths[i], widths[i + 1], widths[i + 2]);
    }
    last_.emplace(ranks_, widths[last], widths[last + 1], widths[last + 2]);
    std::size_t count = 0;
    for_each_pair([&](auto& pair) { count += pair.parameters(); });
    parameters_.resize(count);
    gradients_.resize(count);
    std::size_t at = 0;
    for_each_pair([&](auto& pair) {
      bool const first = at == 0;
      pair.bind(std::span(parameters_).subspan(at, pair.parameters()),
                std::span(gradients_).subspan(at, pair.parameters()));
      pair.reserve(batch, !first);
      values_.push_back(matrix<T>::from_shape({samples(), pair.outputs()}));
      output_gradients_.push_back(matrix<T>::from_shape({samples(), pair.outputs()}));
      at += pair.parameters();
    });
  }

  // Pairs refer to the exchange.
  tensor_parallel_mlp(tensor_parallel_mlp const&) = delete;
  tensor_parallel_mlp& operator=(tensor_parallel_mlp const&) = delete;

  /// The part of the batch that this rank receives: images, and values of each.
  [[nodiscard]] batch_part images() const {
    return {scored_samples(), {0, pairs_.empty() ? last_->inputs() : pairs_.front().inputs()}};
  }
  /// The samples whose metrics this rank computes.
  [[nodiscard]] range scored_samples() const { return {ranks_.rank() * samples(), samples()}; }

  /// The parameters of this rank.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  /// The derivative of the loss with respect to each parameter, in the order of the parameters.
  [[nodiscard]] std::span<T> gradients() noexcept { return gradients_; }

  /// Draws the initial parameters. Equal seeds give equal parameters.
  void initialise(std::uint64_t seed) {
    std::size_t place = 0;
    for_each_pair([&](auto& pair) { pair.initialise(seed, std::exchange(place, place + 2)); });
  }

  /// Computes the gradients of the mean loss over the batch, and returns the batch metrics. Collective.
  batch_metrics<T> gradient(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    batch_context<T> const context{.training = true};
    forward(context, images);
    batch_metrics<T> const result = softmax_cross_entropy::differentiate<T>(
        all_rows(values_.back()), labels, T{1} / static_cast<T>(batch_), all_rows(output_gradients_.back()));
    last_->backward(context, all_rows(values_.back()), all_rows(output_gradients_.back()),
                    input_gradients(pairs_.size()));
    for (std::size_t i = pairs_.size(); i-- != 0;) {
      pairs_[i].backward(context, all_rows(values_[i]), all_rows(output_gradients_[i]), input_gradients(i));
    }
    return result;
  }

  /// Scores these images. Collective.
  batch_metrics<T> test(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    forward({}, images);
    return softmax_cross_entropy::measure<T>(all_rows(values_.back()), labels);
  }

 private:
  [[nodiscard]] std::size_t samples() const { return batch_ / ranks_.size(); }
  [[nodiscard]] static matrix_view<T> all_rows(matrix<T>& m) { return first_rows(m, m.shape(0)); }
  [[nodiscard]] matrix_view<T> input_gradients(std::size_t i) {
    return i == 0 ? view<T>(nullptr, samples(), 0) : all_rows(output_gradients_[i - 1]);
  }

  template <class F>
  void for_each_pair(F const& f) {
    for (auto& pair : pairs_) {
      f(pair);
    }
    f(*last_);
  }

  void forward(batch_context<T> const& context, matrix_view<T const> const& images) {
    std::size_t i = 0;
    for_each_pair([&](auto& pair) {
      pair.forward(context, i == 0 ? images : read_only<T>(all_rows(values_[i - 1])), all_rows(values_[i]));
      ++i;
    });
  }

  exchange ranks_;
  std::size_t batch_;
  std::vector<dense_pair<T, relu, exchange>> pairs_;  // all pairs but the last
  std::optional<dense_pair<T, identity, exchange>> last_;
  std::vector<T> parameters_;
  std::vector<T> gradients_;
  std::vector<matrix<T>> values_;  // outputs of each pair for this rank's samples
  std::vector<matrix<T>> output_gradients_;
};

}  // namespace tutti::nn
