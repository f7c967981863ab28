// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/settings.hpp>

#include <nlohmann/json_fwd.hpp>

namespace tutti::inline v0_1_0::nn {

/// The settings of a training and its history. Losses are written with enough digits to be read back with the same
/// bits.
[[nodiscard]] TUTTI_DECL nlohmann::ordered_json to_json(settings const& settings, history const& history);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/json.ipp>
#endif
