// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job.hpp"
#include "memory_limit.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/trace/traffic_count.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// A rank's part of the model, with all that its training takes.
template <tutti::nn::divided_model Model>
class learner {
 public:
  template <class Make>
  explicit learner(Make const& make)
      : model_(make()),
        optimizer_(model_->parameters().size(), 0.9F),
        part_(model_->images()),
        images_(part_.samples.count * part_.numbers.count),
        labels_(model_->scored_samples().count) {}

  [[nodiscard]] Model& model() { return *model_; }

  /// Allocates all that a step takes, by computing gradients of black images.
  void warm_up() { model_->gradient(images(), labels_); }

  /// Makes one step of all ranks. Returns the metrics of the samples that this rank scores.
  auto step(tutti::nn::dataset const& set, std::span<std::uint32_t const> batch, float rate) {
    read(set, batch);
    auto const result = model_->gradient(images(), labels_);
    optimizer_.step(model_->parameters(), model_->gradients(), rate);
    return result;
  }
  auto test(tutti::nn::dataset const& set, std::span<std::uint32_t const> batch) {
    read(set, batch);
    return model_->test(images(), labels_);
  }

 private:
  [[nodiscard]] auto images() const {
    return tutti::nn::view<float const>(images_.data(), part_.samples.count, part_.numbers.count);
  }

  /// Reads only this rank's part of a batch.
  void read(tutti::nn::dataset const& set, std::span<std::uint32_t const> batch) {
    auto const [samples, numbers] = part_;
    for (std::size_t i = 0; i != samples.count; ++i) {
      scale_.apply(set.image(batch[samples.first + i]).subspan(numbers.first, numbers.count),
                   std::span(images_).subspan(i * numbers.count, numbers.count));
    }
    auto const scored_samples = model_->scored_samples();
    for (std::size_t i = 0; i != scored_samples.count; ++i) {
      labels_[i] = set.labels[batch[scored_samples.first + i]];
    }
  }

  std::unique_ptr<Model> model_;
  tutti::nn::sgd<float> optimizer_;
  tutti::nn::batch_part part_;
  std::vector<float> images_;
  std::vector<std::uint8_t> labels_;
  tutti::nn::normalisation scale_ = tutti::nn::to_unit_interval(1);
};

/// Computes one product, so that BLAS allocates its permanent buffers, which are no part of any model.
inline void warm_up() {
  tutti::nn::set_threads(1);
  tutti::nn::dense<float> layer(128, 128);
  std::vector<float> parameters(layer.parameters(), 1.0F);
  std::vector<float> gradients(layer.parameters());
  layer.bind(parameters, gradients, {});
  std::vector<float> const x(128 * 128, 1.0F);
  std::vector<float> y(x.size());
  layer.forward({}, tutti::nn::view<float const>(x.data(), 128, 128), tutti::nn::view<float>(y.data(), 128, 128));
}

/// Makes this rank's part within its memory.
/// @throws std::runtime_error with the memory needed, if it does not fit
template <class Model, class Make>
std::unique_ptr<learner<Model>> make_within(memory_limit const& limit, std::size_t mebibytes, Make const& make) {
  auto const too_large = [&] {
    return std::runtime_error("its part of the model needs " + std::to_string((limit.usage() >> 20U) + 1) +
                              " MiB or more, but --memory allows " + std::to_string(mebibytes) +
                              " MiB: use more ranks, a smaller model or a smaller batch");
  };
  std::unique_ptr<learner<Model>> part;
  try {
    part = std::make_unique<learner<Model>>(make);
  } catch (std::bad_alloc const&) {
    limit.lift();  // to measure the size
    part = std::make_unique<learner<Model>>(make);
    throw too_large();
  }
  limit.lift();  // oneDNN makes its kernels in the first step, and crashes if memory is refused
  part->warm_up();
  if (!limit.is_kept()) {
    throw too_large();
  }
  limit.impose();
  return part;
}

/// Seconds that the rank has waited for others; 0 if its model does not count them.
template <class Model>
double waiting_seconds(Model const& model) {
  if constexpr (requires { model.waiting_time(); }) {
    return static_cast<double>(model.waiting_time().count()) * 1e-9;
  } else {
    return 0;
  }
}

/// Spawns processes of this host that count the bytes they send.
template <class F>
reports spawn_counted(job const& work, F const& f) {
  return tutti::spawn<tutti::shared_memory>(work.options.ranks, f, {}, tutti::traffic_count{});
}

/// Trains as one rank. `make()` returns a pointer to its part of the model.
template <class World, class Make>
part_report train_part(World& world, job const& work, Make const& make) {
  using model_type = typename std::invoke_result_t<Make const&>::element_type;
  auto const& options = work.options;
  warm_up();
  tutti::allreduce add_up{world, tutti::ring{}, tutti::sum<double>{}};
  tutti::nn::sampler order(work.data.training.size(), options.batch, options.seed);
  std::vector<std::uint32_t> test_indices(work.data.test.size());
  std::iota(test_indices.begin(), test_indices.end(), 0U);
  std::size_t const batches = work.data.training.size() / options.batch;  // whole batches only
  std::size_t const tests = work.data.test.size() / options.batch;

  memory_limit const limit(options.memory << 20U);
  auto const part = make_within<model_type>(limit, options.memory, make);
  part->model().initialise(options.seed);
  part_report report{part->model().parameters().size(), 0, 0, 0, 0, 0};
  for (std::size_t epoch = 0; epoch != options.epochs; ++epoch) {
    order.start(epoch);
    std::array<double, 2> sums{};  // loss, test images classified correctly
    double const waiting_before = waiting_seconds(part->model());
    auto const sent_before = world.trace().outgoing().bytes;
    auto const begin = tutti::steady_now();
    for (std::size_t b = 0; b != batches; ++b) {
      double const progress = static_cast<double>(epoch * batches + b) / static_cast<double>(options.epochs * batches);
      sums[0] +=
          double{part->step(work.data.training, order.batch(b), options.rate * static_cast<float>(1 - progress)).loss};
    }
    double const seconds = static_cast<double>((tutti::steady_now() - begin).count()) * 1e-9;
    report.seconds += seconds;
    report.sent_bytes += static_cast<double>(world.trace().outgoing().bytes - sent_before) /
                         static_cast<double>(batches * options.epochs);
    report.waiting_seconds += waiting_seconds(part->model()) - waiting_before;
    for (std::size_t b = 0; b != tests; ++b) {
      sums[1] +=
          double{part->test(work.data.test, std::span(test_indices).subspan(b * options.batch, options.batch)).correct};
    }
    add_up(sums);
    report.accuracy = sums[1] / static_cast<double>(tests * options.batch);
    if (world.rank() == 0) {
      std::printf("epoch %zu/%zu: loss %.4f, test accuracy %.2f %%, %.0f images/s, %.1f ms a step\n", epoch + 1,
                  options.epochs, sums[0] / static_cast<double>(batches * options.batch), 100 * report.accuracy,
                  static_cast<double>(batches * options.batch) / seconds, 1e3 * seconds / static_cast<double>(batches));
      std::fflush(stdout);
    }
  }
  report.bytes = limit.usage();
  return report;
}
