// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/layer.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Layers in sequence, each with the outputs of the one before it as inputs: a description of a model or of a part of
/// it. Copying copies the layers.
///
///     nn::layer_list<float> layers{nn::dense<float, nn::relu>(784, 64), nn::dense<float>(64, 10)};
template <class T>
class layer_list {
  template <class Layer>
  class iterator {
   public:
    explicit iterator(std::unique_ptr<layer<T>> const* at) noexcept : at_(at) {}

    [[nodiscard]] Layer& operator*() const noexcept { return **at_; }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator==(iterator const&, iterator const&) = default;

   private:
    std::unique_ptr<layer<T>> const* at_;
  };

 public:
  /// Constructs a list without layers.
  layer_list() = default;
  /// Holds the given layers.
  template <std::derived_from<layer<T>>... Layers>
    requires(sizeof...(Layers) > 0)
  layer_list(Layers... layers) {
    layers_.reserve(sizeof...(layers));
    (push_back(std::move(layers)), ...);
  }

  /// Copies the layers.
  layer_list(layer_list const& other) {
    layers_.reserve(other.size());
    for (auto const& layer : other) {
      push_back(layer.clone());
    }
  }
  /// Takes over the layers.
  layer_list(layer_list&&) noexcept = default;
  /// Copies the other list's layers.
  layer_list& operator=(layer_list const& other) { return *this = layer_list(other); }
  /// Takes over the other list's layers, and releases the current ones.
  layer_list& operator=(layer_list&&) noexcept = default;
  ~layer_list() = default;

  /// Adds a layer behind the others.
  template <class Layer>
  void push_back(Layer new_layer) {
    static_assert(std::derived_from<Layer, layer<T>>,
                  "this is no layer of these numbers: give one that derives from tutti::nn::layer<T>");
    layers_.push_back(std::make_unique<Layer>(std::move(new_layer)));
  }
  /// Adds a layer behind the others.
  /// @pre the pointer is not null
  void push_back(std::unique_ptr<layer<T>> new_layer) {
    expects(new_layer != nullptr, "layer_list: push_back needs a layer, not a null pointer");
    layers_.push_back(std::move(new_layer));
  }

  /// The number of layers.
  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }
  /// True if there is no layer.
  [[nodiscard]] bool empty() const noexcept { return layers_.empty(); }

  /// The layer at place `i`.
  [[nodiscard]] layer<T>& operator[](std::size_t i) noexcept { return *layers_[i]; }
  /// The layer at place `i`.
  [[nodiscard]] layer<T> const& operator[](std::size_t i) const noexcept { return *layers_[i]; }
  /// The first layer.
  [[nodiscard]] layer<T>& front() noexcept { return *layers_.front(); }
  /// The first layer.
  [[nodiscard]] layer<T> const& front() const noexcept { return *layers_.front(); }
  /// The last layer.
  [[nodiscard]] layer<T>& back() noexcept { return *layers_.back(); }
  /// The last layer.
  [[nodiscard]] layer<T> const& back() const noexcept { return *layers_.back(); }

  /// The first of the layers, for a loop over them.
  [[nodiscard]] auto begin() noexcept { return iterator<layer<T>>(layers_.data()); }
  /// The end of a loop over the layers.
  [[nodiscard]] auto end() noexcept { return iterator<layer<T>>(layers_.data() + layers_.size()); }
  /// The first of the layers, for a loop over them.
  [[nodiscard]] auto begin() const noexcept { return iterator<layer<T> const>(layers_.data()); }
  /// The end of a loop over the layers.
  [[nodiscard]] auto end() const noexcept { return iterator<layer<T> const>(layers_.data() + layers_.size()); }

 private:
  std::vector<std::unique_ptr<layer<T>>> layers_;
};

}  // namespace tutti::nn
