// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// In training, each value is dropped (0) with the given probability, and otherwise divided by the probability of
/// keeping it, which preserves the expectation; elsewhere y = x. The dropped values are a function of the model's
/// seed, the layer, the step and the row's index in the batch of all ranks: they do not depend on the number of
/// ranks.
///
/// Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 2014.
template <class T>
class dropout final : public layer<T> {
 public:
  /// @pre 0 <= probability < 1
  dropout(std::size_t inputs, double probability)
      : inputs_(inputs), limit_(limit_of(probability)), scale_(1 / (1 - probability)) {}

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<dropout>(*this); }
  [[nodiscard]] std::size_t inputs() const noexcept override { return inputs_; }
  [[nodiscard]] std::size_t outputs() const noexcept override { return inputs_; }
  [[nodiscard]] geometry::variant geometry() const override {
    return {geometry::dropout{inputs_, limit_, static_cast<float>(scale_), key_}};
  }

  void initialise(random_sequence& random) noexcept override { key_ = random(); }
  void reserve(std::size_t rows) override { factors_.resize((std::max)(factors_.size(), rows * inputs_)); }

  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) override {
    if (context.training) {
      draw(context, x.shape(0));
      multiply(x.data(), y.data(), x.size());
    } else {
      std::copy_n(x.data(), x.size(), y.data());
    }
  }

  /// Computes dx, the derivative with respect to x, from dy, the one with respect to y, unless dx has no columns.
  void backward(batch_context<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) override {
    if (dx.shape(1) != 0) {
      multiply(dy.data(), dx.data(), dy.size());
    }
  }

 private:
  /// The limit below which a random number of 32 bits drops a value.
  /// @throws precondition_error unless the probability is in [0, 1)
  [[nodiscard]] static std::uint32_t limit_of(double probability) {
    expects(probability >= 0 && probability < 1, "dropout: the probability must be in [0, 1), not ", probability);
    return static_cast<std::uint32_t>(probability * 4294967296.0);
  }

  void draw(batch_context<T> const& context, std::size_t rows) {
    T const scale = static_cast<T>(scale_);
    std::uint64_t const key = random_sequence(key_, context.step)();
    T* factor = factors_.data();
    for (std::size_t r = 0; r != rows; ++r) {
      random_sequence random(key, context.first_row + r);
      for (std::size_t c = 0; c != inputs_; ++c) {
        *factor++ = random() >> 32U < limit_ ? T{0} : scale;
      }
    }
  }

  void multiply(T const* input, T* output, std::size_t count) const {
    for (std::size_t i = 0; i != count; ++i) {
      output[i] = input[i] * factors_[i];
    }
  }

  std::size_t inputs_;
  std::uint32_t limit_;
  double scale_;
  std::uint64_t key_ = 0;
  std::vector<T> factors_;  // factors of the last batch
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class dropout<float>;
extern template class dropout<double>;
#endif

}  // namespace tutti::nn
