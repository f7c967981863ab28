// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/extend/simulated_network.hpp>  // IWYU pragma: export
