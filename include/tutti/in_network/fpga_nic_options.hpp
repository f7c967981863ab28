// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/extend/fpga_nic_options.hpp>  // IWYU pragma: export
