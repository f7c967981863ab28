// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// y = relu(body(x) + shortcut(x)), where the shortcut is x itself unless layers are given for it.
///
/// He, Zhang, Ren, Sun, "Deep residual learning for image recognition", CVPR 2016.
template <class T>
class residual final : public layer<T> {
 public:
  /// @pre body and shortcut take as many numbers, and give as many
  explicit residual(layer_list<T> body, layer_list<T> shortcut = {}) : body_(std::move(body)) {
    if (!shortcut.empty()) {
      shortcut_.emplace(std::move(shortcut));
    }
    expects((shortcut_ ? shortcut_->inputs() : body_.outputs()) == body_.inputs() &&
                (shortcut_ ? shortcut_->outputs() : body_.inputs()) == body_.outputs(),
            "residual: body and shortcut must take as many numbers and give as many; the body takes ", body_.inputs(),
            " and gives ", body_.outputs(), ", the shortcut takes ", shortcut_ ? shortcut_->inputs() : body_.inputs(),
            " and gives ", shortcut_ ? shortcut_->outputs() : body_.inputs());
  }
  /// Makes the body of one layer, or of several of one type. Without this, one layer in braces could as well mean a
  /// copy of a block that is made of it.
  template <std::derived_from<layer<T>> Layer>
  explicit residual(std::initializer_list<Layer> body, layer_list<T> shortcut = {})
      : residual(list_of(body), std::move(shortcut)) {}

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<residual>(*this); }
  [[nodiscard]] std::size_t inputs() const override { return body_.inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return body_.outputs(); }
  [[nodiscard]] std::size_t parameters() const override {
    return body_.parameters() + (shortcut_ ? shortcut_->parameters() : 0);
  }
  [[nodiscard]] std::size_t statistics() const override {
    return body_.statistics() + (shortcut_ ? shortcut_->statistics() : 0);
  }
  [[nodiscard]] geometry::any geometry() const override {
    return {geometry::residual{body_.geometries(), shortcut_ ? shortcut_->geometries() : std::vector<geometry::any>{}}};
  }

  /// Appends the layers that this one consists of.
  void list_parts(std::vector<layer<T> const*>& parts) const override {
    body_.list_parts(parts);
    if (shortcut_) {
      shortcut_->list_parts(parts);
    }
  }

  /// The vectors hold those of the body, then those of the shortcut.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) override {
    std::size_t const learned = body_.parameters();
    std::size_t const remembered = body_.statistics();
    body_.bind(parameters.first(learned), gradients.first(learned), statistics.first(remembered));
    if (shortcut_) {
      shortcut_->bind(parameters.subspan(learned), gradients.subspan(learned), statistics.subspan(remembered));
    }
  }

  void initialise(random_sequence& random) override {
    body_.initialise(random);
    if (shortcut_) {
      shortcut_->initialise(random);
    }
  }

  void reserve(std::size_t rows) override {
    body_.reserve(rows);
    long_way_.resize({rows, outputs()});
    body_slopes_.resize({rows, outputs()});
    if (shortcut_) {
      shortcut_->reserve(rows);
      short_way_.resize({rows, outputs()});
      inputs_slopes_.resize({rows, inputs()});
    }
  }

  void forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y) override {
    std::size_t const rows = x.shape(0);
    body_.forward(how, x, first_rows(long_way_, rows));
    if (shortcut_) {
      shortcut_->forward(how, x, first_rows(short_way_, rows));
    }
    T const* const other = shortcut_ ? short_way_.data() : x.data();
    detail::elementwise(y.size(), [=, body = long_way_.data(), to = y.data()](std::size_t i) {
      to[i] = relu::value(body[i] + other[i]);
    });
  }

  /// Computes the gradients from dy, the derivative by y, and dx, that by x, unless dx has no columns.
  void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                matrix_view<T> dx) override {
    std::size_t const rows = x.shape(0);
    // The body may use its derivatives up; the shortcut wants them as well.
    detail::elementwise(y.size(), [values = y.data(), slopes = dy.data(), body = body_slopes_.data()](std::size_t i) {
      slopes[i] *= relu::slope(values[i]);
      body[i] = slopes[i];
    });
    T const* more = dy.data();
    if (shortcut_) {  // first, as its gradients are the last ones
      auto const onward = dx.shape(1) == 0 ? dx : first_rows(inputs_slopes_, rows);
      shortcut_->backward(how, x, first_rows(short_way_, rows), dy, onward);
      more = inputs_slopes_.data();
    }
    body_.backward(how, x, first_rows(long_way_, rows), first_rows(body_slopes_, rows), dx);
    detail::elementwise(dx.size(), [to = dx.data(), more](std::size_t i) { to[i] += more[i]; });
  }

 private:
  template <class Layer>
  [[nodiscard]] static layer_list<T> list_of(std::initializer_list<Layer> layers) {
    layer_list<T> result;
    for (Layer const& one : layers) {
      result.push_back(one);
    }
    return result;
  }

  detail::sequence<T> body_;
  std::optional<detail::sequence<T>> shortcut_;
  matrix<T> long_way_;       // the body's values
  matrix<T> short_way_;      // the shortcut's
  matrix<T> body_slopes_;    // derivative by the body's values
  matrix<T> inputs_slopes_;  // derivative by x along the shortcut
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class residual<float>;
extern template class residual<double>;
#endif

}  // namespace tutti::nn
