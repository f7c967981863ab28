// SPDX-License-Identifier: Apache-2.0
//
// An MPI as a contender; built once for each installed MPI.
#include "../common/serve.hpp"

#include <climits>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <mpi.h>
#include <vector>

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
    void const* const input = v.input.data() == output ? MPI_IN_PLACE : v.input.data();
    switch (w.op) {
      case bench::operation::allreduce:
        return use([=] { ::MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      case bench::operation::broadcast:
        return use([=] { ::MPI_Bcast(output, count, MPI_FLOAT, 0, MPI_COMM_WORLD); });
      case bench::operation::allgatherv:
      case bench::operation::allgatherv_90: {
        blocks const layout(bench::block_lengths(w, size()));
        return use([&] {
          ::MPI_Allgatherv(input, static_cast<int>(v.input.size()), MPI_FLOAT, output, layout.lengths.data(),
                           layout.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
        });
      }
      case bench::operation::reduce_scatterv:
      case bench::operation::reduce_scatterv_90: {
        blocks const layout(bench::block_lengths(w, size()));
        return use(
            [&] { ::MPI_Reduce_scatter(input, output, layout.lengths.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      }
      case bench::operation::alltoallv: {
        blocks const outgoing(bench::outgoing_lengths(w, rank(), size()));
        blocks const incoming(bench::incoming_lengths(w, rank(), size()));
        return use([&] {
          ::MPI_Alltoallv(input, outgoing.lengths.data(), outgoing.begins.data(), MPI_FLOAT, output,
                          incoming.lengths.data(), incoming.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
        });
      }
      case bench::operation::scan:
        return use([=] { ::MPI_Scan(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      case bench::operation::exscan:
        return use([=] { ::MPI_Exscan(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
      case bench::operation::halo:
        return use([&] { exchange_halo(v); });
    }
  }

 private:
  /// Blocks as MPI describes them.
  struct blocks {
    std::vector<int> lengths;
    std::vector<int> begins;

    explicit blocks(std::vector<std::size_t> const& counts) {
      int begin = 0;
      for (std::size_t const n : counts) {
        lengths.push_back(static_cast<int>(n));
        begins.push_back(begin);
        begin += static_cast<int>(n);
      }
    }
  };

  void exchange_halo(bench::vectors const& v) const {
    int const left = (rank_ + size_ - 1) % size_;
    int const right = (rank_ + 1) % size_;
    auto const half = static_cast<int>(v.input.size() / 2);
    int const rest = static_cast<int>(v.input.size()) - half;
    enum { leftward, rightward };
    std::array<MPI_Request, 4> messages{};
    ::MPI_Irecv(v.output.data(), half, MPI_FLOAT, right, leftward, MPI_COMM_WORLD, &messages[0]);
    ::MPI_Irecv(v.output.data() + half, rest, MPI_FLOAT, left, rightward, MPI_COMM_WORLD, &messages[1]);
    ::MPI_Isend(v.input.data(), half, MPI_FLOAT, left, leftward, MPI_COMM_WORLD, &messages[2]);
    ::MPI_Isend(v.input.data() + half, rest, MPI_FLOAT, right, rightward, MPI_COMM_WORLD, &messages[3]);
    ::MPI_Waitall(4, messages.data(), MPI_STATUSES_IGNORE);
  }

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
