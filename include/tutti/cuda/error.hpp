// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>  // IWYU pragma: export
