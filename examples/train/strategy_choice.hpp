// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// How ranks work together: which strategy, and what it is told.
struct strategy_choice {
  std::string name = "synchronous";

  // Of parameter_server:
  std::uint32_t servers = 1;
  std::uint64_t staleness = 0;  ///< the largest number: unbounded
  bool server_sends = false;
  float l1 = 0;
  std::uint32_t slow_rank = 0;
  double slow_factor = 1;  ///< 1: nobody is slow
};
