// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/hello.hpp>

#include <algorithm>
#include <cstring>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL char const* hello::objection_to_begin(std::size_t bytes) const noexcept {
  if (std::memcmp(magic, expected_magic, (std::min)(bytes, sizeof magic)) != 0) {
    return "not the protocol of tutti";
  }
  if (bytes < version_bytes) {
    return nullptr;
  }
  return order != expected_order       ? "another byte order"
         : version != expected_version ? "another version of the protocol"
                                       : nullptr;
}

TUTTI_DECL char const* hello::objection(world_id const& id, rank_type me, rank_type size) const noexcept {
  if (char const* const mistake = objection_to_begin(sizeof *this)) {
    return mistake;
  }
  if (world != id) {
    return "another world";
  }
  if (receiver != me || sender >= size || sender == me || kind < hello_kind::connect || kind > hello_kind::excuse ||
      flags > encrypts) {
    return "an invalid greeting";
  }
  return nullptr;
}

}  // namespace tutti::detail::tcp
