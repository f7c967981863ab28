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
struct how {
  std::size_t n;
  F f;
};
/// Computes `to = f(from...)`. The part of each thread block begins at a whole pack.
template <class F, class Places, class... From>
__global__ void __launch_bounds__(threads) for_all(how<F> const what, Places const to, From const*... from) {
  constexpr std::size_t pack = 16;
  tutti::detail::runtime::block const g(UINT64_MAX);
  std::size_t const each = ((what.n + gridDim.x - 1) / gridDim.x + pack - 1) / pack * pack;
  std::size_t const first = blockIdx.x * each;
  if (first < what.n) {
    std::size_t const count = each < what.n - first ? each : what.n - first;
    Places mine = to;
    for (auto& p : mine.to) {
      p += first;
    }
    device::for_each_element(g, what.f, count, mine, from + first...);
  }
}
/// The number of thread blocks that run at a time.
template <class F, class Places, class... From>
[[nodiscard]] unsigned blocks() {
  int each = 0;
  int multiprocessors = 0;
  tutti::detail::runtime::examine(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, for_all<F, Places, From...>, threads, 0),
      [] { return std::string("asking how many blocks run at a time"); });
  tutti::detail::runtime::examine(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
                             [] { return std::string("asking for multiprocessors"); });
  return static_cast<unsigned>(each * multiprocessors);
}
template <class F, class Places, class... From>
void launch(cuda::stream const& in, F const& f, std::size_t n, Places const& to, From const*... from) {
  static unsigned const grid = blocks<F, Places, From...>();
  for_all<<<grid, threads, 0, in.native()>>>(how<F>{n, f}, to, from...);
  tutti::detail::runtime::examine(cudaGetLastError(), [] { return std::string("launching a kernel that combines"); });
}

/// N vectors of random numbers, on the device and on the host.
template <class T, rank_type N>
struct inputs {
  std::vector<std::vector<T>> here;
  std::vector<cuda::array<T>> there;

  inputs(cuda::stream const& in, std::size_t bytes) {
    for (rank_type r = 0; r != N; ++r) {
      here.push_back(bench::gpu::drawn<T>(bytes / sizeof(T), r + 1));
      there.emplace_back(here.back().size());
      there.back().copy_from(here.back(), in);
    }
    in.wait();
  }
  [[nodiscard]] std::size_t size() const { return here[0].size(); }
};

/// Measures f of N vectors: one row of the report.
template <class To, rank_type N, class T, class F>
void row(report& all, cuda::stream const& in, std::string const& what, inputs<T, N> const& from, F const& f,
         double target) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<To> wanted(from.size());
    for (std::size_t i = 0; i != wanted.size(); ++i) {
      wanted[i] = f(from.here[I][i]...);
    }
    cuda::array<To> const to(wanted.size());
    bench::gpu::poison(to, in);
    auto const run = [&] {
      launch(in, f, to.size(), device::places<To>{{to.data()}}, static_cast<T const*>(from.there[I].data())...);
    };
    run();
    bool const right = bench::gpu::holds(to, wanted, in);
    double const bytes = static_cast<double>(from.size()) * (N * sizeof(T) + sizeof(To));
    auto const often = bench::gpu::repeats_of(from.size() * sizeof(T));
    all.bandwidth(what, bytes, bench::gpu::seconds(in, often, run), target, right);
  }(std::make_index_sequence<N>{});
}
/// Measures a step of SGD whose gradient is the sum of N vectors: one row of the report.
template <rank_type N>
void sgd_row(report& all, cuda::stream const& in, inputs<float, N> const& from) {
  using step = device::sgd_step<device::fold_of_all<tutti::sum<float>, N>, float>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    step const f{{}, 0.1F, 0.9F};
    auto weights = bench::gpu::drawn<float>(from.size(), 77);
    auto velocities = bench::gpu::drawn<float>(from.size(), 78);
    cuda::array<float> const w(weights.size());
    cuda::array<float> const v(weights.size());
    w.copy_from(weights, in);
    v.copy_from(velocities, in);
    in.wait();
    auto const run = [&] {
      launch(in, f, w.size(), device::two_places<float>{{w.data(), v.data()}}, static_cast<float const*>(w.data()),
             static_cast<float const*>(v.data()), static_cast<float const*>(from.there[I].data())...);
    };
    run();
    for (std::size_t i = 0; i != weights.size(); ++i) {
      auto const both = f(weights[i], velocities[i], from.here[I][i]...);
      weights[i] = both.first;
      velocities[i] = both.second;
    }
    bool const right = bench::gpu::holds(w, weights, in) && bench::gpu::holds(v, velocities, in);
    double const bytes = static_cast<double>(from.size()) * (N + 4) * sizeof(float);
    auto const often = bench::gpu::repeats_of(from.size() * sizeof(float));
    all.bandwidth("SGD step with momentum of a sum of " + std::to_string(N), bytes,
                  bench::gpu::seconds(in, often, run), 85, right);
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
void combine(report& all, cuda::stream const& in, std::size_t bytes, std::string const& what, R reduction,
             double target = 90) {
  inputs<tutti::contribution_t<R>, N> const from(in, bytes);
  row<typename R::value_type>(all, in, what + " of " + std::to_string(N), from, device::fold_of_all<R, N>{reduction},
                              target);
}
template <class R>
void combine_many(report& all, cuda::stream const& in, std::size_t bytes, std::string const& what, R reduction) {
  combine<2>(all, in, bytes, what, reduction);
  combine<4>(all, in, bytes, what, reduction);
  combine<8>(all, in, bytes, what, reduction);
  combine<16>(all, in, bytes, what, reduction);
}

void run(report& all, cuda::stream const& in, std::size_t bytes) {
  combine_many(all, in, bytes, "sum of float", tutti::sum<float>{});
  combine_many(all, in, bytes, "sum of bfloat16", tutti::sum<tutti::bfloat16>{});
  combine_many(all, in, bytes, "sum of half", tutti::sum<tutti::half>{});
  combine_many(all, in, bytes, "functor of float", functor);
  combine<8>(all, in, bytes, "sum of double", tutti::sum<double>{});
  combine<8>(all, in, bytes, "sum of int32", tutti::sum<std::int32_t>{});
  combine<8>(all, in, bytes, "sum of int8", tutti::sum<std::int8_t>{});
  combine<8>(all, in, bytes, "reproducible_sum of float", tutti::reproducible_sum<float>{}, 40);
  inputs<float, 8> const from(in, bytes);
  using fold = device::fold_of_all<tutti::sum<float>, 8>;
  row<float>(all, in, "sum of float of 8, scaled", from, device::scaled<fold, float>{{}, 0.125F}, 85);
  row<tutti::bfloat16>(all, in, "sum of float of 8, converted to bfloat16", from,
                       device::converted<fold, tutti::bfloat16>{}, 85);
  sgd_row<8>(all, in, from);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (bench::gpu::devices() == 0) {
      std::puts("SKIPPED: no CUDA device");
      return bench::gpu::skipped;
    }
    bench::gpu::arguments const given(count, words);
    cuda::stream const in;
    report all("kernels", bench::gpu::copy_bandwidth(in, given.bytes()));
    run(all, in, given.bytes());
    return all.end(given.file());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
