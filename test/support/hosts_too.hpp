// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/emulated_hosts.hpp>
#include <support/transports.hpp>

namespace support {

using hosts = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>;

/// For laws that shall also hold on hosts of two ranks each.
using transports_and_hosts = std::conditional_t<without_processes, transports,
                                                std::tuple<tutti::loopback, tutti::shared_memory, tutti::tcp, hosts>>;
using only_hosts = std::conditional_t<without_processes, no_transport, std::tuple<hosts>>;

}  // namespace support
