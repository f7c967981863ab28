// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/detail/numbers/exponential.hpp>
#include <tutti/nn/detail/saved_model/load_tensors.hpp>
#include <tutti/nn/saved_model/classifier.hpp>
#include <tutti/nn/saved_model/layers_of.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL classifier::classifier(model_description description, std::span<float const> parameters,
                                  std::span<float const> statistics)
    : description_(std::move(description)), model_(layers_of(description_.layers)) {
  expects(model_.inputs() == shape().size() && model_.outputs() == classes() &&
              model_.parameters().size() == parameters.size() && model_.statistics().size() == statistics.size(),
          "classifier: the layers have ", model_.parameters().size(), " parameters and ", model_.statistics().size(),
          " statistics, not ", parameters.size(), " and ", statistics.size(), "; give the description of this model");
  std::ranges::copy(parameters, model_.parameters().begin());
  std::ranges::copy(statistics, model_.statistics().begin());
}

TUTTI_DECL prediction classifier::predict(std::span<std::uint8_t const> image) {
  expects(image.size() == shape().size(), "classifier: predict takes an image of ", shape().channels, " x ",
          shape().rows, " x ", shape().columns, " bytes, not ", image.size());
  prediction result{.probabilities = probabilities(image)};
  auto const best = std::ranges::max_element(result.probabilities);
  result.number = static_cast<std::size_t>(best - result.probabilities.begin());
  result.name = description_.class_name(result.number);
  result.probability = *best;
  return result;
}

TUTTI_DECL std::vector<float> classifier::probabilities(std::span<std::uint8_t const> images) {
  std::size_t const size = shape().size();
  expects(images.size() % size == 0, "classifier: images have ", size, " bytes each, and ", images.size(),
          " are not a multiple of that; give whole images");
  constexpr std::size_t batch = 64;
  std::vector<float> result;
  std::vector<float> numbers;
  while (!images.empty()) {
    std::size_t const rows = (std::min)(batch, images.size() / size);
    numbers.resize(rows * size);
    for (std::size_t i = 0; i != rows; ++i) {
      description_.numbers.apply(images.subspan(i * size, size), std::span(numbers).subspan(i * size, size));
    }
    images = images.subspan(rows * size);
    auto const outputs = model_.forward(view<float const>(numbers.data(), rows, size));
    for (std::size_t i = 0; i != rows; ++i) {
      std::span<float const> const row(outputs.data() + i * classes(), classes());
      float const largest = *std::ranges::max_element(row);
      float sum = 0;
      for (float const number : row) {
        sum += detail::exponential(number - largest);
      }
      for (float const number : row) {
        result.push_back(detail::exponential(number - largest) / sum);
      }
    }
  }
  return result;
}

TUTTI_DECL classifier load_model(std::filesystem::path const& path) {
  std::error_code ignored_error;
  if (std::filesystem::is_directory(path, ignored_error)) {
    auto training = read_checkpoint(path);
    return {std::move(training.model), training.parameters, training.statistics};
  }
  detail::tensor_file const file(path);
  auto description = detail::description_in(file);
  auto const sizes = detail::sizes_of(description.layers);
  std::uint64_t const bytes = file.tensors().empty() ? 0 : file.tensors().back().end - file.tensors().front().begin;
  if (bytes / sizeof(float) < sizes.parameters + sizes.statistics) {  // before memory is allocated
    file.fail("is damaged: its description has " + std::to_string(sizes.parameters + sizes.statistics) +
              " weights, but its tensors have " + std::to_string(bytes) + " bytes");
  }
  std::vector<float> parameters(sizes.parameters);
  std::vector<float> statistics(sizes.statistics);
  (void)detail::load_tensors(file, description.layers, parameters, statistics, false);
  try {
    return {std::move(description), parameters, statistics};
  } catch (precondition_error const& e) {
    file.fail(std::string("has a description that cannot be used: ") + e.what());
  }
}

TUTTI_DECL confusion_matrix evaluate(classifier& model, dataset const& set) {
  expects(set.shape == model.shape() && set.classes == model.classes(), "evaluate: the model takes images of ",
          model.shape().channels, " x ", model.shape().rows, " x ", model.shape().columns, " in ", model.classes(),
          " classes, and the set has ", set.shape.channels, " x ", set.shape.rows, " x ", set.shape.columns, " in ",
          set.classes, "; give data of the model's kind");
  constexpr std::size_t batch = 64;
  confusion_matrix result(set.classes);
  std::vector<std::uint8_t> images;
  for (std::size_t first = 0; first != set.size(); first = (std::min)(set.size(), first + batch)) {
    images.clear();
    for (std::size_t i = first; i != (std::min)(set.size(), first + batch); ++i) {
      std::ranges::copy(set.image(i), std::back_inserter(images));
    }
    auto const probabilities = model.probabilities(images);
    for (std::size_t i = 0; i != probabilities.size() / model.classes(); ++i) {
      auto const row = std::span(probabilities).subspan(i * model.classes(), model.classes());
      result.add(set.labels[first + i], static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()));
    }
  }
  return result;
}

}  // namespace tutti::nn
