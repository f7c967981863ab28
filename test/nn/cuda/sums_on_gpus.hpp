// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/stream.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/cuda/any_device_sums.hpp>

#include <functional>

/// Sums of ranks with GPUs, as a unit with the trainer has them.
using sums_on_gpus = tutti::nn::any_device_sums<tutti::cuda::stream>;

/// Starts that many ranks over cuda::peers, which take the GPUs in turns, and waits for them. Their sums are by `ring`.
/// @throws what a rank throws
void on_gpus(tutti::rank_type size, std::function<void(sums_on_gpus&)> const& rank);
