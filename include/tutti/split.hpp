// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/split.hpp>  // IWYU pragma: export
