// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/detail/saved_model/tensor_place.hpp>
#include <tutti/nn/saved_model/base/module_names.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

/// Walks through layers in the order of their weights.
class tensor_walk {
 public:
  explicit tensor_walk(std::span<geometry::variant const> layers) : names_(module_names(layers)) { add(layers); }

  [[nodiscard]] std::vector<tensor_place> take() { return std::move(tensors_); }

 private:
  using axis = tensor_place::axis;

  void add(std::span<geometry::variant const> layers) {
    for (auto const& layer : layers) {
      layer.visit([this](auto const& description) { add(description); });
    }
  }

  void add(geometry::dense const& d) { add_weights(d, names_[next_++] + ".weight"); }
  void add(geometry::convolution const& c) { add_weights(c, names_[next_++] + ".weight"); }

  void add(geometry::batch_norm const& b) {
    auto const name = names_[next_++];
    std::size_t const channels = b.image.channels;
    add_vector(name + ".weight", channels);
    add_vector(name + ".bias", channels);
    for (char const* const statistic : {".running_mean", ".running_var"}) {
      tensors_.push_back({name + statistic, {channels}, {{channels, 1}}, statistics_, true});
      statistics_ += channels;
    }
    image_ = b.image;
  }

  void add(geometry::residual const& r) {
    auto const input = image_;
    add(std::span(r.body));
    auto const output = image_;
    image_ = input;
    add(std::span(r.shortcut));
    image_ = output;
  }

  /// Adds v as `weight_v`, the other parameters, and g as `weight_g`, as torch.nn.utils.weight_norm has them.
  void add(geometry::weight_norm const& w) {
    auto const name = names_[next_++];
    w.layer.front().visit([&](auto const& inner) {
      if constexpr (requires { this->add_weights(inner, name); }) {
        add_weights(inner, name + ".weight_v");
      }
    });
    std::size_t const units = w.blocks * w.units;
    std::vector<std::size_t> shape(w.layer.front().description.index() == 0 ? 2 : 4, 1);  // dense or convolution
    shape.front() = units;
    add_tensor(name + ".weight_g", std::move(shape), {{units, 1}});
  }

  void add(geometry::pooling const& p) { image_ = p.output; }
  void add(geometry::channels_last const& c) { image_ = c.image; }
  void add(geometry::dropout const&) {}

  /// Adds W and b. Columns of W follow the channels of the image that the layer takes.
  void add_weights(geometry::dense const& d, std::string const& name) {
    std::size_t const channels = image_.size() == d.inputs ? image_.channels : 1;
    add_tensor(name, {d.outputs, d.inputs},
               {{d.outputs, 1}, {channels, d.outputs}, {d.inputs / channels, channels * d.outputs}});
    add_vector(bias_of(name), d.outputs);
    image_ = {d.outputs, 1, 1};
  }

  void add_weights(geometry::convolution const& c, std::string const& name) {
    std::size_t const side = c.filter_window.side;
    std::size_t const channels = c.input.channels / c.groups;
    std::size_t const units = c.output.channels / c.groups;
    add_tensor(name, {c.output.channels, channels, side, side},
               {{c.groups, c.fan_in() * units},
                {units, 1},
                {channels, units},
                {side, side * channels * units},
                {side, channels * units}});
    if (c.bias) {
      add_vector(bias_of(name), c.output.channels);
    }
    image_ = c.output;
  }

  [[nodiscard]] static std::string bias_of(std::string const& weight) {
    return weight.substr(0, weight.rfind('.')) + ".bias";
  }

  void add_vector(std::string name, std::size_t count) { add_tensor(std::move(name), {count}, {{count, 1}}); }

  void add_tensor(std::string name, std::vector<std::size_t> shape, std::vector<axis> axes) {
    tensors_.push_back({std::move(name), std::move(shape), std::move(axes), parameters_, false});
    parameters_ += tensors_.back().size();
  }

  std::vector<std::string> names_;
  std::size_t next_ = 0;
  std::vector<tensor_place> tensors_;
  image_shape image_{1, 1, 1};  // shape of the current image; numbers without places are channels of one pixel
  std::size_t parameters_ = 0;
  std::size_t statistics_ = 0;
};

TUTTI_DECL std::vector<tensor_place> tensor_places(std::span<geometry::variant const> layers) {
  return tensor_walk(layers).take();
}

}  // namespace tutti::nn::detail::saved_model
