// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::nn {

/// Stochastic gradient descent with momentum: v = momentum v + g, w = w - rate v.
///
/// The same weights and gradients give the same bits on every rank: the state is a function of them
/// alone, and each element is computed by itself.
template <class T>
class sgd {
 public:
  /// @pre 0 <= momentum < 1
  explicit sgd(std::size_t parameters, T momentum) : velocity_(parameters), momentum_(momentum) {
    expects(momentum >= T{0} && momentum < T{1}, "sgd: momentum lies in [0, 1)");
  }

  /// One step. Cost: one pass over three vectors, no allocation.
  void step(std::span<T> weights, std::span<T const> gradients, T rate) {
    expects(weights.size() == velocity_.size() && gradients.size() == velocity_.size(),
            "sgd: as many weights and gradients as the optimizer was made for");
    T* const w = weights.data();
    T const* const g = gradients.data();
    T* const v = velocity_.data();
    std::size_t const count = velocity_.size();
    T const momentum = momentum_;
    for (std::size_t i = 0; i != count; ++i) {
      v[i] = momentum * v[i] + g[i];
      w[i] -= rate * v[i];
    }
  }

 private:
  std::vector<T> velocity_;
  T momentum_;
};

}  // namespace tutti::nn
