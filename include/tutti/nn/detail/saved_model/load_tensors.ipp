// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/saved_model/load_tensors.hpp>
#include <tutti/nn/detail/saved_model/metadata.hpp>
#include <tutti/nn/detail/saved_model/tensor_place.hpp>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

TUTTI_DECL model_description description_in(tensor_file const& file) {
  auto const* const text = file.metadata(description_key);
  if (text == nullptr) {
    file.fail(
        "has no description of its model in its metadata; load its weights into layers of your own (load_weights)");
  }
  auto const* const sum = file.metadata(checksum_key);
  if (sum == nullptr || *sum != checksum_text(*text)) {
    file.fail("is damaged: the checksum of its description is " + checksum_text(*text) + ", not " +
              (sum == nullptr ? "missing" : *sum) + "; copy it again");
  }
  try {
    return decode_description(*text);
  } catch (model_error const& e) {
    file.fail(std::string("has a description that cannot be used: ") + e.what());
  }
}

TUTTI_DECL std::vector<std::string> load_tensors(tensor_file const& file, std::span<geometry::variant const> layers,
                                                 std::span<float> parameters, std::span<float> statistics,
                                                 bool new_head) {
  auto const places = tensor_places(layers);
  std::string head;  // name of the last dense layer, with the point behind it
  for (auto const& place : places) {
    head = place.shape.size() == 2 ? place.name.substr(0, place.name.rfind('.') + 1) : head;
  }
  std::vector<std::pair<tensor_file::entry const*, tensor_place const*>> matches;
  std::vector<std::string> left_out;
  std::set<std::string_view> names;
  for (auto const& place : places) {
    names.insert(place.name);
    auto const* const tensor = file.find(place.name);
    if (tensor == nullptr) {
      file.fail("has no tensor " + place.name + ", which the model has with the shape " + shape_text(place.shape) +
                "; load the file into the layers that it is of");
    }
    bool const is_head = new_head && !head.empty() && place.name.starts_with(head);
    if (is_head && tensor->shape.size() == place.shape.size() && tensor->shape.front() != place.shape.front() &&
        std::ranges::equal(tensor->shape | std::views::drop(1), place.shape | std::views::drop(1))) {
      left_out.push_back(place.name);
      continue;
    }
    if (tensor->type != "F32" || tensor->shape != place.shape) {
      file.fail("has the tensor " + place.name + " as " + tensor->type + ' ' + shape_text(tensor->shape) +
                ", but the model needs F32 " + shape_text(place.shape));
    }
    matches.emplace_back(tensor, &place);
  }
  for (auto const& tensor : file.tensors()) {
    // PyTorch counts the batches of a normalisation, and uses the count only without a momentum.
    if (!names.contains(tensor.name) && !tensor.name.ends_with(".num_batches_tracked")) {
      file.fail("has the tensor " + tensor.name + ' ' + shape_text(tensor.shape) +
                ", which the model does not have; load the file into the layers that it is of");
    }
  }
  std::vector<float> numbers;
  for (auto const& [tensor, place] : matches) {
    numbers.resize(place->size());
    file.read(*tensor, numbers);
    auto const destination = place->is_statistic ? statistics : parameters;
    place->for_each([&](std::size_t i, std::size_t at) { destination[at] = numbers[i]; });
  }
  return left_out;
}

}  // namespace tutti::nn::detail::saved_model
