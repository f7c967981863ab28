// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/error.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void load_encryption(world_secret const& secret) {
  if (registered_streams == nullptr) {
    throw error(failure::join,
                "the ranks encrypt what they send over tcp, but this program has no library for that: include "
                "<tutti/secure.hpp> in one of its sources and link tutti::secure");
  }
  if (!secret) {
    throw error(failure::join,
                "the ranks encrypt what they send over tcp, which needs a secret that only they know: set "
                "TUTTI_SECRET_FILE or TUTTI_SECRET on all ranks, or let the rendezvous have one");
  }
  registered_streams->load();
}

}  // namespace tutti::detail::tcp
