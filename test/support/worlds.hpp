// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/spawn.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace support {

/// Runs `check(world)` on every rank of a world of n. A text that it returns, or throws, is a complaint.
template <class Transport, class Check>
void agree(tutti::rank_type n, Check check) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    world.deadline(std::chrono::seconds(40));  // a hang shall end as an error, before the test's own limit
    return check(world);
  });
  for (tutti::rank_type r = 0; r < n; ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << " of " << n << ": " << complaint);
  }
}

}  // namespace support
