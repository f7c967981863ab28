// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/devices.hpp>  // IWYU pragma: export
