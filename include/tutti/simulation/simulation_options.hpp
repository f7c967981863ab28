// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulation_options.hpp>  // IWYU pragma: export
