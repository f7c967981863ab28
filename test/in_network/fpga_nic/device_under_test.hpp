// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>

#include <memory>

/// Makes the device that the laws of operators run over. It is null, and the device a program, unless something else is
/// linked to the tests: hardware/fpga_nic does that.
[[gnu::weak]] std::unique_ptr<tutti::detail::fpga_nic::in_process_device> device_under_test(
    tutti::detail::fpga_nic::in_process_options const& options);
