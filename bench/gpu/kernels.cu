// SPDX-License-Identifier: Apache-2.0
//
// Compares kernels that combine vectors with the memory bandwidth of a GPU. Sums and a functor of 2 to 16 vectors of
// 64 MiB, also scaled, converted, and as a step of SGD; all values are compared with the host's. Built and run by
// bench/gpu/run. `kernels [<file for JSON> [<bytes>]]`
#include "measure.hpp"
#include <tutti/bfloat16.hpp>
#include <tutti/cuda/detail/device/after_fold.hpp>
#include <tutti/cuda/detail/device/fused.hpp>
#include <tutti/cuda/detail/runtime/block.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <exception>
#include <utility>

namespace {

namespace cuda = tutti::cuda;
namespace device = tutti::detail::device;
using bench::gpu::report;
using tutti::rank_type;

constexpr unsigned threads = 512;

/// Parameters of a kernel, which takes no empty structs alone; f is last as in cuda/detail/device/kernels.hpp.
template <class F>
struct kernel_argument {
  std::size_t n;
  F f;
};
/// Computes `destination = f(sources...)`. The part of each thread block begins at a whole pack.
template <class F, class Places, class... From>
__global__ void __launch_bounds__(threads) for_all(kernel_argument<F> const argument, Places const destination, From const*... sources) {
  constexpr std::size_t pack = 16;
  tutti::detail::runtime::block const g(UINT64_MAX);
  std::size_t const block_elements = ((argument.n + gridDim.x - 1) / gridDim.x + pack - 1) / pack * pack;
  std::size_t const first = blockIdx.x * block_elements;
  if (first < argument.n) {
    std::size_t const count = block_elements < argument.n - first ? block_elements : argument.n - first;
    Places block_destination = destination;
    for (auto& p : block_destination.addresses) {
      p += first;
    }
    device::for_each_element(g, argument.f, count, block_destination, sources + first...);
  }
}
/// The number of thread blocks that run at a time.
template <class F, class Places, class... From>
[[nodiscard]] unsigned blocks() {
  int block_elements = 0;
  int multiprocessors = 0;
  tutti::detail::runtime::examine(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&block_elements, for_all<F, Places, From...>, threads, 0),
      [] { return std::string("asking how many blocks run at a time"); });
  tutti::detail::runtime::examine(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
                             [] { return std::string("asking for multiprocessors"); });
  return static_cast<unsigned>(block_elements * multiprocessors);
}
template <class F, class Places, class... From>
void launch(cuda::stream const& stream, F const& f, std::size_t n, Places const& destination, From const*... sources) {
  static unsigned const grid = blocks<F, Places, From...>();
  for_all<<<grid, threads, 0, stream.native()>>>(kernel_argument<F>{n, f}, destination, sources...);
  tutti::detail::runtime::examine(cudaGetLastError(), [] { return std::string("launching a kernel that combines"); });
}

/// N vectors of random numbers, on the device and on the host.
template <class T, rank_type N>
struct inputs {
  std::vector<std::vector<T>> host_vectors;
  std::vector<cuda::array<T>> device_vectors;

  inputs(cuda::stream const& stream, std::size_t bytes) {
    for (rank_type r = 0; r != N; ++r) {
      host_vectors.push_back(bench::gpu::random_numbers<T>(bytes / sizeof(T), r + 1));
      device_vectors.emplace_back(host_vectors.back().size());
      device_vectors.back().copy_from(host_vectors.back(), stream);
    }
    stream.wait();
  }
  [[nodiscard]] std::size_t size() const { return host_vectors[0].size(); }
};

