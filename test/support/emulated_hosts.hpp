// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/transport/by_locality.hpp>

namespace tutti::support {

/// by_locality on a machine whose ranks fall into hosts of so many consecutive ranks.
template <class Near, class Far, rank_type RanksPerHost>
class emulated_hosts : public by_locality<Near, Far> {
 public:
  using options = typename by_locality<Near, Far>::options;

  template <rendezvous M>
  explicit emulated_hosts(M& meet, options o = {}) : by_locality<Near, Far>(meet, divided(o)) {}

 private:
  static options divided(options o) {
    o.ranks_per_host = RanksPerHost;
    return o;
  }
};

}  // namespace tutti::support
