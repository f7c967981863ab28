// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/transport/tcp.hpp>

/// The laws of a transport, for two transports combined. Every law is tested with all ranks on one host, each rank on
/// its own host, and mixtures: on hosts of one, two, three, and a hundred ranks.
namespace tutti::laws {

/// In errors and messages to all others, neighbours are named by their ranks in the world. Hosts have two ranks.
template <class W>
void neighbours_are_named_by_their_world_ranks() {
  check_all(W::run(4, [](auto& t) -> verdict {  // ranks 2 and 3 make different calls
    if (t.rank() < 2) {
      fault const f = await_fault(t);
      return f.kind == failure::mismatch && f.culprit / 2 == 1 && f.reporter == 5 - f.culprit
                 ? ""
                 : support::describe_fault(f);
    }
    flow const s{2, 10};
    std::byte const mark{1};
    rank_type const peer = 5 - t.rank();
    bool is_sent = false;
    t.begin(s, a_call(t.rank() * 1000));
    try {
      verdict const verdict_of_wait = support::drive_until(t, [&] {
        is_sent = is_sent || t.send(peer, s, {&mark, 1}, 1).is_accepted;
        return static_cast<bool>(t.view(peer, s, {1, 1, nullptr}));
      });
      return verdict_of_wait.empty() ? "a message of another call was delivered"
                                     : expect(t.fault(), failure::mismatch, t.rank());
    } catch (error const& e) {
      std::string const text = e.what();
      bool const names = text.find("rank 2 called") != text.npos && text.find("rank 3 called") != text.npos;
      return names && e.self() == t.rank() && e.at_fault() == std::vector<rank_type>{peer} ? "" : text;
    }
  }));
  check_all(W::run(4, [](auto& t) -> verdict {  // rank 3 leaves rank 2 alone
    if (t.rank() == 2) {
      flow const s{0, 1};
      t.begin(s, a_call(1));
      std::ignore = support::drive_until(t, [&] { return static_cast<bool>(t.view(3, s, {1, 1, nullptr})); });
    }
    return t.rank() == 3 ? "" : expect(await_fault(t), failure::peer_lost, 3);
  }));
}

/// Calls f() with hosts of each of these numbers of ranks in turn.
template <class Transport, class F>
void on_hosts_of(std::initializer_list<rank_type> numbers, F f) {
  for (rank_type const ranks : numbers) {
    support::hosts_of<Transport> const hosts(ranks);
    f();
  }
}

}  // namespace tutti::laws
