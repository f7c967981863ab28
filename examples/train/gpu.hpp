// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/precision.hpp>

#include <optional>
#include <string>
#include <vector>

/// The number of the card that a rank computes on; nullopt: it computes on the host.
using gpu_index = std::optional<int>;

/// The cards of this host.
struct host_gpus {
  int count = 0;
  std::string why_none;
};

// In cuda.cpp, or in without_cuda.cpp.

/// Asks CUDA, which then cannot be used in a process that is forked from this one.
host_gpus find_gpus();

// In gpu.cpp.

/// The text by which a rank announces its card: the number, or why the rank cannot have it.
/// @param rank_name the rank, for that reason
/// @param place     index among the ranks of its host that compute on cards
std::string gpu_choice_text(gpu_options const& gpus, tutti::rank_type rank, std::string const& rank_name,
                            tutti::rank_type place);
/// Reads the texts of all ranks.
/// @throws std::runtime_error if a rank cannot have its card
std::vector<gpu_index> read_gpu_choices(std::vector<std::string> const& choices);
/// Describes cards, such as "rank 1 on card 0 in bf16; the others on their hosts in float".
std::string describe(std::vector<gpu_index> const& gpu_indices, tutti::nn::precision numbers);
