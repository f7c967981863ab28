// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>

#include <memory>

/// Makes the device for the laws of operators. Null, unless hardware/fpga_nic is linked to the tests; then the device
/// is a program.
[[gnu::weak]] std::unique_ptr<tutti::detail::fpga_nic::in_process_device> device_under_test(
    tutti::detail::fpga_nic::in_process_options const& options);
