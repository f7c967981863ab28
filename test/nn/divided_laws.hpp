// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/extend/parallel.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// The laws of models that are divided among ranks (nn/extend/parallel.hpp), in double.
namespace laws {

namespace nn = tutti::nn;

constexpr std::size_t steps = 4;
constexpr std::uint64_t weights_seed = 5;

/// Batches of random images of two or more classes.
class random_batches {
 public:
  random_batches(std::size_t samples, std::size_t numbers, std::uint32_t classes)
      : samples_(samples), numbers_(numbers), images_(steps * samples * numbers), labels_(steps * samples) {
    nn::random_sequence random(11);
    std::ranges::generate(images_, [&] { return 2 * random.fraction<double>() - 1; });
    std::ranges::generate(labels_, [&] { return static_cast<std::uint8_t>(random.draw_below(classes)); });
  }

  [[nodiscard]] std::size_t samples() const { return samples_; }

  /// A rank's input in batch `step`.
  [[nodiscard]] std::vector<double> images(std::size_t step, nn::batch_part const& part) const {
    std::vector<double> result;
    for (std::size_t i = 0; i != part.samples.count; ++i) {
      std::size_t const row = (step * samples_ + part.samples.first + i) * numbers_;
      auto const row_begin = images_.begin() + static_cast<std::ptrdiff_t>(row + part.numbers.first);
      result.insert(result.end(), row_begin, row_begin + static_cast<std::ptrdiff_t>(part.numbers.count));
    }
    return result;
  }
  [[nodiscard]] std::span<std::uint8_t const> labels(std::size_t step, nn::range part) const {
    return std::span(labels_).subspan(step * samples_ + part.first, part.count);
  }
  [[nodiscard]] nn::batch_part whole() const { return {{0, samples_}, {0, numbers_}}; }

 private:
  std::size_t samples_;
  std::size_t numbers_;
  std::vector<double> images_;
  std::vector<std::uint8_t> labels_;
};

inline void make_step(nn::sgd<double>& optimizer, std::span<double> weights, std::span<double const> gradients) {
  optimizer.step(weights, gradients, 0.5);
}

/// Trains a part of a model. @returns the losses of all steps and of a test after the last; then the weights
template <nn::divided_model Model>
std::vector<double> train_part(Model& model, random_batches const& data) {
  std::vector<double> numbers;
  model.initialise(weights_seed);
  nn::sgd<double> optimizer(model.parameters().size(), 0.9);
  auto const part = model.images();
  auto const matrix_of = [&](std::vector<double> const& images) {
    return nn::view<double const>(images.data(), part.samples.count, part.numbers.count);
  };
  for (std::size_t step = 0; step != steps; ++step) {
    auto const images = data.images(step, part);
    numbers.push_back(model.gradient(matrix_of(images), data.labels(step, model.scored_samples())).loss);
    make_step(optimizer, model.parameters(), model.gradients());
  }
  auto const images = data.images(0, part);
  numbers.push_back(model.test(matrix_of(images), data.labels(0, model.scored_samples())).loss);
  numbers.insert(numbers.end(), model.parameters().begin(), model.parameters().end());
  return numbers;
}

/// Trains the undivided model, with each batch in `pieces` and their gradients added up. @returns numbers like those
/// of `train_part`
inline std::vector<double> train_whole(nn::layer_list<double> layers, random_batches const& data,
                                       std::size_t pieces = 1) {
  std::vector<double> numbers;
  nn::model<double> model(std::move(layers));
  model.initialise(weights_seed);
  nn::sgd<double> optimizer(model.parameters().size(), 0.9);
  std::size_t const rows = data.samples() / pieces;
  auto const visit = [&](std::size_t step, bool training, auto const& f) {
    double loss = 0;
    for (std::size_t p = 0; p != pieces; ++p) {
      auto const images = data.images(step, {{p * rows, rows}, data.whole().numbers});
      auto const x = nn::view<double const>(images.data(), rows, data.whole().numbers.count);
      auto const y = model.forward(x, {.training = training, .first_row = p * rows});
      loss += f(x, y, data.labels(step, {p * rows, rows}));
    }
    numbers.push_back(loss);
  };
  for (std::size_t step = 0; step != steps; ++step) {
    std::vector<double> sum(model.parameters().size());
    visit(step, true, [&](auto const& x, auto const& y, auto const& labels) {
      auto const result = nn::softmax_cross_entropy::differentiate<double>(
          y, labels, 1.0 / static_cast<double>(data.samples()), model.derivatives());
      model.backward(x);
      std::ranges::transform(sum, model.gradients(), sum.begin(), std::plus{});
      return result.loss;
    });
    make_step(optimizer, model.parameters(), sum);
  }
  visit(0, false, [](auto const&, auto const& y, auto const& labels) {
    return nn::softmax_cross_entropy::measure<double>(y, labels).loss;
  });
  numbers.insert(numbers.end(), model.parameters().begin(), model.parameters().end());
  return numbers;
}

/// The numbers of `train_part`, rank by rank. `make(world)` gives the rank's part of the model.
template <class F>
std::vector<std::vector<double>> train_parts(tutti::rank_type ranks, random_batches const& data, F const& make) {
  nn::set_threads(1);
  auto const results = tutti::spawn<tutti::loopback>(ranks, [&](auto& world) {
    auto model = make(world);
    return train_part(*model, data);
  });
  std::vector<std::vector<double>> numbers;
  for (auto const& result : results) {
    numbers.push_back(result.value());
  }
  return numbers;
}

/// Checks that the parts' losses add up to the whole's, and that the steps have changed them.
inline void losses_add_up(std::vector<std::vector<double>> const& parts, std::vector<double> const& whole,
                          double tolerance) {
  for (std::size_t step = 0; step != steps + 1; ++step) {
    double sum = 0;
    for (auto const& part : parts) {
      sum += part[step];
    }
    BOOST_TEST(std::abs(sum - whole[step]) <= tolerance, "step " << step << ": " << sum << ", not " << whole[step]);
  }
  BOOST_TEST(whole[steps] != whole[0]);
}

}  // namespace laws
