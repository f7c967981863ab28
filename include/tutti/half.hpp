// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/half.hpp>  // IWYU pragma: export
