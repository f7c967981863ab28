// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/outcome.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace tutti::support {

/// The outcome of a test on one rank; an empty text is success. Boost.Test is not thread-safe and does not see child
/// processes, so ranks return a verdict and the main thread asserts.
using verdict = std::string;

/// The verdict on a rank that was killed with SIGKILL.
inline constexpr char const* death_verdict = "died";

inline std::vector<verdict> verdicts_of(std::vector<outcome<verdict>> const& ends) {
  std::vector<verdict> verdicts;
  for (outcome<verdict> const& end : ends) {
    rank_failure const& reason = end.failure();
    verdicts.push_back(end                        ? end.value()
                       : reason.signal == SIGKILL ? death_verdict
                                                  : "failed(" + std::string(name(reason.kind)) + "): " + reason.text);
  }
  return verdicts;
}

}  // namespace tutti::support
