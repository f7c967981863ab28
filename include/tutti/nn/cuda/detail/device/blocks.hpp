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
[[nodiscard]] std::unique_ptr<stage<M>> make_stage(M& math, geometry::variant const& what);

/// Stages, each of which takes the outputs of the one before; like `nn::detail::sequence`. Keeps two sets of
/// derivatives between stages.
template <device_math M>
class sequence final : public stage<M> {
 public:
  /// @pre at least one layer
  sequence(M& math, std::span<geometry::variant const> layers) : sequence(math, made_of(math, layers)) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    behind_ = gradients + this->of().parameters;
    learning_ = 0;
    while (learning_ + 1 != stages_.size() && stages_[learning_]->of().parameters == 0) {
      ++learning_;
    }
    for (auto& one : stages_) {
      one->bind(parameters, gradients, statistics);
      parameters += one->of().parameters;
      gradients += one->of().parameters;
      statistics += one->of().statistics;
    }
  }
  void reserve(std::size_t rows) override {
    std::size_t largest = 0;
    for (std::size_t i = 0; i != stages_.size(); ++i) {
      stages_[i]->reserve(rows);
      if (i + 1 != stages_.size()) {
        std::size_t const bytes = rows * stages_[i]->of().outputs * bytes_of(math_.numbers());
        values_[i] = buffer<M>(math_, bytes);
        largest = (std::max)(largest, bytes);
      }
    }
    for (auto& one : slopes_) {
      one = buffer<M>(math_, largest);
    }
  }
  void refresh() override {
    for (auto& one : stages_) {
      one->refresh();
    }
  }
  void forward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte* y) override {
    for (std::size_t i = 0; i != stages_.size(); ++i) {
      stages_[i]->forward(how, rows, i == 0 ? x : values_[i - 1].data(), i == values_.size() ? y : values_[i].data());
    }
  }
  void backward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    float const* first = behind_;
    // The first learning layer need not compute derivatives of its inputs.
    std::size_t const last = dx == nullptr ? learning_ : 0;
    for (std::size_t i = stages_.size(); i-- != last;) {
      stages_[i]->backward(how, rows, i == 0 ? x : values_[i - 1].data(), i == values_.size() ? y : values_[i].data(),
                           i == values_.size() ? dy : slopes_[i % 2].data(),
                           i == 0      ? dx
                           : i == last ? nullptr
                                       : slopes_[(i - 1) % 2].data());
      first -= stages_[i]->of().parameters;
      how.on_completion(first);
    }
  }

 private:
  using stages = std::vector<std::unique_ptr<stage<M>>>;

  sequence(M& math, stages made)
      : stage<M>(sum_of(made)), math_(math), stages_(std::move(made)), values_(stages_.size() - 1) {}

  [[nodiscard]] static stages made_of(M& math, std::span<geometry::variant const> layers) {
    stages made;
    for (auto const& one : layers) {
      made.push_back(make_stage(math, one));
    }
    return made;
  }
  [[nodiscard]] static extents sum_of(stages const& all) {
    extents sum{all.front()->of().inputs, all.back()->of().outputs, 0, 0};
    for (auto const& one : all) {
      sum.parameters += one->of().parameters;
      sum.statistics += one->of().statistics;
    }
    return sum;
  }

  M& math_;
  stages stages_;
  std::vector<buffer<M>> values_;    // outputs of each stage but the last
  std::array<buffer<M>, 2> slopes_;  // derivatives by these, of even and odd stages
  float const* behind_ = nullptr;    // end of the gradients
  std::size_t learning_ = 0;         // index of the first stage with parameters
};

/// Computes nn::residual.
template <device_math M>
class residual_stage final : public stage<M> {
 public:
  residual_stage(M& math, geometry::residual const& l) : residual_stage(math, sequence_of(math, l.body), l) {}

