// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/leaves.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::device {

template <device_math M>
[[nodiscard]] std::unique_ptr<stage<M>> make_stage(M& math, geometry::variant const& layer);

/// Stages in a row: each takes the outputs of the previous one; like `nn::detail::sequence`. Keeps two sets of
/// derivatives between stages.
template <device_math M>
class sequence final : public stage<M> {
 public:
  /// @pre at least one layer
  sequence(M& math, std::span<geometry::variant const> layers) : sequence(math, make_stages(math, layers)) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    gradients_end_ = gradients + this->shape().parameters;
    first_learning_ = 0;
    while (first_learning_ + 1 != stages_.size() && stages_[first_learning_]->shape().parameters == 0) {
      ++first_learning_;
    }
    for (auto& layer : stages_) {
      layer->bind(parameters, gradients, statistics);
      parameters += layer->shape().parameters;
      gradients += layer->shape().parameters;
      statistics += layer->shape().statistics;
    }
  }
  void reserve(std::size_t rows) override {
    std::size_t largest = 0;
    for (std::size_t i = 0; i != stages_.size(); ++i) {
      stages_[i]->reserve(rows);
      if (i + 1 != stages_.size()) {
        std::size_t const bytes = rows * stages_[i]->shape().outputs * bytes_of(math_.numbers());
        values_[i] = buffer<M>(math_, bytes);
        largest = (std::max)(largest, bytes);
      }
    }
    for (auto& slopes : slopes_) {
      slopes = buffer<M>(math_, largest);
    }
  }
  void refresh() override {
    for (auto& layer : stages_) {
      layer->refresh();
    }
  }
  void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) override {
    for (std::size_t i = 0; i != stages_.size(); ++i) {
      stages_[i]->forward(context, rows, i == 0 ? x : values_[i - 1].data(),
                          i == values_.size() ? y : values_[i].data());
    }
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    float const* first = gradients_end_;
    // The first learning layer need not compute derivatives of its inputs.
    std::size_t const last = dx == nullptr ? first_learning_ : 0;
    for (std::size_t i = stages_.size(); i-- != last;) {
      stages_[i]->backward(context, rows, i == 0 ? x : values_[i - 1].data(),
                           i == values_.size() ? y : values_[i].data(),
                           i == values_.size() ? dy : slopes_[i % 2].data(),
                           i == 0      ? dx
                           : i == last ? nullptr
                                       : slopes_[(i - 1) % 2].data());
      first -= stages_[i]->shape().parameters;
      context.on_completion(first);
    }
  }

 private:
  using stages = std::vector<std::unique_ptr<stage<M>>>;

  sequence(M& math, stages list)
      : stage<M>(sum_of(list)), math_(math), stages_(std::move(list)), values_(stages_.size() - 1) {}

  [[nodiscard]] static stages make_stages(M& math, std::span<geometry::variant const> layers) {
    stages list;
    for (auto const& layer : layers) {
      list.push_back(make_stage(math, layer));
    }
    return list;
  }
  [[nodiscard]] static extents sum_of(stages const& list) {
    extents sum{list.front()->shape().inputs, list.back()->shape().outputs, 0, 0};
    for (auto const& layer : list) {
      sum.parameters += layer->shape().parameters;
      sum.statistics += layer->shape().statistics;
    }
    return sum;
  }

  M& math_;
  stages stages_;
  std::vector<buffer<M>> values_;         // outputs of each stage but the last
  std::array<buffer<M>, 2> slopes_;       // derivatives by these, of even and odd stages
  float const* gradients_end_ = nullptr;  // end of the gradients
  std::size_t first_learning_ = 0;        // index of the first stage with parameters
};

