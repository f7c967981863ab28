// SPDX-License-Identifier: Apache-2.0
//
// A world of the processes that mpirun has started, on any hosts. They meet over MPI, so no address of rank 0 is
// needed, and do not use MPI after that.
//
//     mpirun -n 8 --host node0:4,node1:4 ./mpi
#include <tutti/mpi.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    tutti::mpi_rendezvous meet(MPI_COMM_WORLD);
    tutti::communicator<tutti::tcp> world(meet);
    tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<double>{}};
    std::array<double, 2> v{1.0, static_cast<double>(world.rank())};
    sum(v);
    std::printf("rank %u of %u: %g ranks, whose numbers add up to %g\n", world.rank(), world.size(), v[0], v[1]);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
