// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>  // IWYU pragma: export
