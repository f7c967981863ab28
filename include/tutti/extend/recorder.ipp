// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/recorder.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

TUTTI_DECL std::string recorder::text() const {
  constexpr std::string_view states[] = {"started", "completed", "failed"};
  std::string out;
  for_each([&](entry const& e) {
    out.append("#").append(std::to_string(e.number.sequence)).append(" ");
    out.append(describe(e.what, e.number)).append(": ");
    out.append(states[static_cast<std::size_t>(e.now)]).append("\n");
  });
  return out;
}

}  // namespace tutti
