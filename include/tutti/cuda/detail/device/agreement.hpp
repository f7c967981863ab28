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
  std::string mine;
  try {
    mine = part();
  } catch (std::exception const& e) {
    mine = std::string("?") + e.what();
  }
  auto all = meet.exchange(mine);
  for (rank_type r = 0; r != meet.size(); ++r) {
    if (all[r].starts_with('?')) {
      throw error(failure::join, std::string(transport) + ": rank " + std::to_string(r) + ": " + all[r].substr(1))
          .set_ranks(meet.rank(), {r});
    }
  }
  return all;
}

/// The number of a rank's device: `asked`, or in turns if that is negative.
template <class D>
[[nodiscard]] int device_for(rank_type rank, int asked) {
  int const devices = D::devices();
  expects(devices > 0,
          "there is no device; start this rank on a host that has one, or take a transport of host memory");
  expects(asked < devices, "device ", asked, " is asked for, and there are ", devices, "; ask for one below that");
  return asked < 0 ? static_cast<int>(rank) % devices : asked;
}

}  // namespace tutti::detail::device
