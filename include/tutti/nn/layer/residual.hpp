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

/// y = relu(body(x) + shortcut(x)), where the shortcut is x itself unless it has layers.
///
/// He, Zhang, Ren, Sun, "Deep residual learning for image recognition", CVPR 2016.
template <class T>
class residual final : public layer<T> {
 public:
  /// @pre body and shortcut have equal numbers of inputs and of outputs
  explicit residual(layer_list<T> body, layer_list<T> shortcut = {}) : body_(std::move(body)) {
    if (!shortcut.empty()) {
      shortcut_.emplace(std::move(shortcut));
    }
    expects((shortcut_ ? shortcut_->inputs() : body_.outputs()) == body_.inputs() &&
                (shortcut_ ? shortcut_->outputs() : body_.inputs()) == body_.outputs(),
            "residual: body and shortcut must have equal inputs and outputs; the body takes ", body_.inputs(),
            " and gives ", body_.outputs(), ", the shortcut takes ", shortcut_ ? shortcut_->inputs() : body_.inputs(),
            " and gives ", shortcut_ ? shortcut_->outputs() : body_.inputs());
  }
  /// Constructs the body from one layer, or from several of one type. Without this overload, one layer in braces
  /// might mean a copy of a block.
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
  [[nodiscard]] geometry::variant geometry() const override {
    return {
        geometry::residual{body_.geometries(), shortcut_ ? shortcut_->geometries() : std::vector<geometry::variant>{}}};
  }

  /// Appends the layers that this one consists of.
  void list_parts(std::vector<layer<T> const*>& parts) const override {
    body_.list_parts(parts);
    if (shortcut_) {
      shortcut_->list_parts(parts);
    }
  }

  /// Binds the vectors: the part of the body, then that of the shortcut.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) override {
    std::size_t const parameter_count = body_.parameters();
    std::size_t const statistics_count = body_.statistics();
    body_.bind(parameters.first(parameter_count), gradients.first(parameter_count), statistics.first(statistics_count));
    if (shortcut_) {
      shortcut_->bind(parameters.subspan(parameter_count), gradients.subspan(parameter_count),
                      statistics.subspan(statistics_count));
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
    body_outputs_.resize({rows, outputs()});
    body_gradients_.resize({rows, outputs()});
    if (shortcut_) {
      shortcut_->reserve(rows);
      shortcut_outputs_.resize({rows, outputs()});
      input_gradients_.resize({rows, inputs()});
    }
  }

  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) override {
    std::size_t const rows = x.shape(0);
    body_.forward(context, x, first_rows(body_outputs_, rows));
    if (shortcut_) {
      shortcut_->forward(context, x, first_rows(shortcut_outputs_, rows));
    }
    T const* const other = shortcut_ ? shortcut_outputs_.data() : x.data();
    detail::elementwise(y.size(), [=, body = body_outputs_.data(), outputs = y.data()](std::size_t i) {
      outputs[i] = relu::value(body[i] + other[i]);
    });
  }

  /// Computes the gradients from dy, the derivative with respect to y, and dx, the one with respect to x, unless dx
  /// has no columns.
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) override {
    std::size_t const rows = x.shape(0);
    // A copy for the body, which may overwrite its derivatives; the shortcut needs them, too.
    detail::elementwise(y.size(),
                        [values = y.data(), gradients = dy.data(), copies = body_gradients_.data()](std::size_t i) {
                          gradients[i] *= relu::derivative(values[i]);
                          copies[i] = gradients[i];
                        });
    T const* shortcut_gradients = dy.data();
    if (shortcut_) {  // before the body, because its gradients are behind the body's
      auto const shortcut_dx = dx.shape(1) == 0 ? dx : first_rows(input_gradients_, rows);
      shortcut_->backward(context, x, first_rows(shortcut_outputs_, rows), dy, shortcut_dx);
      shortcut_gradients = input_gradients_.data();
    }
    body_.backward(context, x, first_rows(body_outputs_, rows), first_rows(body_gradients_, rows), dx);
    detail::elementwise(dx.size(), [gradients = dx.data(), shortcut_gradients](std::size_t i) {
      gradients[i] += shortcut_gradients[i];
    });
  }

 private:
  template <class Layer>
  [[nodiscard]] static layer_list<T> list_of(std::initializer_list<Layer> layers) {
    layer_list<T> result;
    for (Layer const& layer : layers) {
      result.push_back(layer);
    }
    return result;
  }

  detail::sequence<T> body_;
  std::optional<detail::sequence<T>> shortcut_;
  matrix<T> body_outputs_;
  matrix<T> shortcut_outputs_;
  matrix<T> body_gradients_;   // derivative with respect to the body's outputs
  matrix<T> input_gradients_;  // derivative with respect to x through the shortcut
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class residual<float>;
extern template class residual<double>;
#endif

}  // namespace tutti::nn
