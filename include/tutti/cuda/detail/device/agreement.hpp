// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/types.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// Exchanges the results of `part` of all ranks. If it fails on one rank, all throw that rank's error.
template <rendezvous M, class F>
[[nodiscard]] std::vector<std::string> agree(std::string_view transport, M& meet, F const& part) {
  std::string local_result;
  try {
    local_result = part();
  } catch (std::exception const& e) {
    local_result = std::string("?") + e.what();
  }
  auto results = meet.exchange(local_result);
  for (rank_type r = 0; r != meet.size(); ++r) {
    if (results[r].starts_with('?')) {
      throw error(failure::join, std::string(transport) + ": rank " + std::to_string(r) + ": " + results[r].substr(1))
          .set_ranks(meet.rank(), {r});
    }
  }
  return results;
}

/// The number of a rank's device: the requested one, or in turns if that is negative.
template <class D>
[[nodiscard]] int device_for(rank_type rank, int requested_number) {
  int const devices = D::devices();
  expects(devices > 0,
          "there is no device; start this rank on a host that has one, or take a transport of host memory");
  expects(requested_number < devices, "device ", requested_number, " is asked for, and there are ", devices,
          "; ask for one below that");
  return requested_number < 0 ? static_cast<int>(rank) % devices : requested_number;
}

}  // namespace tutti::detail::device