/// Measures f of N vectors: one row of the report.
template <class To, rank_type N, class T, class F>
void row(report& table, cuda::stream const& stream, std::string const& description, inputs<T, N> const& sources, F const& f,
         double target) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<To> expected(sources.size());
    for (std::size_t i = 0; i != expected.size(); ++i) {
      expected[i] = f(sources.host_vectors[I][i]...);
    }
    cuda::array<To> const destination(expected.size());
    bench::gpu::poison(destination, stream);
    auto const run = [&] {
      launch(stream, f, destination.size(), device::places<To>{{destination.data()}}, static_cast<T const*>(sources.device_vectors[I].data())...);
    };
    run();
    bool const right = bench::gpu::holds(destination, expected, stream);
    double const bytes = static_cast<double>(sources.size()) * (N * sizeof(T) + sizeof(To));
    auto const repeats = bench::gpu::repeats_of(sources.size() * sizeof(T));
    table.bandwidth(description, bytes, bench::gpu::seconds(stream, repeats, run), target, right);
  }(std::make_index_sequence<N>{});
}
/// Measures a step of SGD whose gradient is the sum of N vectors: one row of the report.
template <rank_type N>
void sgd_row(report& table, cuda::stream const& stream, inputs<float, N> const& sources) {
  using step = device::sgd_step<device::fold_of_all<tutti::sum<float>, N>, float>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    step const f{{}, 0.1F, 0.9F};
    auto weights = bench::gpu::random_numbers<float>(sources.size(), 77);
    auto velocities = bench::gpu::random_numbers<float>(sources.size(), 78);
    cuda::array<float> const w(weights.size());
    cuda::array<float> const v(weights.size());
    w.copy_from(weights, stream);
    v.copy_from(velocities, stream);
    stream.wait();
    auto const run = [&] {
      launch(stream, f, w.size(), device::place_pair<float>{{w.data(), v.data()}}, static_cast<float const*>(w.data()),
             static_cast<float const*>(v.data()), static_cast<float const*>(sources.device_vectors[I].data())...);
    };
    run();
    for (std::size_t i = 0; i != weights.size(); ++i) {
      auto const step_result = f(weights[i], velocities[i], sources.host_vectors[I][i]...);
      weights[i] = step_result.first;
      velocities[i] = step_result.second;
    }
    bool const right = bench::gpu::holds(w, weights, stream) && bench::gpu::holds(v, velocities, stream);
    double const bytes = static_cast<double>(sources.size()) * (N + 4) * sizeof(float);
    auto const repeats = bench::gpu::repeats_of(sources.size() * sizeof(float));
    table.bandwidth("SGD step with momentum of a sum of " + std::to_string(N), bytes,
                  bench::gpu::seconds(stream, repeats, run), 85, right);
  }(std::make_index_sequence<N>{});
}

struct larger_and_half_the_other {
  constexpr float operator()(float a, float b) const {
    return a > b ? a + tutti::detail::product(b, 0.5F) : b + tutti::detail::product(a, 0.5F);
  }
};
constexpr auto functor = tutti::reduce_with<float>(larger_and_half_the_other{}, tutti::commutative,
                                                   tutti::function_name<"larger and half the other">);

template <rank_type N, class R>
void combine(report& table, cuda::stream const& stream, std::size_t bytes, std::string const& description, R reduction,
             double target = 90) {
  inputs<tutti::contribution_t<R>, N> const sources(stream, bytes);
  row<typename R::value_type>(table, stream, description + " of " + std::to_string(N), sources, device::fold_of_all<R, N>{reduction},
                              target);
}
template <class R>
void combine_many(report& table, cuda::stream const& stream, std::size_t bytes, std::string const& description, R reduction) {
  combine<2>(table, stream, bytes, description, reduction);
  combine<4>(table, stream, bytes, description, reduction);
  combine<8>(table, stream, bytes, description, reduction);
  combine<16>(table, stream, bytes, description, reduction);
}

void run(report& table, cuda::stream const& stream, std::size_t bytes) {
  combine_many(table, stream, bytes, "sum of float", tutti::sum<float>{});
  combine_many(table, stream, bytes, "sum of bfloat16", tutti::sum<tutti::bfloat16>{});
  combine_many(table, stream, bytes, "sum of half", tutti::sum<tutti::half>{});
  combine_many(table, stream, bytes, "functor of float", functor);
  combine<8>(table, stream, bytes, "sum of double", tutti::sum<double>{});
  combine<8>(table, stream, bytes, "sum of int32", tutti::sum<std::int32_t>{});
  combine<8>(table, stream, bytes, "sum of int8", tutti::sum<std::int8_t>{});
  combine<8>(table, stream, bytes, "reproducible_sum of float", tutti::reproducible_sum<float>{}, 40);
  inputs<float, 8> const sources(stream, bytes);
  using fold = device::fold_of_all<tutti::sum<float>, 8>;
  row<float>(table, stream, "sum of float of 8, scaled", sources, device::scaled_fold<fold, float>{{}, 0.125F}, 85);
  row<tutti::bfloat16>(table, stream, "sum of float of 8, converted to bfloat16", sources,
                       device::converted_fold<fold, tutti::bfloat16>{}, 85);
  sgd_row<8>(table, stream, sources);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (bench::gpu::devices() == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skip_status;
    }
    bench::gpu::arguments const options(count, words);
    cuda::stream const stream;
    report table("kernels", bench::gpu::copy_bandwidth(stream, options.bytes()));
    run(table, stream, options.bytes());
    return table.end(options.file());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
