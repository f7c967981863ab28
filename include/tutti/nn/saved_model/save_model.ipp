// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>
#include <tutti/nn/detail/checkpoint/atomic_file.hpp>
#include <tutti/nn/detail/saved_model/metadata.hpp>
#include <tutti/nn/detail/saved_model/tensor_place.hpp>
#include <tutti/nn/saved_model/save_model.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL void save_model(std::filesystem::path const& file, model_description const& description,
                           std::span<float const> parameters, std::span<float const> statistics) {
  auto const sizes = detail::sizes_of(description.layers);
  expects(sizes.parameters == parameters.size() && sizes.statistics == statistics.size(),
          "save_model: the layers have ", sizes.parameters, " parameters and ", sizes.statistics, " statistics, not ",
          parameters.size(), " and ", statistics.size(), "; give the description of this model");
  auto const places = detail::tensor_places(description.layers);
  auto const text = encode(description);
  nlohmann::ordered_json header;
  header["__metadata__"] = {
      {"format", "pt"}, {detail::description_key, text}, {detail::checksum_key, detail::checksum_text(text)}};
  std::uint64_t begin = 0;
  for (auto const& place : places) {
    std::uint64_t const end = begin + place.size() * sizeof(float);
    header[place.name] = {{"dtype", "F32"}, {"shape", place.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string front = header.dump();
  constexpr std::size_t alignment = 8;  // bytes; programs may map the tensors into memory
  front.resize((front.size() + alignment - 1) / alignment * alignment, ' ');
  std::uint64_t const length = front.size();
  try {
    detail::atomic_file output(file);
    output.write(std::as_bytes(std::span(&length, 1)));
    output.write(tutti::detail::bytes_of(front));
    std::vector<float> numbers;
    for (auto const& place : places) {
      auto const source = place.is_statistic ? statistics : parameters;
      numbers.resize(place.size());
      place.for_each([&](std::size_t i, std::size_t at) { numbers[i] = source[at]; });
      output.write(std::as_bytes(std::span(numbers)));
    }
    output.commit();
  } catch (checkpoint_error const& e) {
    throw model_error(e.what());
  }
}

}  // namespace tutti::nn
