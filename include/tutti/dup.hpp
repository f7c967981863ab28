// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/dup.hpp>  // IWYU pragma: export
