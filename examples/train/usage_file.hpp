// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/usage.hpp>

#include <string>
#include <vector>

/// The usage of ranks over time, as JSON.
/// @param run title of the training
/// @param description text about the training
std::string usage_text(std::vector<tutti::nn::usage> const& ranks, std::vector<tutti::nn::fault_result> const& faults,
                       std::string const& run, std::string const& description);
