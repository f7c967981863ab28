// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

/// Options that are known to reach an accuracy.
struct recipe {
  char const* name;
  char const* summary;
  char const* lines;  ///< options, as in a configuration file
};

std::span<recipe const> recipes();

/// The recipe of this name.
/// @throws std::invalid_argument that lists all, if there is none
recipe const& find_recipe(std::string const& name);

/// All recipes, a line each.
std::string describe_recipes();
