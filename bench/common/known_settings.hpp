// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <cstdio>
#include <string>

namespace bench {

/// Reads settings of the form name=value from the command line over their defaults. False if a word is no known
/// setting; the known ones have then been printed.
[[nodiscard]] inline bool read_known(int argc, char** argv, settings& options) {
  for (int i = 1; i < argc; ++i) {
    std::string const text = argv[i];
    auto const equals = text.find('=');
    if (equals == text.npos || !options.has(text.substr(0, equals))) {
      std::fprintf(stderr, "%s is no setting; settings and what they are unless given:\n", argv[i]);
      for (auto const& [name, value] : options.values()) {
        std::fprintf(stderr, "  %s=%s\n", name.c_str(), value.c_str());
      }
      return false;
    }
    options.add(text);
  }
  return true;
}

}  // namespace bench
