// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/activation_kind.hpp>
#include <tutti/nn/saved_model/base/module_names.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

template <class Kind>
[[nodiscard]] bool is_of_kind(geometry::variant const& layer) {
  return std::holds_alternative<Kind>(layer.description);
}

/// The layer itself, or the layer whose weights are normalised.
[[nodiscard]] inline geometry::variant const& leaf_of(geometry::variant const& layer) {
  auto const* const norm = std::get_if<geometry::weight_norm>(&layer.description);
  return norm == nullptr ? layer : norm->layer.front();
}

[[nodiscard]] inline bool is_dense(geometry::variant const& layer) {
  return is_of_kind<geometry::dense>(leaf_of(layer));
}

/// Appends the names of layers in sequence, or in a network with residual blocks.
struct module_namer {
  std::vector<std::string> names{};

  /// Numbers the modules of a sequence.
  void add_sequence(std::span<geometry::variant const> layers, std::string const& prefix) {
    std::size_t index = 0;
    for (auto const& layer : layers) {
      auto const name = prefix + std::to_string(index);
      leaf_of(layer).visit([&](auto const& description) {
        using kind = std::remove_cvref_t<decltype(description)>;
        if constexpr (requires { description.activation; }) {
          names.push_back(name);
          index += description.activation == activation_kind::identity ? 1 : 2;
        } else if constexpr (std::is_same_v<kind, geometry::residual>) {
          add_block(description, name + '.');
          ++index;
        } else if constexpr (!std::is_same_v<kind, geometry::channels_last>) {  // PyTorch needs no transposition
          ++index;
        }
      });
    }
  }

  /// Names the layers of a network with residual blocks, or of a block's body.
  void add_network(std::span<geometry::variant const> layers, std::string const& prefix) {
    bool const has_one_head = std::ranges::count_if(layers, is_dense) == 1;
    std::size_t convolutions = 0;
    std::size_t normalisations = 0;
    std::size_t heads = 0;
    std::size_t stage = 0;
    std::size_t block = 0;
    for (auto const& layer : layers) {
      if (auto const* const residual = std::get_if<geometry::residual>(&layer.description)) {
        block = stage == 0 || !residual->shortcut.empty() ? 0 : block + 1;
        stage += block == 0 ? 1 : 0;
        add_block(*residual, prefix + "layer" + std::to_string(stage) + '.' + std::to_string(block) + '.');
      } else if (is_of_kind<geometry::convolution>(leaf_of(layer))) {
        names.push_back(prefix + "conv" + std::to_string(++convolutions));
      } else if (is_of_kind<geometry::batch_norm>(layer)) {
        names.push_back(prefix + "bn" + std::to_string(++normalisations));
      } else if (is_dense(layer)) {
        names.push_back(prefix + "fc" + (has_one_head ? "" : std::to_string(++heads)));
      }
    }
  }

  void add_block(geometry::residual const& block, std::string const& prefix) {
    add_network(block.body, prefix);
    add_sequence(block.shortcut, prefix + "downsample.");
  }
};

TUTTI_DECL std::vector<std::string> module_names(std::span<geometry::variant const> layers) {
  module_namer namer;
  if (std::ranges::any_of(layers, is_of_kind<geometry::residual>)) {
    namer.add_network(layers, {});
    return std::move(namer.names);
  }
  auto head = std::ranges::find_if(layers, is_dense);
  while (head != layers.begin() && is_of_kind<geometry::dropout>(*(head - 1))) {
    --head;
  }
  if (head == layers.begin() || head == layers.end()) {
    namer.add_sequence(layers, {});
  } else {
    namer.add_sequence({layers.begin(), head}, "features.");
    namer.add_sequence({head, layers.end()}, "classifier.");
  }
  return std::move(namer.names);
}

}  // namespace tutti::nn::detail
