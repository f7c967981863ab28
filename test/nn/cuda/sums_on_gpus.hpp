// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/stream.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/cuda/any_device_sums.hpp>

#include <functional>

/// Sums of ranks with GPUs, type-erased as in a unit with the trainer.
using sums_on_gpus = tutti::nn::any_device_sums<tutti::cuda::stream>;

/// Starts `size` ranks over cuda::peers, which assigns GPUs round robin, and waits for them. Their sums use `ring`.
/// @throws the exception thrown by a rank
void on_gpus(tutti::rank_type size, std::function<void(sums_on_gpus&)> const& rank);
