// error: hierarchical takes \(inner, outer, hosts\): .* world\.hosts\(\)
// SPDX-License-Identifier: Apache-2.0
//
// A topology of hosts needs the hosts' ranks.

#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>

#ifdef MISTAKE
tutti::hierarchical const by_hosts{tutti::ring{}, tutti::ring{}};
#else
tutti::hierarchical const by_hosts{tutti::ring{}, tutti::ring{}, 4};
#endif

int main() {}
