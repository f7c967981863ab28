// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "option_table.hpp"
#include "options.hpp"

#include <vector>

/// The options of `train run`, which store their values here.
/// @pre `o` outlives the result
std::vector<option_group> options_of_run(options& o);
