// SPDX-License-Identifier: Apache-2.0
//
// An MPI as a contender; built once for each installed MPI.
#include "../common/serve.hpp"

#include <climits>

#include <cstdio>
#include <exception>
#include <mpi.h>

namespace {

class mpi_rank {
 public:
  static constexpr bool ranks_are_threads = false;

  mpi_rank() {
    ::MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    ::MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  [[nodiscard]] unsigned rank() const noexcept { return static_cast<unsigned>(rank_); }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(size_); }
  void barrier() { ::MPI_Barrier(MPI_COMM_WORLD); }
  [[nodiscard]] std::int64_t messages() const noexcept { return -1; }

  template <class Use>
  void prepare(bench::work const& w, bench::vectors const& v, Use const& use) {
    if (!w.algorithm.empty() || w.count() > INT_MAX) {
      throw bench::not_offered(w);  // an MPI chooses by itself, or by settings at its start
    }
    int const count = static_cast<int>(w.count());
    float* const output = v.output.data();
    if (w.op == bench::operation::broadcast) {
      use([=] { ::MPI_Bcast(output, count, MPI_FLOAT, 0, MPI_COMM_WORLD); });
    } else {
      void const* const input = v.input.data() == output ? MPI_IN_PLACE : v.input.data();
      use([=] { ::MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
    }
  }

 private:
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  ::MPI_Init(&argc, &argv);
  int status = 0;
  try {
    mpi_rank me;
    bench::pin(me.rank(), me.size());
    bench::serve(me, bench::read_command_line(argc, argv));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  ::MPI_Finalize();
  return status;
}
