// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"

#include <string>
#include <unordered_map>

namespace emulated_gpu {

/// The actions of PTX instructions, by name.
using operations = std::unordered_map<std::string, action>;

/// Adds arithmetic instructions.
void add_arithmetic(operations& to);
/// Adds instructions that access memory, describe threads, or move the bits of registers.
void add_accesses(operations& to);

/// @returns null if the name is unknown
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
