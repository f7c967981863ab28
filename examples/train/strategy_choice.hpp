// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// How ranks work together: which strategy, and what it is told.
struct strategy_choice {
  static constexpr std::uint64_t unbounded = UINT64_MAX;

  std::string name = "synchronous";
  std::uint64_t staleness = 0;  ///< in steps; of parameter_server and gossip

  // Of parameter_server:
  std::uint32_t servers = 1;
  bool server_sends = false;
  float l1 = 0;
  std::uint32_t slow_rank = 0;
  double slow_factor = 1;  ///< 1: nobody is slow

  /// Whether ranks have weights of their own between steps.
  [[nodiscard]] bool replicas_differ() const { return name == "local_sgd" || name == "gossip" || name == "federated"; }
};
