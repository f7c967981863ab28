// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace emulated_gpu {

struct extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t volume() const noexcept { return std::uint64_t{x} * y * z; }
};

/// An operand whose value is known at launch.
struct constant {
  enum class kind_type : std::uint8_t { number, parameter };
  kind_type kind = kind_type::number;
  std::uint64_t value = 0;  ///< a number, or the offset of a parameter
};

/// A decoded PTX kernel.
struct kernel {
  std::string name;
  std::vector<instruction> code;
  std::vector<std::string> lines;  ///< the kernel's text, for messages
  std::vector<constant> constants;
  std::uint32_t registers = 0;  ///< number of registers; constants are numbered from here
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< offset and bytes of each
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;
  std::uint32_t max_threads = 1024;
};

}  // namespace emulated_gpu
