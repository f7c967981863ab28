// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/detail/parallel/cut_layers.hpp>
#include <tutti/nn/detail/parallel/pipeline_stage.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/parallel/pipeline_schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A pipeline made of any list of layers: every rank is a stage with some of the layers. A batch passes through it in
/// micro-batches, values from rank to rank forward, their derivatives backward. The first rank reads the images, the
/// last one computes the metrics.
///
/// A stage requests its inputs one micro-batch ahead, and its results travel while it works on the next one, as far
/// as the transport progresses without its ranks; backward makes progress between layers.
///
/// Cost per step: each rank sends every sample's values once to the next rank, and their derivatives once back. A
/// stage keeps its inner values for Schedule::kept micro-batches, three vectors of its parameters, and the samples at
/// its ends.
template <class T, group Communicator, pipeline_schedule Schedule = one_forward_one_backward>
class pipeline {
 public:
  /// The type of the numbers.
  using value_type = T;

  /// @param layers layers of the whole model; every rank constructs only its own
  /// @pre at least one layer for each rank; the batch is a multiple of micro_batches
  pipeline(Communicator& world, layer_list<T> const& layers, std::size_t batch, std::size_t micro_batches)
      : world_(world.alias()),
        send_(world),
        recv_(world),
        batch_(batch),
        micro_batches_(micro_batches),
        stage_(stage_of(world, layers, batch, micro_batches)),
        inputs_(is_first() ? 0 : stage_.capacity() + 1, matrix<T>::from_shape({rows(), stage_.inputs()})),
        output_gradients_(is_last() ? 0 : 2, matrix<T>::from_shape({rows(), stage_.outputs()})),
        input_gradients_(is_first() ? 0 : 2, matrix<T>::from_shape({rows(), stage_.inputs()})),
        value_receives_(inputs_.size()),
        value_sends_(stage_.capacity()),
        gradient_receives_(output_gradients_.size()),
        gradient_sends_(input_gradients_.size()) {}

  // Transfers refer to the matrices.
  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;

  /// The part of the batch that this rank receives: images, and values of each.
  [[nodiscard]] batch_part images() const {
    return {{0, is_first() ? batch_ : 0}, {0, is_first() ? stage_.inputs() : 0}};
  }
  /// The samples whose metrics this rank computes.
  [[nodiscard]] range scored_samples() const { return {0, is_last() ? batch_ : 0}; }

  /// The parameters of this stage.
  [[nodiscard]] std::span<T> parameters() noexcept { return stage_.parameters(); }
  /// The derivative of the loss with respect to each parameter, in the order of the parameters.
  [[nodiscard]] std::span<T> gradients() noexcept { return stage_.gradients(); }

  /// Draws the initial parameters. Equal seeds give equal parameters.
  void initialise(std::uint64_t seed) { stage_.initialise(seed); }

  /// Computes the gradients of the mean loss over the batch, and returns the batch metrics. Collective.
  batch_metrics<T> gradient(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    return run({.training = true}, images, labels);
  }

  /// Scores these images. Collective.
  batch_metrics<T> test(matrix_view<T const> const& images, std::span<std::uint8_t const> labels) {
    return run({}, images, labels);
  }

  /// The total time that this rank has waited for others and not computed.
  [[nodiscard]] duration waiting_time() const noexcept { return waiting_time_; }

  /// Makes progress on transfers; called by layers during backward.
  void on_completion(T const*) { world_.poll(); }

 private:
  static detail::pipeline_stage<T> stage_of(Communicator& world, layer_list<T> const& layers, std::size_t batch,
                                            std::size_t micro_batches) {
    expects(micro_batches > 0 && batch > 0 && batch % micro_batches == 0,
            "pipeline: the batch must be a multiple of the ", micro_batches, " micro-batches, at least one; not ",
            batch);
    std::vector<std::size_t> costs;
    for (auto const& layer : layers) {
      costs.push_back(layer.parameters());
    }
    auto const cuts = detail::cut_layers(costs, world.size());
    layer_list<T> local_layers;
    for (std::size_t i = cuts[world.rank()]; i != cuts[world.rank() + 1]; ++i) {
      local_layers.push_back(layers[i].clone());
    }
    return {local_layers, cuts[world.rank()], Schedule::capacity(world.size(), micro_batches, world.rank()),
            batch / micro_batches};
  }

  [[nodiscard]] bool is_first() const noexcept { return world_.rank() == 0; }
  [[nodiscard]] bool is_last() const noexcept { return world_.rank() + 1 == world_.size(); }
  [[nodiscard]] std::size_t rows() const noexcept { return stage_.rows(); }