  void bind(float const* parameters, float* gradients, float* statistics) override {
    body_->bind(parameters, gradients, statistics);
    if (shortcut_) {
      std::size_t const learned = body_->of().parameters;
      shortcut_->bind(parameters + learned, gradients + learned, statistics + body_->of().statistics);
    }
  }
  void reserve(std::size_t rows) override {
    std::size_t const outputs = rows * this->of().outputs * bytes_of(math_.numbers());
    body_->reserve(rows);
    long_way_ = buffer<M>(math_, outputs);
    body_slopes_ = buffer<M>(math_, outputs);
    if (shortcut_) {
      shortcut_->reserve(rows);
      short_way_ = buffer<M>(math_, outputs);
      inputs_slopes_ = buffer<M>(math_, rows * this->of().inputs * bytes_of(math_.numbers()));
    }
  }
  void refresh() override {
    body_->refresh();
    if (shortcut_) {
      shortcut_->refresh();
    }
  }
  void forward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte* y) override {
    body_->forward(how, rows, x, long_way_.data());
    if (shortcut_) {
      shortcut_->forward(how, rows, x, short_way_.data());
    }
    math_.add_rectified(rows * this->of().outputs, long_way_.data(), shortcut_ ? short_way_.data() : x, y);
  }
  void backward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    // The body may overwrite its derivatives, and the shortcut needs them too.
    math_.split_slopes(rows * this->of().outputs, y, dy, body_slopes_.data());
    std::byte const* more = dy;
    if (shortcut_) {  // the shortcut's gradients are the last ones
      shortcut_->backward(how, rows, x, short_way_.data(), dy, dx == nullptr ? nullptr : inputs_slopes_.data());
      more = inputs_slopes_.data();
    }
    body_->backward(how, rows, x, long_way_.data(), body_slopes_.data(), dx);
    if (dx != nullptr) {
      math_.add(rows * this->of().inputs, more, dx);
    }
  }

 private:
  using part = std::unique_ptr<sequence<M>>;

  residual_stage(M& math, part body, geometry::residual const& l)
      : residual_stage(math, std::move(body), l.shortcut.empty() ? nullptr : sequence_of(math, l.shortcut)) {}
  residual_stage(M& math, part body, part shortcut)
      : stage<M>({body->of().inputs, body->of().outputs,
                  body->of().parameters + (shortcut ? shortcut->of().parameters : 0),
                  body->of().statistics + (shortcut ? shortcut->of().statistics : 0)}),
        math_(math),
        body_(std::move(body)),
        shortcut_(std::move(shortcut)) {}

  [[nodiscard]] static part sequence_of(M& math, std::span<geometry::variant const> layers) {
    return std::make_unique<sequence<M>>(math, layers);
  }

  M& math_;
  part body_;
  part shortcut_;
  buffer<M> long_way_;       // outputs of the body
  buffer<M> short_way_;      // outputs of the shortcut
  buffer<M> body_slopes_;    // derivatives by the body's outputs
  buffer<M> inputs_slopes_;  // derivatives by x along the shortcut
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
    inner_->bind(made_.floats(), slopes_.floats(), statistics);
  }
  void reserve(std::size_t rows) override { inner_->reserve(rows); }
  void refresh() override {
    math_.normalise(l_, parameters_, made_.floats());
    inner_->refresh();
  }
  void forward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte* y) override {
    inner_->forward(how, rows, x, y);
  }
  void backward(batch_context<float> const& how, std::size_t rows, std::byte const* x, std::byte const* y,
                std::byte* dy, std::byte* dx) override {
    batch_context<float> inside = how;
    inside.on_completion = {};  // gradients of the inner layer are not gradients of the model
    inner_->backward(inside, rows, x, y, dy, dx);
    math_.differentiate_norm(l_, parameters_, slopes_.floats(), gradients_);
  }

 private:
  weight_norm_stage(M& math, geometry::weight_norm const& l, std::unique_ptr<stage<M>> inner)
      : stage<M>(
            {inner->of().inputs, inner->of().outputs, l.layer_parameters + l.blocks * l.units, inner->of().statistics}),
        math_(math),
        l_(l),
        inner_(std::move(inner)),
        made_(math, l.layer_parameters * sizeof(float)),
        slopes_(math, l.layer_parameters * sizeof(float)) {}

  M& math_;
  geometry::weight_norm l_;
  std::unique_ptr<stage<M>> inner_;
  buffer<M> made_;    // parameters of the inner layer
  buffer<M> slopes_;  // gradients of the inner layer
  float const* parameters_ = nullptr;
  float* gradients_ = nullptr;
};

/// Makes the stage for a geometry.
template <device_math M>
std::unique_ptr<stage<M>> make_stage(M& math, geometry::variant const& what) {
  struct maker {
    using made = std::unique_ptr<stage<M>>;

    made operator()(geometry::dense const& l) const {
      return std::make_unique<product_stage<M, geometry::dense>>(on, l);
    }
    made operator()(geometry::convolution const& l) const {
      return std::make_unique<product_stage<M, geometry::convolution>>(on, l);
    }
    made operator()(geometry::pooling const& l) const { return std::make_unique<pooling_stage<M>>(on, l); }
    made operator()(geometry::batch_norm const& l) const { return std::make_unique<norm_stage<M>>(on, l); }
    made operator()(geometry::dropout const& l) const { return std::make_unique<dropout_stage<M>>(on, l); }
    made operator()(geometry::channels_last const& l) const { return std::make_unique<order_stage<M>>(on, l); }
    made operator()(geometry::residual const& l) const { return std::make_unique<residual_stage<M>>(on, l); }
    made operator()(geometry::weight_norm const& l) const { return std::make_unique<weight_norm_stage<M>>(on, l); }

    M& on;
  };
  return what.visit(maker{math});
}

}  // namespace tutti::nn::detail::device
