// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

/// The reference for devices: layers of the CPU.
namespace laws {

namespace nn = tutti::nn;

using floats = std::vector<float>;

/// Numbers in [-1, 1).
inline floats drawn_floats(std::size_t count, std::uint64_t seed) {
  nn::random_sequence random(seed);
  floats result(count);
  std::ranges::generate(result, [&] { return 2 * random.fraction<float>() - 1; });
  return result;
}
inline bool same_bits(floats const& a, floats const& b) {
  auto const bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  return std::ranges::equal(a, b, {}, bits, bits);
}
/// |a - b| / |b|.
inline double relative_error(floats const& a, floats const& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i != b.size(); ++i) {
    difference += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
    size += double{b[i]} * double{b[i]};
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

/// A layer of the CPU with memory and a batch.
struct layer_on_host {
  std::size_t rows;
  nn::layer_list<float> list;
  floats parameters;
  floats gradients;
  floats statistics;
  floats x, y, dy, dx;
  nn::batch_context<float> context{true, 7, 3, {}};

  explicit layer_on_host(nn::layer_list<float> layers, std::size_t rows_of_batch)
      : rows(rows_of_batch),
        list(std::move(layers)),
        parameters(layer().parameters()),
        gradients(layer().parameters()),
        statistics(layer().statistics()),
        x(drawn_floats(rows * layer().inputs(), 1)),
        y(rows * layer().outputs()),
        dy(drawn_floats(rows * layer().outputs(), 2)),
        dx(x.size()) {
    nn::set_threads(1);
    layer().bind(parameters, gradients, statistics);
    layer().reserve(rows);
    nn::random_sequence random(3);
    layer().initialise(random);
    for (float& p : parameters) {  // no bias stays zero
      p += (random.fraction<float>() - 0.5F) / 4;
    }
  }

  [[nodiscard]] nn::layer<float>& layer() { return list.front(); }

  void forward(nn::batch_context<float> const& p) {
    layer().forward(p, nn::view<float const>(x.data(), rows, layer().inputs()),
                    nn::view<float>(y.data(), rows, layer().outputs()));
  }
  /// Runs a batch forward and backward. `dy` keeps its value.
  void run() {
    forward(context);
    floats slopes = dy;
    layer().backward(context, nn::view<float const>(x.data(), rows, layer().inputs()),
                     nn::view<float>(y.data(), rows, layer().outputs()),
                     nn::view<float>(slopes.data(), rows, layer().outputs()),
                     nn::view<float>(dx.data(), rows, layer().inputs()));
  }
};

}  // namespace laws
