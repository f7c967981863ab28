// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/extend/verbs_options.hpp>  // IWYU pragma: export
