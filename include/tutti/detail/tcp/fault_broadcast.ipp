// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/fault_broadcast.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL bool fault_broadcast::adopt(tutti::fault const& why) noexcept {
  if (fault_ || !why) {
    return false;
  }
  fault_ = why;
  return true;
}

TUTTI_DECL tutti::fault fault_broadcast::heard(tutti::fault f, rank_type size) noexcept {
  if (f.kind == failure::none || static_cast<std::uint64_t>(f.kind) >= failure_kinds) {
    f.kind = failure::protocol;
  }
  f.culprit = f.culprit < size ? f.culprit : no_rank;
  f.reporter = f.reporter < size ? f.reporter : no_rank;
  f.circle &= fault::bit_of(size) != 0 ? fault::bit_of(size) - 1 : f.circle;
  return f;
}

TUTTI_DECL bool fault_broadcast::tell(connection& l) const {
  if (l.over || l.in.bye()) {
    return true;
  }
  if (!l.out.torn()) {
    l.out.tell({.kind = frame_kind::revoke, .bytes = fault_.pack()});
    l.flush();
  }
  return l.on_the_way() && !l.out.torn();
}

TUTTI_DECL void fault_broadcast::connect(waiter& w, address const& to, hello const& greeting, tcp_options const& o) {
  connections_.push_back(owned<connect_attempt>(new connect_attempt(w, to, greeting, o, duration::zero())));
  connections_.back()->advance();
}

TUTTI_DECL void fault_broadcast::advance_all() {
  std::erase_if(connections_, [](auto const& m) {
    m->advance();
    return m->delivered() || m->now() == connect_attempt::state::lost;
  });
}

}  // namespace tutti::detail::tcp
