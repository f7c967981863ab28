// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weak/explorer.hpp>

#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace weak {

/// True if the explorer finds the outcomes of the litmus tests. Prints them.
[[nodiscard]] bool litmus_tests_hold();

/// The protocols of shared memory, on the real headers.
[[nodiscard]] std::vector<program> protocols();

}  // namespace weak
