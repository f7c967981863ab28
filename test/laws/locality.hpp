// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/transport/tcp.hpp>

/// The laws of a transport, for two transports as one. Every law is tried with all ranks on one host, with
/// each on its own, and with some of both: on hosts of one, two, three, and a hundred ranks.
namespace tutti::laws {

/// A world of so many ranks per host whose ranks are connected already: a law may then take it for granted
/// that a short message is accepted at once, which over a connection that is only being made it is not.
template <class Near, class Ranks, rank_type RanksPerHost>
struct connected_world {
  using transport = support::emulated_hosts<Near, tcp, RanksPerHost>;

  template <class F>
  static std::vector<verdict> run(rank_type n, F const& f) {
    return Ranks::run(n, [&](auto& meet) -> verdict {
      transport t(meet);
      verdict const bad = support::run(t, {everybody_to_everybody(t.rank(), n, {7, 0}, {{0, 1}})});
      return bad.empty() ? f(t, meet) : bad;
    });
  }
};

/// Calls f.operator()<World>() for worlds of several numbers of ranks per host.
template <class Near, class Ranks, class F>
void on_some_hosts(F f) {
  f.template operator()<world<support::emulated_hosts<Near, tcp, 2>, Ranks>>();
  f.template operator()<world<support::emulated_hosts<Near, tcp, 1>, Ranks>>();
  f.template operator()<world<support::emulated_hosts<Near, tcp, 100>, Ranks>>();
}

}  // namespace tutti::laws
