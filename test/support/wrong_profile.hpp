// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/network_profile.hpp>

namespace support {

/// A profile of a different world.
template <class World>
tutti::network_profile wrong_profile(World& world) {
  tutti::network_profile p{.ranks = world.size(), .hosts = world.hosts().hosts(), .start = 50'000};
  p.within_host = {1'000'000,
                   {{4, 100'000, 100'000, 0, 100'000, 0, 0}, {1024, 400'000, 200'000, 0, 400'000, 9'000, 5'000}}};
  p.aggregator = {2'000'000, {{.bytes = 4, .wire = 1'000'000}}};
  return p;
}

}  // namespace support
