// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/bfloat16.hpp>  // IWYU pragma: export
