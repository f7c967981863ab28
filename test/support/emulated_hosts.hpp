// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/transport/by_locality.hpp>

#include <utility>

namespace tutti::support {

/// by_locality on a machine whose ranks are divided into hosts of `ranks_per_host` consecutive ranks; 0 for the real
/// hosts. The number is no part of the type, so that tests are not compiled again for each.
template <class IntraHost, class InterHost>
class emulated_hosts : public by_locality<IntraHost, InterHost> {
 public:
  using options = typename by_locality<IntraHost, InterHost>::options;

  inline static rank_type ranks_per_host = 2;

  template <rendezvous M>
  explicit emulated_hosts(M& meet, options o = {}) : by_locality<IntraHost, InterHost>(meet, divide(o)) {}

 private:
  static options divide(options o) {
    o.ranks_per_host = ranks_per_host;
    return o;
  }
};

/// Gives worlds over `Transport`, which emulates hosts, hosts of this many ranks during its lifetime.
template <class Transport>
class hosts_of {
 public:
  explicit hosts_of(rank_type ranks) : previous_count_(std::exchange(Transport::ranks_per_host, ranks)) {}
  hosts_of(hosts_of const&) = delete;
  hosts_of& operator=(hosts_of const&) = delete;
  ~hosts_of() { Transport::ranks_per_host = previous_count_; }

 private:
  rank_type previous_count_;
};

}  // namespace tutti::support
