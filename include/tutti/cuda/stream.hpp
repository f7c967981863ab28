// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/stream.hpp>  // IWYU pragma: export
