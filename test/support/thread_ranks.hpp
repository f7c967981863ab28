// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>
#include <tutti/detail/bootstrap/threads.hpp>

namespace tutti::support {

/// Runs n ranks as threads of this process: `f(meet)` on each, where meet is its rendezvous.
struct thread_ranks {
  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return verdicts_of(
        tutti::detail::run_threads(n, [&](tutti::detail::thread_rendezvous& meet) -> verdict { return f(meet); }));
  }
};

}  // namespace tutti::support
