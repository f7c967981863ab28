// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/tcp_options.hpp>  // IWYU pragma: export
