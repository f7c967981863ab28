// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/recorder.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

TUTTI_DECL std::string recorder::text() const {
  constexpr std::string_view states[] = {"started", "completed", "failed"};
  std::string lines;
  for_each([&](entry const& e) {
    lines.append("#").append(std::to_string(e.number.sequence)).append(" ");
    lines.append(describe(e.call_record, e.number)).append(": ");
    lines.append(states[static_cast<std::size_t>(e.current_state)]).append("\n");
  });
  return lines;
}

}  // namespace tutti
