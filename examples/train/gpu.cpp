// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace {

/// Marks the reason of a rank that cannot have its card.
constexpr char refusal_mark = '!';

}  // namespace

std::string gpu_choice_text(gpu_options const& gpus, tutti::rank_type rank, std::string const& rank_name,
                            tutti::rank_type place) {
  auto const gpus_found = find_gpus();
  auto const name = refusal_mark + ("--gpu: " + rank_name);
  if (gpus_found.count == 0) {
    return name + " cannot compute on a GPU: " + gpus_found.why_none;
  }
  auto const gpu_count = static_cast<std::uint32_t>(gpus_found.count);
  auto const number = gpus.gpu_index_of(rank).value_or(place % gpu_count);
  if (number >= gpu_count) {
    return name + " must compute on card " + std::to_string(number) + ", but its host has " +
           (gpu_count == 1 ? "one, card 0"
                           : std::to_string(gpu_count) + ", cards 0 to " + std::to_string(gpu_count - 1));
  }
  return std::to_string(number);
}

std::vector<gpu_index> read_gpu_choices(std::vector<std::string> const& choices) {
  std::vector<gpu_index> result;
  for (auto const& text : choices) {
    if (text.starts_with(refusal_mark)) {
      throw std::runtime_error(text.substr(1));
    }
    result.push_back(text.empty() ? gpu_index() : gpu_index(std::stoi(text)));
  }
  return result;
}

std::string describe(std::vector<gpu_index> const& gpu_indices, tutti::nn::precision numbers) {
  std::string text;
  bool has_host_ranks = false;
  for (std::size_t r = 0; r != gpu_indices.size(); ++r) {
    if (gpu_indices[r]) {
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(r) + " on card " + std::to_string(*gpu_indices[r]);
    }
    has_host_ranks = has_host_ranks || !gpu_indices[r];
  }
  return text.append(" in ").append(name(numbers)) + (has_host_ranks ? "; the others on their hosts in float" : "");
}
