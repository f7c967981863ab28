// SPDX-License-Identifier: Apache-2.0
//
// The limit of the machine as a contender: threads that do the minimum by hand, over shared memory or over TCP.
// transport=memory or tcp, ranks=; over TCP also hosts=NAMESPACE@ADDRESS,... of each rank.
#include "../common/serve.hpp"
#include "limit_memory.hpp"
#include "limit_tcp.hpp"
#include <tutti/detail/core/joined_threads.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  bench::settings const s = bench::read_command_line(argc, argv);
  bool const tcp = s.one_of("transport", {"memory", "tcp"}) == "tcp";
  auto const size = static_cast<unsigned>(s.number("ranks", 2));
  bench::board state(size);
  bench::sockets const net(tcp ? size : 0, bench::places(s.text("hosts", "")));
  auto const rank = [&](std::size_t number) {
    auto const r = static_cast<unsigned>(number);
    try {
      bench::pin(r, size);
      if (tcp) {
        bench::tcp_limit me(r, state, net);
        bench::serve(me, s);
      } else {
        bench::memory_limit me(r, state);
        bench::serve(me, s);
      }
    } catch (std::exception const& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::exit(1);  // the others would wait for this rank
    }
  };
  tutti::detail::joined_threads ranks(size);
  for (unsigned r = 0; r < size; ++r) {
    ranks.start(rank);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
