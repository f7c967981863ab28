// SPDX-License-Identifier: Apache-2.0
// test: address alone (device memory of a model; groups of threads wait awake for those of other processes)
//
// Ranks that are processes with model devices: they map one another's windows, each at its own addresses, and have the
// engine's bits. Memory mapped by others is kept (lent_memory.hpp).
#include <laws/device_cases.hpp>
#include <models/host_device.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using transport = models::host_peers<tutti::shared_memory>;

struct amounts {
  static tutti::world_options<transport> options_for(std::uint32_t groups) {
    tutti::world_options<transport> options;
    options.transport.groups = groups;
    return options;
  }
  static std::vector<std::size_t> counts() { return {0, 1, 257, 20'001}; }
};

support::cases const operations = laws::device_cases<transport, amounts>::operations();

}  // namespace
