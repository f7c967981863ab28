// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/environment.hpp>  // IWYU pragma: export
