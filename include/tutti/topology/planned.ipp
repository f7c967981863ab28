// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/planned.hpp>

#include <source_location>

namespace tutti::inline v0_1_0 {

TUTTI_DECL std::string describe(plan_purpose const& p) {
  return std::string(name(p.kind)) + (p.root == no_rank ? "" : ", root " + std::to_string(p.root)) + ", by rank " +
         std::to_string(p.me) + " of " + std::to_string(p.ranks);
}

namespace detail {

TUTTI_DECL void refuse_plan(plan_purpose const& purpose, topology_settings const& settings,
                            plan_purpose const& request) {
  throw precondition_error("this is a plan of " + describe(purpose) + ", made of " + settings.label +
                               ", and is asked for " + describe(request) + ": make a plan of that",
                           std::source_location::current());
}

}  // namespace detail

}  // namespace tutti
