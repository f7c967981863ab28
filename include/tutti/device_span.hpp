// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/device_span.hpp>  // IWYU pragma: export
