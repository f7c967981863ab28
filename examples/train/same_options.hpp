// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange_text.hpp"
#include <tutti/extend/member.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// The first rank whose command line asks for another training than that of rank 0, with the first option that differs;
/// empty if there is none. Collective.
/// @param options_text a line for each option
template <class Communicator>
std::optional<std::pair<tutti::rank_type, std::string>> different_options(Communicator& world,
                                                                          std::string const& options_text) {
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
    return std::pair(r, tutti::describe(r, world.members()[r]) + " was started with " + option(r) + ", " +
                            tutti::describe(0, world.members()[0]) + " with " + option(0) +
                            ": start all ranks with the same options");
  }
  return std::nullopt;
}

/// Checks that all ranks of a launcher ask for the same training. Collective.
/// @throws std::runtime_error on all ranks that names two of them and the first option that differs
template <class Communicator>
void expect_same_options(Communicator& world, std::string const& options_text) {
  if (auto const difference = different_options(world, options_text)) {
    throw std::runtime_error(difference->second);
  }
}

/// Makes processes leave that have entered and ask for another training. The others see that as a fault. Collective.
/// @throws std::runtime_error on one rank that asks for another training
template <class Communicator>
void turn_away_others(Communicator& world, std::string const& options_text) {
  auto const difference = different_options(world, options_text);
  if (difference && difference->first == world.rank()) {
    throw std::runtime_error(difference->second);
  }
  if (difference && world.rank() == 0) {
    std::printf("refuse %s\n", difference->second.c_str());
    std::fflush(stdout);
  }
}