/// Computes nn::residual.
template <device_math M>
class residual_stage final : public stage<M> {
 public:
  residual_stage(M& math, geometry::residual const& l) : residual_stage(math, sequence_of(math, l.body), l) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    body_->bind(parameters, gradients, statistics);
    if (shortcut_) {
      std::size_t const body_parameters = body_->shape().parameters;
      shortcut_->bind(parameters + body_parameters, gradients + body_parameters,
                      statistics + body_->shape().statistics);
    }
  }
  void reserve(std::size_t rows) override {
    std::size_t const outputs = rows * this->shape().outputs * bytes_of(math_.numbers());
    body_->reserve(rows);
    body_outputs_ = buffer<M>(math_, outputs);
    body_slopes_ = buffer<M>(math_, outputs);
    if (shortcut_) {
      shortcut_->reserve(rows);
      shortcut_outputs_ = buffer<M>(math_, outputs);
      shortcut_slopes_ = buffer<M>(math_, rows * this->shape().inputs * bytes_of(math_.numbers()));
    }
  }
  void refresh() override {
    body_->refresh();
    if (shortcut_) {
      shortcut_->refresh();
    }
  }
  void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) override {
    body_->forward(context, rows, x, body_outputs_.data());
    if (shortcut_) {
      shortcut_->forward(context, rows, x, shortcut_outputs_.data());
    }
    math_.add_rectified(rows * this->shape().outputs, body_outputs_.data(), shortcut_ ? shortcut_outputs_.data() : x,
                        y);
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    // The body may overwrite its derivatives, and the shortcut needs them too.
    math_.split_slopes(rows * this->shape().outputs, y, dy, body_slopes_.data());
    std::byte const* slopes = dy;
    if (shortcut_) {  // the shortcut's gradients are the last ones
      shortcut_->backward(context, rows, x, shortcut_outputs_.data(), dy,
                          dx == nullptr ? nullptr : shortcut_slopes_.data());
      slopes = shortcut_slopes_.data();
    }
    body_->backward(context, rows, x, body_outputs_.data(), body_slopes_.data(), dx);
    if (dx != nullptr) {
      math_.add(rows * this->shape().inputs, slopes, dx);
    }
  }

 private:
  using part = std::unique_ptr<sequence<M>>;

  residual_stage(M& math, part body, geometry::residual const& l)
      : residual_stage(math, std::move(body), l.shortcut.empty() ? nullptr : sequence_of(math, l.shortcut)) {}
  residual_stage(M& math, part body, part shortcut)
      : stage<M>({body->shape().inputs, body->shape().outputs,
                  body->shape().parameters + (shortcut ? shortcut->shape().parameters : 0),
                  body->shape().statistics + (shortcut ? shortcut->shape().statistics : 0)}),
        math_(math),
        body_(std::move(body)),
        shortcut_(std::move(shortcut)) {}

  [[nodiscard]] static part sequence_of(M& math, std::span<geometry::variant const> layers) {
    return std::make_unique<sequence<M>>(math, layers);
  }

  M& math_;
  part body_;
  part shortcut_;
  buffer<M> body_outputs_;      // outputs of the body
  buffer<M> shortcut_outputs_;  // outputs of the shortcut
  buffer<M> body_slopes_;       // derivatives by the body's outputs
  buffer<M> shortcut_slopes_;   // derivatives by x along the shortcut
};

/// Computes nn::weight_norm.
template <device_math M>
class weight_norm_stage final : public stage<M> {
 public:
  weight_norm_stage(M& math, geometry::weight_norm const& l)
      : weight_norm_stage(math, l, make_stage(math, l.layer.front())) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    parameters_ = parameters;
    gradients_ = gradients;
    inner_->bind(inner_parameters_.floats(), inner_gradients_.floats(), statistics);
  }
  void reserve(std::size_t rows) override { inner_->reserve(rows); }
  void refresh() override {
    math_.normalise(l_, parameters_, inner_parameters_.floats());
    inner_->refresh();
  }
  void forward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte* y) override {
    inner_->forward(context, rows, x, y);
  }
  void backward(batch_context<float> const& context, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    batch_context<float> inner_context = context;
    inner_context.on_completion = {};  // gradients of the inner layer are not gradients of the model
    inner_->backward(inner_context, rows, x, y, dy, dx);
    math_.differentiate_norm(l_, parameters_, inner_gradients_.floats(), gradients_);
  }

 private:
  weight_norm_stage(M& math, geometry::weight_norm const& l, std::unique_ptr<stage<M>> inner)
      : stage<M>({inner->shape().inputs, inner->shape().outputs, l.layer_parameters + l.blocks * l.units,
                  inner->shape().statistics}),
        math_(math),
        l_(l),
        inner_(std::move(inner)),
        inner_parameters_(math, l.layer_parameters * sizeof(float)),
        inner_gradients_(math, l.layer_parameters * sizeof(float)) {}

  M& math_;
  geometry::weight_norm l_;
  std::unique_ptr<stage<M>> inner_;
  buffer<M> inner_parameters_;  // parameters of the inner layer
  buffer<M> inner_gradients_;   // gradients of the inner layer
  float const* parameters_ = nullptr;
  float* gradients_ = nullptr;
};

/// Makes the stage for a geometry.
template <device_math M>
std::unique_ptr<stage<M>> make_stage(M& math, geometry::variant const& layer) {
  struct maker {
    using result = std::unique_ptr<stage<M>>;

    result operator()(geometry::dense const& l) const {
      return std::make_unique<product_stage<M, geometry::dense>>(math, l);
    }
    result operator()(geometry::convolution const& l) const {
      return std::make_unique<product_stage<M, geometry::convolution>>(math, l);
    }
    result operator()(geometry::pooling const& l) const { return std::make_unique<pooling_stage<M>>(math, l); }
    result operator()(geometry::batch_norm const& l) const { return std::make_unique<norm_stage<M>>(math, l); }
    result operator()(geometry::dropout const& l) const { return std::make_unique<dropout_stage<M>>(math, l); }
    result operator()(geometry::channels_last const& l) const { return std::make_unique<order_stage<M>>(math, l); }
    result operator()(geometry::residual const& l) const { return std::make_unique<residual_stage<M>>(math, l); }
    result operator()(geometry::weight_norm const& l) const { return std::make_unique<weight_norm_stage<M>>(math, l); }

    M& math;
  };
  return layer.visit(maker{math});
}

}  // namespace tutti::nn::detail::device
