// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// How the members of a world find each other before they can talk.
///
/// `exchange` is collective: every member gives a text, and gets everybody's in rank order. It may
/// be called several times. It throws tutti::error (failure::join) that names the missing ranks when
/// the deadline passes first.
template <class M>
concept rendezvous = requires(M& m, M const& c, std::string_view mine) {
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { m.exchange(mine) } -> std::same_as<std::vector<std::string>>;
};

}  // namespace tutti
