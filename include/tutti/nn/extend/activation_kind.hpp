// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0::nn {

/// The activation of a layer, as a value.
enum class activation_kind { identity, relu, tanh, sigmoid };

}  // namespace tutti::nn
