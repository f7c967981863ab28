// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"

#include <string>
#include <unordered_map>

namespace emulated_gpu {

/// What instructions of PTX do, by their names.
using operations = std::unordered_map<std::string, action>;

/// Of numbers.
void add_arithmetic(operations& to);
/// Of memory, of threads, and of the bits of registers.
void add_accesses(operations& to);

/// @returns null if it is not known
[[nodiscard]] inline action operation(std::string const& name) {
  static operations const all = [] {
    operations made;
    add_arithmetic(made);
    add_accesses(made);
    return made;
  }();
  auto const it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

}  // namespace emulated_gpu
