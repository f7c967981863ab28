// SPDX-License-Identifier: Apache-2.0
//
// Kernels of groups of threads; check.sh compiles them by nvcc, or without a vendor's headers, and reads the code.
#include <cstdlib>
#include <new>

#include <tutti/bfloat16.hpp>
#include <tutti/cuda/detail/device/kernels.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#if !defined(__clang__)
#include <tutti/cuda/detail/runtime/block.hpp>
#endif

#include <utility>

#define TEST_BOTH __attribute__((host, device))
#define TEST_DEVICE __attribute__((device))
#define TEST_KERNEL __attribute__((global))
#if defined(__clang__)
#define TEST_CONSTANT
#else
#define TEST_CONSTANT __grid_constant__  // otherwise an indexed array in it is copied to local memory
#endif

namespace {

namespace device = tutti::detail::device;
using tutti::rank_type;

#if defined(__clang__)  // no vendor's headers, and so no cuda/detail/runtime
/// The threads of a block.
struct block {
  TEST_BOTH std::uint32_t rank() const { return __nvvm_read_ptx_sreg_tid_x(); }
  TEST_BOTH std::uint32_t size() const { return __nvvm_read_ptx_sreg_ntid_x(); }
  TEST_BOTH bool barrier_and(bool good) const { return __nvvm_bar0_and(good) != 0; }
  TEST_BOTH std::uint64_t load_acquire(std::uint64_t const* word) const {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  TEST_BOTH void store_release(std::uint64_t* word, std::uint64_t value) const {
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
  }
  TEST_BOTH void store_fenced(std::uint64_t* word, std::uint64_t value) const {
    asm volatile("st.relaxed.sys.u64 [%0], %1; fence.sc.sys;" : : "l"(word), "l"(value) : "memory");
  }
  TEST_BOTH void pause() const {}
  TEST_BOTH bool is_late() const { return false; }
};
TEST_DEVICE std::uint32_t this_group() { return __nvvm_read_ptx_sreg_ctaid_x(); }
#else
struct block : tutti::detail::runtime::block {
  TEST_BOTH block() : tutti::detail::runtime::block(1'000'000'000) {}
};
TEST_DEVICE std::uint32_t this_group() { return blockIdx.x; }
#endif
static_assert(device::thread_group<block>);

struct larger_and_half_the_other {
  constexpr float operator()(float a, float b) const { return a > b ? a + b * 0.5F : b + a * 0.5F; }
};
using functor = decltype(tutti::reduce_with<float>(larger_and_half_the_other{}, tutti::commutative,
                                                   tutti::function_name<"larger and half the other">));

template <class T, rank_type N>
struct inputs {
  T const* addresses[N];
};
/// Wraps a reduction: a kernel takes no empty struct by itself.
template <class R>
struct reduction_argument {
  R reduction;
  std::uint32_t rank;
};

template <class R, rank_type N, std::size_t... I>
TEST_BOTH void combine_all(reduction_argument<R> const& a, inputs<typename R::value_type, N> const& memory,
                           device::places<typename R::value_type> const& output, std::size_t n,
                           std::index_sequence<I...>) {
  device::for_each_element(block{}, device::fold_of_all<R, N>{a.reduction}, n, output, memory.addresses[I]...);
}
/// Combines N inputs into one output.
template <class R, rank_type N>
TEST_KERNEL void combine(reduction_argument<R> const a, inputs<typename R::value_type, N> const memory,
                         device::places<typename R::value_type> const output, std::size_t const n) {
  combine_all<R, N>(a, memory, output, n, std::make_index_sequence<N>{});
}
/// An allreduce, by its steps or fused.
template <class Kernel>
TEST_KERNEL __attribute__((launch_bounds(512, 1))) void run(Kernel const TEST_CONSTANT kernel) {
  block const g;
  device::run_group(g, kernel, this_group());
}
template <class R>
using interpret = device::steps_kernel<device::group_combining<R>>;
template <class R>
using fuse = device::direct_kernel<R, 8>;

#define TEST_COMBINE(R, N)                                                                                        \
  template TEST_KERNEL void combine<R, N>(reduction_argument<R> const, inputs<R::value_type, N> const,            \
                                          device::places<R::value_type> const, std::size_t const);
#define TEST_REDUCTION(R)                                                                                         \
  TEST_COMBINE(R, 2)                                                                                              \
  TEST_COMBINE(R, 8)                                                                                              \
  template TEST_KERNEL void run<interpret<R>>(interpret<R> const TEST_CONSTANT);                                  \
  template TEST_KERNEL void run<fuse<R>>(fuse<R> const TEST_CONSTANT);
TEST_REDUCTION(tutti::sum<float>)
TEST_REDUCTION(tutti::sum<double>)
TEST_REDUCTION(tutti::sum<tutti::half>)
TEST_REDUCTION(tutti::sum<tutti::bfloat16>)
TEST_REDUCTION(tutti::sum<std::int8_t>)
TEST_REDUCTION(functor)

}  // namespace
