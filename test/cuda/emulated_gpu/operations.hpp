// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"

#include <string>
#include <unordered_map>

namespace emulated_gpu {

/// The actions of PTX instructions, by name.
using operations = std::unordered_map<std::string, action>;

/// Adds arithmetic instructions.
void add_arithmetic(operations& table);
/// Adds instructions that access memory, describe threads, or move the bits of registers.
void add_accesses(operations& table);

/// @returns null if the name is unknown
[[nodiscard]] inline action operation(std::string const& name) {
  static operations const table = [] {
    operations result;
    add_arithmetic(result);
    add_accesses(result);
    return result;
  }();
  auto const entry = table.find(name);
  return entry == table.end() ? nullptr : entry->second;
}

}  // namespace emulated_gpu
