// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace support {

/// The rendezvous of a thread of this process, or of a world of one, with a secret.
struct secret_meeting {
  static constexpr bool one_host = true;

  [[nodiscard]] tutti::rank_type rank() const { return seat != nullptr ? seat->rank() : 0; }
  [[nodiscard]] tutti::rank_type size() const { return seat != nullptr ? seat->size() : 1; }
  std::vector<std::string> exchange(std::string_view text) {
    return seat != nullptr ? seat->exchange(text) : std::vector<std::string>{std::string(text)};
  }
  [[nodiscard]] static tutti::world_secret secret() {
    return tutti::detail::net::make_secret("sixteen or more letters");
  }

  tutti::detail::thread_rendezvous* seat;
};
static_assert(tutti::shares_secret<secret_meeting>);

}  // namespace support