  batch_metrics<T> run(batch_context<T> context, matrix_view<T const> const& images,
                       std::span<std::uint8_t const> labels) {
    images_ = images.data();
    labels_ = labels;
    total_ = {};
    context.on_completion = completion<T>(*this);
    start_value_receive(0);
    std::size_t const tasks = context.training ? 2 * micro_batches_ : micro_batches_;
    for (std::size_t i = 0; i != tasks; ++i) {
      auto const task =
          context.training ? Schedule::at(world_.size(), micro_batches_, world_.rank(), i) : pipeline_task{false, i};
      if (task.backward) {
        backward(context, task.micro_batch);
      } else {
        forward(context, task.micro_batch);
      }
    }
    for (auto* const requests : {&value_sends_, &gradient_sends_}) {
      for (request& pending : *requests) {
        wait(pending);
      }
    }
    return total_;
  }

  void forward(batch_context<T> const& context, std::size_t micro_batch) {
    start_value_receive(micro_batch + 1);
    if (context.training && micro_batch == 0) {
      start_gradient_receive(0);
    }
    if (!is_first()) {
      wait(value_receives_[micro_batch % inputs_.size()]);
    }
    if (!is_last()) {
      wait(value_sends_[micro_batch % stage_.capacity()]);  // the previous values in this place have been sent
    }
    stage_.forward(context, micro_batch, input(micro_batch));
    if (!is_last()) {
      auto const outputs = stage_.values(micro_batch);
      value_sends_[micro_batch % stage_.capacity()] =
          send_.start(std::span<T const>(outputs.data(), outputs.size()), world_.rank() + 1);
    } else if (!context.training) {
      add(softmax_cross_entropy::measure<T>(stage_.values(micro_batch), labels_of(micro_batch)));
    }
  }

  void backward(batch_context<T> const& context, std::size_t micro_batch) {
    if (!is_first()) {
      wait(gradient_sends_[micro_batch % 2]);
    }
    auto const dx = is_first() ? view<T>(nullptr, rows(), 0) : first_rows(input_gradients_[micro_batch % 2], rows());
    if (is_last()) {
      add(softmax_cross_entropy::differentiate<T>(stage_.values(micro_batch), labels_of(micro_batch),
                                                  T{1} / static_cast<T>(batch_), stage_.derivatives()));
      stage_.backward(context, micro_batch, input(micro_batch), stage_.derivatives(), dx);
    } else {
      start_gradient_receive(micro_batch + 1);
      wait(gradient_receives_[micro_batch % 2]);
      stage_.backward(context, micro_batch, input(micro_batch), first_rows(output_gradients_[micro_batch % 2], rows()),
                      dx);
    }
    if (!is_first()) {
      gradient_sends_[micro_batch % 2] = send_.start(std::span<T const>(dx.data(), dx.size()), world_.rank() - 1);
    }
  }

  void start_value_receive(std::size_t micro_batch) {
    if (!is_first() && micro_batch < micro_batches_) {
      std::size_t const place = micro_batch % inputs_.size();
      value_receives_[place] = recv_.start(std::span(inputs_[place].data(), inputs_[place].size()), world_.rank() - 1);
    }
  }
  void start_gradient_receive(std::size_t micro_batch) {
    if (!is_last() && micro_batch < micro_batches_) {
      std::size_t const place = micro_batch % 2;
      gradient_receives_[place] =
          recv_.start(std::span(output_gradients_[place].data(), output_gradients_[place].size()), world_.rank() + 1);
    }
  }

  [[nodiscard]] matrix_view<T const> input(std::size_t micro_batch) {
    T const* const data =
        is_first() ? images_ + micro_batch * rows() * stage_.inputs() : inputs_[micro_batch % inputs_.size()].data();
    return view<T const>(data, rows(), stage_.inputs());
  }
  [[nodiscard]] std::span<std::uint8_t const> labels_of(std::size_t micro_batch) const {
    return labels_.subspan(micro_batch * rows(), rows());
  }
  void add(batch_metrics<T> const& part) {
    total_.loss += part.loss;
    total_.correct += part.correct;
  }

  void wait(request& pending) {
    if (pending.valid()) {
      time_point const begin = steady_now();
      pending.wait();
      waiting_time_ += steady_now() - begin;
    }
  }

  Communicator world_;
  send<Communicator> send_;
  recv<Communicator> recv_;
  std::size_t batch_;
  std::size_t micro_batches_;
  detail::pipeline_stage<T> stage_;
  // Each ring has one more place than is in use, for the transfer of the next one.
  std::vector<matrix<T>> inputs_;            // inputs, from the previous stage
  std::vector<matrix<T>> output_gradients_;  // derivatives with respect to the outputs, from the next stage
  std::vector<matrix<T>> input_gradients_;   // derivatives with respect to the inputs
  std::vector<request> value_receives_, value_sends_, gradient_receives_, gradient_sends_;
  T const* images_ = nullptr;
  std::span<std::uint8_t const> labels_;
  batch_metrics<T> total_;
  duration waiting_time_{};
};

}  // namespace tutti::nn
