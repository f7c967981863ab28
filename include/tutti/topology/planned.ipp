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

TUTTI_DECL void refuse_plan(plan_purpose const& of, topology_settings const& made_of, plan_purpose const& asked) {
  throw precondition_error("this is a plan of " + describe(of) + ", made of " + made_of.label + ", and is asked for " +
                               describe(asked) + ": make a plan of that",
                           std::source_location::current());
}

}  // namespace detail

}  // namespace tutti
