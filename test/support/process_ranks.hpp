// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>
#include <tutti/detail/bootstrap/processes.hpp>

namespace tutti::support {

/// Runs n ranks as processes: `f(meet)` in each, where meet is its rendezvous.
struct process_ranks {
  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return verdicts_of(
        tutti::detail::run_processes(n, [&](tutti::detail::process_rendezvous& meet) -> verdict { return f(meet); }));
  }
};

}  // namespace tutti::support
