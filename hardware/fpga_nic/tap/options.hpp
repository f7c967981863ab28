// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/frame.hpp"

#include <cstdint>
#include <string>

/// Options of the command line.
struct options {
  std::string name = "tutti0";  ///< interface
  frame::place device{.mac = {2, 0x74, 0x75, 0x74, 0x74, 0x69}, .ip = 0, .port = 7171};
  std::uint32_t host = 0;
  unsigned prefix = 0;
  unsigned queue = 10'000;
};

/// Ends the program if the command line asks for help or is wrong. @throws std::runtime_error
[[nodiscard]] options read_options(int argc, char** argv);
