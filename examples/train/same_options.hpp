// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange_text.hpp"
#include <tutti/extend/member.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

/// Checks that all ranks of a launcher, each with a command line of its own, ask for the same training. Collective;
/// `mine` is a line for each option.
/// @throws std::runtime_error on all ranks that names two of them and the first line that differs
template <class Communicator>
void expect_same_options(Communicator& world, std::string const& options_text) {
  auto const texts = exchange_text(world, options_text);
  for (tutti::rank_type r = 1; r != world.size(); ++r) {
    if (texts[r] == texts[0]) {
      continue;
    }
    std::size_t line = 0;  // beginning of the first line that differs
    for (std::size_t i = 0; i < texts[0].size() && i < texts[r].size() && texts[0][i] == texts[r][i]; ++i) {
      line = texts[0][i] == '\n' ? i + 1 : line;
    }
    auto const option = [&](tutti::rank_type rank) {
      std::string_view const text = std::string_view(texts[rank]).substr(line);
      return std::string(text.substr(0, text.find('\n')));
    };
    throw std::runtime_error(tutti::describe(r, world.members()[r]) + " was started with " + option(r) + ", " +
                             tutti::describe(0, world.members()[0]) + " with " + option(0) +
                             ": start all ranks with the same options");
  }
}
