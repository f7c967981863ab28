// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

/// Validator of an option that is a real number: it must be from `low` to `high`, so it is neither NaN nor infinite.
/// CLI::Range accepts NaN, which is neither below nor above a bound; it is for integers.
inline CLI::Validator real_range(double low, double high) {
  auto const range = CLI::Range(low, high);
  return CLI::Validator(
      [=](std::string& text) {
        double number = 0;
        bool const holds = CLI::detail::lexical_cast(text, number) && number >= low && number <= high;
        return holds ? std::string() : "Value " + text + " not in range " + range.get_description();
      },
      range.get_description());
}
