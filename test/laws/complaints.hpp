// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/spawn.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

/// Worlds in which some ranks fail, and the complaints of those ranks.
namespace laws {

[[nodiscard]] inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != text.npos;
}
/// Throws the text, which fails the test of this rank, unless `good`.
inline void require(bool good, std::string const& text) {
  if (!good) {
    throw std::logic_error(text);
  }
}
/// Runs f(world) on n ranks; returns the text that each one throws, "" for a rank that does not fail.
template <class Transport, class F>
[[nodiscard]] std::vector<tutti::support::verdict> complaints(tutti::rank_type n, F const& f,
                                                              tutti::world_options<Transport> const& options) {
  return tutti::support::verdicts_of(tutti::spawn<Transport>(
      n,
      [&](auto& world) -> tutti::support::verdict {
        try {
          f(world);
        } catch (tutti::error const& e) {
          return std::string(tutti::name(e.kind())) + ": " + e.what();
        } catch (std::exception const& e) {
          return std::string("other: ") + e.what();
        }
        return "";
      },
      options));
}

}  // namespace laws
