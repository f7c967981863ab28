// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/shared_memory_options.hpp>  // IWYU pragma: export
