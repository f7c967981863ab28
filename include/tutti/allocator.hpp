// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allocator.hpp>  // IWYU pragma: export
