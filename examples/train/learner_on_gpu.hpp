// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/cuda/base/device_model.hpp>
#include <tutti/nn/extend/learner.hpp>

#include <memory>

/// A learner that computes on a card. In cuda.cpp, or in without_cuda.cpp.
std::unique_ptr<tutti::nn::learner> learner_on_gpu(tutti::nn::device_model model, tutti::nn::settings const& settings);
