// SPDX-License-Identifier: Apache-2.0
//
// Convolution by oneDNN and by matrix products, for the layers of LeNet-5 and ResNet-20; see
// docs/trainer/training-speed.md.
//
// One thread. Each round runs both, so that a slow machine slows both. Figures are medians of the rounds, in
// operations per nanosecond of processor time, beside a product of two large matrices.
#include "../common/clock.hpp"
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/detail/convolution/blas.hpp>
#include <tutti/nn/detail/convolution/onednn.hpp>
#include <tutti/nn/detail/products/product.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr std::size_t rounds = 15;

struct layer {
  char const* name;
  std::size_t batch;
  nn::image_shape image;
  nn::convolution convolution;
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> result(count);
  nn::random_sequence random(count);
  std::ranges::generate(result, [&] { return random.fraction<float>() - 0.5F; });
  return result;
}

/// Operations per nanosecond: medians for each of the tasks, which take turns.
template <class... Tasks>
std::array<double, sizeof...(Tasks)> rates(double operations, Tasks const&... tasks) {
  std::array<std::array<double, rounds>, sizeof...(Tasks)> times;
  for (std::size_t round = 0; round != rounds; ++round) {
    std::size_t task_index = 0;
    auto const measure = [&](auto const& task) {
      auto const begin = bench::read(CLOCK_THREAD_CPUTIME_ID);
      task();
      times[task_index++][round] = static_cast<double>(bench::read(CLOCK_THREAD_CPUTIME_ID) - begin);
    };
    (measure(tasks), ...);
  }
  std::array<double, sizeof...(Tasks)> result;
  for (std::size_t i = 0; i != result.size(); ++i) {
    std::ranges::sort(times[i]);
    result[i] = operations / times[i][rounds / 2];
  }
  return result;
}

void measure(layer const& l) {
  nn::detail::convolution_geometry const g(l.image, l.convolution);
  auto const x = numbers(l.batch * g.input.size());
  auto const dy = numbers(l.batch * g.output.size());
  auto const weights = numbers(g.weights());
  std::vector<float> y(dy.size());
  std::vector<float> dx(x.size());
  std::vector<float> dw(weights.size());
  nn::detail::onednn_convolution direct(g);
  nn::detail::blas_convolution<float> products(g);
  products.reserve(l.batch);
  auto const forward = [&](auto& method) {
    return [&] { method.forward(l.batch, x.data(), weights.data(), y.data()); };
  };
  auto const input = [&](auto& method) {
    return [&] { method.differentiate_input(l.batch, dy.data(), weights.data(), dx.data()); };
  };
  auto const slopes = [&](auto& method) {
    return [&] { method.differentiate_weights(l.batch, x.data(), dy.data(), dw.data()); };
  };
  auto const operations = 2.0 * static_cast<double>(l.batch * g.pixels() * g.weights());
  auto const [f1, f2, i1, i2, w1, w2] = rates(operations, forward(direct), forward(products), input(direct),
                                              input(products), slopes(direct), slopes(products));
  std::printf("%-34s %6.0f %6.0f  %6.0f %6.0f  %6.0f %6.0f\n", l.name, f1, f2, i1, i2, w1, w2);
}

double large_product() {
  constexpr std::size_t side = 512;
  auto const a = numbers(side * side);
  auto const b = numbers(side * side);
  std::vector<float> c(side * side);
  auto result = nn::view<float>(c.data(), side, side);
  return rates(2.0 * side * side * side, [&] {
    nn::detail::product<float>(nn::view<float const>(a.data(), side, side), nn::detail::operand::as_is,
                               nn::view<float const>(b.data(), side, side), nn::detail::operand::as_is, result);
  })[0];
}

}  // namespace

int main() {
  nn::set_threads(1);
  std::printf("product of two matrices of 512 x 512: %.0f\n\n", large_product());
  std::printf("%-34s %13s  %13s  %13s\n", "", "forward", "by input", "by weights");
  std::printf("%-34s %6s %6s  %6s %6s  %6s %6s\n", "operations per nanosecond", "oneDNN", "BLAS", "oneDNN", "BLAS",
              "oneDNN", "BLAS");
  for (layer const& l : {layer{"LeNet-5, first, batch 64", 64, {1, 28, 28}, {6, {5, 1, 2}}},
                         layer{"LeNet-5, second, batch 64", 64, {6, 14, 14}, {16, {5}}},
                         layer{"ResNet-20, first, batch 32", 32, {3, 32, 32}, {16, {3, 1, 1}}},
                         layer{"ResNet-20, 16 channels", 32, {16, 32, 32}, {16, {3, 1, 1}}},
                         layer{"ResNet-20, 16 to 32, stride 2", 32, {16, 32, 32}, {32, {3, 2, 1}}},
                         layer{"ResNet-20, 32 channels", 32, {32, 16, 16}, {32, {3, 1, 1}}},
                         layer{"ResNet-20, 32 to 64, stride 2", 32, {32, 16, 16}, {64, {3, 2, 1}}},
                         layer{"ResNet-20, 64 channels", 32, {64, 8, 8}, {64, {3, 1, 1}}},
                         layer{"ResNet-20, projection", 32, {16, 32, 32}, {32, {1, 2, 0}}}}) {
    measure(l);
  }
}
