// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/hello.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL char const* hello::objection(world_id const& id, rank_type me, rank_type size) const noexcept {
  if (std::memcmp(magic, expected_magic, sizeof magic) != 0) {
    return "not the protocol of tutti";
  }
  if (order != expected_order) {
    return "another byte order";
  }
  if (version != expected_version) {
    return "another version of the protocol";
  }
  if (world != id) {
    return "another world";
  }
  if (receiver != me || sender >= size || sender == me || kind < hello_kind::connect || kind > hello_kind::excuse) {
    return "an invalid greeting";
  }
  return nullptr;
}

}  // namespace tutti::detail::tcp
