// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/any_element.hpp>  // IWYU pragma: export
