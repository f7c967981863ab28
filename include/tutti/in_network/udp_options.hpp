// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/extend/udp_options.hpp>  // IWYU pragma: export
