// SPDX-License-Identifier: Apache-2.0
//
// A program for a launcher, over TCP. Start it once per rank, on any hosts, with a launcher (torchrun, mpirun, srun) or
// by hand:
//
//     TUTTI_JOB=run7 TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_MASTER_ADDR=localhost ./join &
//     TUTTI_JOB=run7 TUTTI_RANK=1 TUTTI_SIZE=2 TUTTI_MASTER_ADDR=localhost ./join
//
// Started alone it is a world of one.
#include <tutti/join.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <array>
#include <cstdio>
#include <exception>

int main() try {
  auto world = tutti::join<tutti::tcp>();
  world.deadline(std::chrono::seconds(30));

  tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<double>{}};
  std::array<double, 2> v{1.0, static_cast<double>(world.rank())};
  sum(v);
  std::printf("rank %u of %u: %g ranks, whose numbers add up to %g\n", world.rank(), world.size(), v[0], v[1]);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
