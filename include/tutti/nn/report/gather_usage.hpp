// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/nn/base/usage.hpp>
#include <tutti/nn/report/usage_meter.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Returns the usage of all ranks, relative to the beginning of rank 0, at rank 0; elsewhere nothing. Collective.
/// @throws error like all operations
template <group Communicator>
[[nodiscard]] std::vector<usage> gather_usage(Communicator& world, usage_meter& meter) {
  send send_numbers{world};
  recv receive_numbers{world};
  std::array<std::int64_t, 2> head{};  // count of numbers, and the beginning of the meter
  usage local_usage = meter.result();
  if (world.rank() != 0) {
    auto const numbers = local_usage.to_numbers();
    head = {static_cast<std::int64_t>(numbers.size()), meter.begin().count()};
    send_numbers(head, 0);
    send_numbers(numbers, 0);
    if (world.hosts().host(world.rank()) != world.hosts().host(0)) {
      (void)tutti::detail::clock_ahead(world, 0);
    }
    return {};
  }
  std::vector<usage> usages{std::move(local_usage)};
  for (rank_type r = 1; r != world.size(); ++r) {
    receive_numbers(head, r);
    std::vector<double> numbers(static_cast<std::size_t>(head[0]));
    receive_numbers(numbers, r);
    usages.push_back(usage::from_numbers(numbers));
    duration later = time_point(head[1]) - meter.begin();
    if (world.hosts().host(r) != world.hosts().host(0)) {
      later -= tutti::detail::clock_ahead(world, r);
    }
    usages.back().shift = static_cast<double>(later.count()) * 1e-9;
  }
  align(usages);
  return usages;
}

}  // namespace tutti::nn
