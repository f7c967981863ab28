// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/partition.hpp>  // IWYU pragma: export
