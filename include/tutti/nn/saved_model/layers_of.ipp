// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/saved_model/layers_of.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

namespace detail {

/// Adds the layer of each description to a list.
class layer_maker {
 public:
  explicit layer_maker(layer_list<float>& layers) : layers_(layers) {}

  void operator()(geometry::dense const& d) {
    with_activation(d.activation, [&]<class A>(A const&) { layers_.push_back(dense<float, A>(d.inputs, d.outputs)); });
  }
  void operator()(geometry::convolution const& c) {
    nn::convolution const options{c.output.channels, c.filter_window, c.groups, c.bias};
    with_activation(c.activation, [&]<class A>(A const&) { layers_.push_back(conv2d<float, A>(c.input, options)); });
  }
  void operator()(geometry::pooling const& p) {
    if (p.kind == geometry::pooling_kind::largest) {
      add_pooling<max_pool<float>>(p);
    } else {
      add_pooling<average_pool<float>>(p);
    }
  }
  void operator()(geometry::batch_norm const& b) {
    expects(b.epsilon == batch_norm<float>::epsilon && b.momentum == batch_norm<float>::momentum,
            "layers_of: a batch normalisation must have epsilon ", batch_norm<float>::epsilon, " and momentum ",
            batch_norm<float>::momentum, ", not ", b.epsilon, " and ", b.momentum);
    if (b.activation == activation_kind::relu) {
      layers_.push_back(batch_norm<float, relu>(b.image));
    } else {
      layers_.push_back(batch_norm<float>(b.image));
    }
  }
  void operator()(geometry::dropout const& d) { layers_.push_back(dropout<float>(d.numbers, d.limit / 4294967296.0)); }
  void operator()(geometry::channels_last const& c) { layers_.push_back(channels_last<float>(c.image)); }
  void operator()(geometry::residual const& r) {
    layers_.push_back(residual<float>(layers_of(r.body), layers_of(r.shortcut)));
  }
  void operator()(geometry::weight_norm const& w) { layers_.push_back(weight_norm<float>(layers_of(w.layer))); }

 private:
  template <class F>
  static void with_activation(activation_kind kind, F const& f) {
    switch (kind) {
      case activation_kind::identity:
        f(identity{});
        break;
      case activation_kind::relu:
        f(relu{});
        break;
      case activation_kind::tanh:
        f(tanh{});
        break;
      case activation_kind::sigmoid:
        f(sigmoid{});
        break;
    }
  }

  template <class Pooling>
  void add_pooling(geometry::pooling const& p) {
    if (p.vertical == p.horizontal) {
      layers_.push_back(Pooling(p.input, p.vertical));
    } else {
      layers_.push_back(Pooling(p.input));
    }
  }

  layer_list<float>& layers_;
};

}  // namespace detail

TUTTI_DECL layer_list<float> layers_of(std::span<geometry::variant const> descriptions) {
  layer_list<float> result;
  for (auto const& description : descriptions) {
    description.visit(detail::layer_maker(result));
  }
  return result;
}

}  // namespace tutti::nn
