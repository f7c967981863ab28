// SPDX-License-Identifier: Apache-2.0
//
// Correct CUDA programs and their expected results.
#include "cases.hpp"
#include <tutti/half.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

// Arithmetic: the same function on the device and on the host.

/// Calls `put` with results of a and b.
template <class T>
struct integers {
  static constexpr unsigned bits = sizeof(T) * 8;

  template <class Put>
  static __host__ __device__ void of(T a, T b, Put const& put) {
    using unsigned_type = std::make_unsigned_t<T>;
    auto const u = static_cast<unsigned_type>(a);
    auto const v = static_cast<unsigned_type>(b);
    put(static_cast<T>(u + v));
    put(static_cast<T>(u - v));
    put(static_cast<T>(std::uint64_t{u} * v));
    put(static_cast<T>(std::uint64_t{u} * v + u));
    put(static_cast<T>(a & b));
    put(static_cast<T>(a | b));
    put(static_cast<T>(a ^ b));
    put(static_cast<T>(~a));
    put(static_cast<T>(0 - u));
    put(static_cast<T>(a < b ? a : b));
    put(static_cast<T>(a > b ? a : b));
    put(static_cast<T>(a << (v % bits)));
    put(static_cast<T>(a >> (v % bits)));
    bool const divides = b != 0 && (std::is_unsigned_v<T> || b != static_cast<T>(-1));
    put(static_cast<T>(divides ? a / b : 0));
    put(static_cast<T>(divides ? a % b : 0));
    put(static_cast<T>((a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5));
    put(static_cast<T>(static_cast<std::int8_t>(a)));
    put(static_cast<T>(static_cast<std::uint8_t>(a)));
    put(static_cast<T>(static_cast<std::int16_t>(a)));
    put(static_cast<T>(static_cast<std::uint16_t>(a)));
    put(static_cast<T>(static_cast<std::int32_t>(a)));
    put(static_cast<T>(static_cast<std::uint32_t>(a)));
    put(static_cast<float>(a));
    put(static_cast<double>(a));
    if (sizeof(T) == 4) {
      put(static_cast<T>(static_cast<std::uint64_t>(u) * v >> 32));
      put(static_cast<T>(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b) >> 32));
    }
  }
};
template <class T>
struct floats {
  template <class Put>
  static __host__ __device__ void of(T a, T b, Put const& put) {
    put(a + b);
    put(a - b);
    put(a * b);
    put(a / b);
    put(T{1} / a);
    put(-a);
    put(a < T{0} ? -a : a);
    put(std::sqrt(b));
    put(std::fma(a, b, a));
    put(a != a ? T{0} : std::floor(a));
    put(std::ceil(a));
    put(std::trunc(a));
    put(std::rint(a));
    put(static_cast<float>(a));
    put(static_cast<double>(a));
    std::uint32_t const ordered = std::uint32_t{a == b} | std::uint32_t{a != b} << 1 | std::uint32_t{a < b} << 2 |
                                  std::uint32_t{a <= b} << 3 | std::uint32_t{a > b} << 4 | std::uint32_t{a >= b} << 5 |
                                  std::uint32_t{!(a < b)} << 6 | std::uint32_t{!(a >= b)} << 7 |
                                  std::uint32_t{!(a > b)} << 8 | std::uint32_t{!(a <= b)} << 9;
    put(ordered);
    bool const is_small = a > T(-120) && a < T(120);
    put(static_cast<std::int32_t>(is_small ? a : T{1}));
    put(static_cast<std::int64_t>(is_small ? a : T{1}));
    put(static_cast<std::uint32_t>(is_small && a > T{0} ? a : T{1}));
    put(static_cast<std::uint64_t>(is_small && a > T{0} ? a : T{1}));
  }
};

/// The bits of results, one after the other; every NaN counts as the same.
class result_list {
 public:
  __host__ __device__ explicit result_list(std::uint64_t* to) : to_(to) {}
  template <class T>
  __host__ __device__ void operator()(T x) const {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) {
      bits = x != x ? 0x7ff0000000000001 : bits_of(x);
    } else {
      bits = static_cast<std::uint64_t>(x);
    }
    to_[count_++] = bits;
  }

 private:
  static __host__ __device__ std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
  static __host__ __device__ std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

  std::uint64_t* to_;
  mutable std::size_t count_ = 0;
};
constexpr std::size_t results = 32;  ///< the maximum for a pair

template <template <class> class Of, class T>
__global__ void compute(T const* of, std::size_t count, std::uint64_t* to) {
  std::size_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * count) {
    Of<T>::of(of[i / count], of[i % count], result_list(to + i * results));
  }
}
template <class T>
[[nodiscard]] T* to_device(std::vector<T> const& all) {
  T* const p = on_device<T>(all.size());
  WORKS(cudaMemcpyAsync(p, all.data(), all.size() * sizeof(T), cudaMemcpyHostToDevice, nullptr));
  return p;
}
template <class T>
[[nodiscard]] std::vector<T> to_host(T const* from, std::size_t count) {
  std::vector<T> all(count);
  WORKS(cudaGetLastError());
  WORKS(cudaMemcpyAsync(all.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, nullptr));
  WORKS(cudaDeviceSynchronize());
  return all;
}
template <template <class> class Of, class T>
void compare(std::vector<T> const& numbers) {
  std::size_t const pairs = numbers.size() * numbers.size();
  std::uint64_t* const to = on_device<std::uint64_t>(pairs * results);
  compute<Of><<<static_cast<unsigned>((pairs + 127) / 128), 128>>>(to_device(numbers), numbers.size(), to);
  auto const there = to_host(to, pairs * results);
  std::vector<std::uint64_t> here(pairs * results, 0xA5A5A5A5A5A5A5A5);
  for (std::size_t i = 0; i != pairs; ++i) {
    Of<T>::of(numbers[i / numbers.size()], numbers[i % numbers.size()], result_list(here.data() + i * results));
    for (std::size_t k = 0; k != results; ++k) {
      if (there[i * results + k] != here[i * results + k]) {
        std::fprintf(stderr, "result %zu of numbers %zu and %zu: %llx, and on the host %llx\n", k, i / numbers.size(),
                     i % numbers.size(), static_cast<unsigned long long>(there[i * results + k]),
                     static_cast<unsigned long long>(here[i * results + k]));
        std::exit(3);
      }
    }
  }
}
template <class T>
void integers_of() {
  std::vector<T> all;
  for (unsigned k = 0; k <= sizeof(T) * 8; ++k) {
    auto const power = static_cast<T>(k == sizeof(T) * 8 ? 0 : std::uint64_t{1} << k);
    for (T const x : {power, static_cast<T>(power - 1), static_cast<T>(~power), static_cast<T>(power * 5 + 3)}) {
      all.push_back(x);
    }
  }
  compare<integers>(all);
}
void whole_numbers() {
  integers_of<std::uint8_t>();
  integers_of<std::int8_t>();
  integers_of<std::uint16_t>();
  integers_of<std::int16_t>();
  integers_of<std::uint32_t>();
  integers_of<std::int32_t>();
  integers_of<std::uint64_t>();
  integers_of<std::int64_t>();
}
template <class T>
void floats_of() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all{T(0), T(0.5), T(1), T(1.5), T(2.5), T(3), T(1) / 3, T(100.75), T(16777217), T(1e10)};
  for (T const x : {limits::max(), limits::min(), limits::denorm_min(), limits::epsilon(), limits::infinity(),
                    limits::quiet_NaN(), limits::min() / 3, limits::max() / 3, 1 + limits::epsilon()}) {
    all.push_back(x);
  }
  for (std::size_t k = all.size(); k-- != 0;) {
    all.push_back(-all[k]);
  }
  compare<floats>(all);
}
void broken_numbers() {
  floats_of<float>();
  floats_of<double>();
}

// Instructions that C++ cannot express.

__global__ void instructions(std::uint32_t* to) {
  std::uint32_t a = to[0];  // 0x80000001
  std::uint32_t n = to[1];  // 35
  std::uint64_t wide = to[0];
  float const nan = __uint_as_float(to[2]);
  float const zero = __uint_as_float(to[3]);
  float const huge = __uint_as_float(to[4]);
  std::uint32_t r = 0;
  std::uint64_t w = 0;
  float f = 0;
  unsigned k = 0;
  asm volatile("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  to[k++] = r;
  asm volatile("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  to[k++] = r;
  asm volatile("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  to[k++] = r;
  asm volatile("shl.b64 %0, %1, %2;" : "=l"(w) : "l"(wide), "r"(n + 29));
  to[k++] = static_cast<std::uint32_t>(w | w >> 32);
  asm volatile("prmt.b32 %0, %1, %2, 0xb340;" : "=r"(r) : "r"(a), "r"(0x11223344));
  to[k++] = r;
  asm volatile("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(a), "r"(0xffffffff));
  to[k++] = r;
  asm volatile("bfi.b32 %0, %1, %2, 32, 8;" : "=r"(r) : "r"(a), "r"(0xffffffff));
  to[k++] = r;
  asm volatile("shf.l.wrap.b32 %0, %1, %2, 33;" : "=r"(r) : "r"(a), "r"(2));
  to[k++] = r;
  asm volatile("popc.b32 %0, %1;" : "=r"(r) : "r"(a));
  to[k++] = r;
  asm volatile("clz.b32 %0, %1;" : "=r"(r) : "r"(a >> 4));
  to[k++] = r;
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(zero), "f"(-zero));
  to[k++] = __float_as_uint(f);
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(-zero), "f"(zero));
  to[k++] = __float_as_uint(f);
  asm volatile("max.f32 %0, %1, %2;" : "=f"(f) : "f"(-zero), "f"(zero));
  to[k++] = __float_as_uint(f);
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(nan), "f"(huge));
  to[k++] = __float_as_uint(f);
  asm volatile("add.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(nan), "f"(huge));
  to[k++] = __float_as_uint(f);
  asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(huge));
  to[k++] = r;
  asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(-huge));
  to[k++] = r;
  asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(nan));
  to[k++] = r;
  asm volatile("cvt.rzi.s64.f32 %0, %1;" : "=l"(w) : "f"(nan));
  to[k++] = static_cast<std::uint32_t>(w >> 32);
  asm volatile("mul.hi.u64 %0, %1, %1;" : "=l"(w) : "l"(wide << 32));
  to[k++] = static_cast<std::uint32_t>(w >> 32);
  // Division by zero: any result is allowed, and the device keeps running.
  asm volatile("div.s32 %0, %1, 0;" : "=r"(r) : "r"(a));
  asm volatile("rem.u32 %0, %1, 0;" : "=r"(n) : "r"(r));
  asm volatile("div.s32 %0, %1, %2;" : "=r"(r) : "r"(0x80000000), "r"(n | 0xffffffff));
  to[k] = r & 0;
}
void instructions_of_ptx() {
  std::vector<std::uint32_t> numbers{0x80000001, 35, 0x7fc00001, 0, 0x7149f2ca};
  numbers.resize(32);
  std::uint32_t* const to = to_device(numbers);
  instructions<<<1, 1>>>(to);
  std::vector<std::uint32_t> const expected{
      0,          0, 0xffffffff, 0,          0xff804401, 0xfffff01f, 0xffffffff, 5,          2,          4, 0x80000000,
      0x80000000, 0, 0x7149f2ca, 0x7fffffff, 0x7fffffff, 0,          0,          0x80000000, 0x40000001, 0};
  auto const all = to_host(to, expected.size());
  for (std::size_t k = 0; k != all.size(); ++k) {
    if (all[k] != expected[k]) {
      std::fprintf(stderr, "instruction %zu: %x, and not %x\n", k, all[k], expected[k]);
      std::exit(3);
    }
  }
}

__global__ void widen(float* to) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  auto const bits = static_cast<std::uint16_t>(i);
  asm volatile("cvt.f32.f16 %0, %1;" : "=f"(to[i]) : "h"(bits));
}
__global__ void narrow(float const* from, std::uint16_t* to) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("cvt.rn.f16.f32 %0, %1;" : "=h"(to[i]) : "f"(from[i]));
}
constexpr std::size_t halves = 65536;

void halves_as_floats() {
  float* const wide = on_device<float>(halves);
  widen<<<halves / 256, 256>>>(wide);
  auto const all = to_host(wide, halves);
  for (std::size_t k = 0; k != halves; ++k) {
    float const x = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k)));
    EXPECT(std::isnan(x) ? std::isnan(all[k])
                         : std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(all[k]));
  }
}
/// Tests every half and points between it and the next one: the middle, and beside the middle.
void floats_as_halves() {
  for (int const beside : {-2, -1, 0, 1}) {
    std::vector<float> all(halves);
    for (std::size_t k = 0; k != halves; ++k) {
      float const x = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k)));
      float const next = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k + 1)));
      float const middle = x + (next - x) / 2;
      all[k] = beside == -2 || std::isnan(middle) ? x
               : std::isinf(middle)               ? 65520
                                                  : std::bit_cast<float>(std::bit_cast<int>(middle) + beside);
    }
    std::uint16_t* const to = on_device<std::uint16_t>(halves);
    narrow<<<halves / 256, 256>>>(to_device(all), to);
    auto const there = to_host(to, halves);
    for (std::size_t k = 0; k != halves; ++k) {
      EXPECT(std::isnan(all[k]) ? there[k] == 0x7fff : there[k] == tutti::half(all[k]).bits());
    }
  }
}

// Threads.

__global__ void exchange(int* to) {
  int const me = static_cast<int>(threadIdx.x);
  to += me * 6;
  to[0] = __shfl_sync(0xffffffff, me, 5);
  to[1] = __shfl_up_sync(0xffffffff, me, 3);
  to[2] = __shfl_down_sync(0xffffffff, me, 3);
  to[3] = __shfl_xor_sync(0xffffffff, me, 6);
  to[4] = __shfl_down_sync(0xffffffff, me, 3, 8);
  if (me % 2 == 0) {
    to[5] = __shfl_xor_sync(0x55555555, me, 2);
  } else {
    to[5] = __shfl_xor_sync(0xaaaaaaaa, me * 2, 2);
  }
}
void exchanges() {
  int* const to = on_device<int>(32 * 6);
  exchange<<<1, 32>>>(to);
  auto const all = to_host(to, 32 * 6);
  for (int me = 0; me != 32; ++me) {
    int const* const got = &all[static_cast<std::size_t>(me) * 6];
    EXPECT(got[0] == 5);
    EXPECT(got[1] == (me < 3 ? me : me - 3));
    EXPECT(got[2] == (me > 28 ? me : me + 3));
    EXPECT(got[3] == (me ^ 6));
    EXPECT(got[4] == (me % 8 > 4 ? me : me + 3));
    EXPECT(got[5] == (me ^ 2) * (me % 2 == 0 ? 1 : 2));
  }
}

/// Steps of a thread through nested loops with early exits.
__host__ __device__ unsigned wander(unsigned me) {
  unsigned steps = 0;
  for (unsigned i = 0; i != me % 7; ++i) {
    for (unsigned k = 0; k != 10; ++k) {
      if (k == me % 5) {
        break;
      }
      if ((k + me) % 3 == 0) {
        continue;
      }
      steps += me % 2 == 0 ? (i % 2 == 0 ? 3 : 5) : 7;
    }
    if (steps > 40) {
      return steps;
    }
  }
  return steps + 1;
}
__global__ void wander_all(unsigned* to) {
  __shared__ unsigned all[256];
  all[threadIdx.x] = wander(threadIdx.x);
  __syncthreads();
  to[threadIdx.x] = all[255 - threadIdx.x];
}
void branches() {
  unsigned* const to = on_device<unsigned>(256);
  for (int n = 0; n != 32; ++n) {
    wander_all<<<1, 256>>>(to);
    auto const all = to_host(to, 256);
    for (unsigned k = 0; k != 256; ++k) {
      EXPECT(all[k] == wander(255 - k));
    }
  }
}
/// Threads of a warp wait for each other without deadlock.
__global__ void wait_within_warp(int* to) {
  __shared__ int volatile turn;
  if (threadIdx.x == 0) {
    turn = 0;
  }
  __syncwarp();
  while (turn != static_cast<int>(31 - threadIdx.x)) {
  }
  to[threadIdx.x] = turn;
  turn = static_cast<int>(32 - threadIdx.x);
}
void threads_wait_for_each_other() {
  int* const to = on_device<int>(32);
  wait_within_warp<<<1, 32>>>(to);
  auto const all = to_host(to, 32);
  for (int k = 0; k != 32; ++k) {
    EXPECT(all[static_cast<std::size_t>(k)] == 31 - k);
  }
}
/// Ended warps are not part of a barrier.
__global__ void some_end_early(int* to) {
  if (threadIdx.x >= 64) {
    return;
  }
  __shared__ int all[64];
  all[threadIdx.x] = static_cast<int>(threadIdx.x);
  bool const good = __syncthreads_and(all[threadIdx.x] >= 0) != 0;
  to[threadIdx.x] = good ? all[63 - threadIdx.x] : -1;
}
void warps_that_have_ended() {
  int* const to = on_device<int>(64);
  some_end_early<<<1, 128>>>(to);
  auto const all = to_host(to, 64);
  for (int k = 0; k != 64; ++k) {
    EXPECT(all[static_cast<std::size_t>(k)] == 63 - k);
  }
}
__global__ void say_places(std::uint32_t* to) {
  unsigned const block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  to[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      blockIdx.x | blockIdx.y << 5 | blockIdx.z << 10 | threadIdx.x << 15 | threadIdx.y << 20 | threadIdx.z << 25;
}
void places() {
  dim3 const grid(3, 5, 7);
  dim3 const threads(5, 3, 2);
  std::uint32_t* const to = on_device<std::uint32_t>(3150);
  say_places<<<grid, threads>>>(to);
  auto const all = to_host(to, 3150);
  for (std::uint32_t k = 0; k != 3150; ++k) {
    std::uint32_t const t = k % 30;
    std::uint32_t const b = k / 30;
    EXPECT(all[k] == (b % 3 | b / 3 % 5 << 5 | b / 15 << 10 | t % 5 << 15 | t / 5 % 3 << 20 | t / 15 << 25));
  }
}
__global__ void move_vectors(float4 const* from, float4* to, double2 const* wide, double2* wide_to, uchar4 const* bytes,
                             uchar4* bytes_to, short const* small, long long* small_to) {
  to[threadIdx.x] = from[threadIdx.x];
  wide_to[threadIdx.x] = wide[threadIdx.x];
  bytes_to[threadIdx.x] = bytes[threadIdx.x];
  small_to[threadIdx.x] = small[threadIdx.x];
}
void vectors() {
  constexpr std::size_t n = 32;
  std::vector<std::uint64_t> numbers(n * 2);
  for (std::size_t k = 0; k != numbers.size(); ++k) {
    numbers[k] = k * 0x9876543210123457;
  }
  auto* const from = to_device(numbers);
  auto* const to = on_device<std::uint64_t>(n * 2);
  auto* const wide_to = on_device<std::uint64_t>(n * 2);
  auto* const bytes_to = on_device<std::uint32_t>(n);
  auto* const small_to = on_device<long long>(n);
  move_vectors<<<1, n>>>(reinterpret_cast<float4*>(from), reinterpret_cast<float4*>(to),
                         reinterpret_cast<double2*>(from), reinterpret_cast<double2*>(wide_to),
                         reinterpret_cast<uchar4*>(from), reinterpret_cast<uchar4*>(bytes_to),
                         reinterpret_cast<short*>(from), small_to);
  EXPECT(to_host(to, n * 2) == numbers);
  EXPECT(to_host(wide_to, n * 2) == numbers);
  auto const bytes = to_host(bytes_to, n);
  auto const small = to_host(small_to, n);
  for (std::size_t k = 0; k != n; ++k) {
    EXPECT(bytes[k] == static_cast<std::uint32_t>(numbers[k / 2] >> (k % 2 * 32)));
    EXPECT(small[k] == static_cast<std::int16_t>(numbers[k / 4] >> (k % 4 * 16)));
  }
}

// Streams.

__global__ void wait_for(int const volatile* flag) {
  while (*flag == 0) {
    __nanosleep(20);
  }
}
__global__ void wait_without_pause(int const volatile* flag) {
  while (*flag == 0) {
  }
}
__global__ void set(int volatile* flag) {
  *flag = 1;
}
__global__ void twice_and(int* of, int more) {
  *of = *of * 2 + more;
}
template <class Kernel>
void load(Kernel kernel) {
  cudaFuncAttributes known;
  WORKS(cudaFuncGetAttributes(&known, kernel));
}
[[nodiscard]] int volatile* hold(cudaStream_t s) {
  int* const flag = pinned<int>(1);
  wait_for<<<1, 1, 0, s>>>(flag);
  WORKS(cudaGetLastError());
  return flag;
}
[[nodiscard]] int* on_device_with(int x) {
  return to_device(std::vector<int>{x});
}

[[nodiscard]] bool is_unfinished(cudaError_t answer) {
  static_cast<void>(cudaGetLastError());  // clears the error that the query has set
  return answer == cudaErrorNotReady;
}

void kernels_wait_for_each_other() {
  load(set);
  load(wait_without_pause);
  int* const flag = pinned<int>(1);
  wait_without_pause<<<15, 32, 0, new_stream()>>>(flag);
  set<<<1, 1, 0, new_stream()>>>(flag);
  WORKS(cudaDeviceSynchronize());
}
void streams_in_order_of_event() {
  load(twice_and);
  int* const x = on_device_with(1);
  cudaStream_t const one = new_stream();
  cudaStream_t const other = new_stream();
  cudaEvent_t const e = new_event();
  int volatile* const flag = hold(one);
  twice_and<<<1, 1, 0, one>>>(x, 1);
  WORKS(cudaEventRecord(e, one));
  WORKS(cudaStreamWaitEvent(other, e, 0));
  twice_and<<<1, 1, 0, other>>>(x, 5);
  EXPECT(is_unfinished(cudaEventQuery(e)));
  *flag = 1;
  WORKS(cudaStreamSynchronize(other));
  EXPECT(to_host(x, 1)[0] == 11);
}
void numbers_of_streams_are_not_reused() {
  unsigned long long before = 0;
  for (int i = 0; i != 3; ++i) {
    cudaStream_t const s = new_stream();
    unsigned long long number = 0;
    WORKS(cudaStreamGetId(s, &number));
    EXPECT(number != before);
    WORKS(cudaStreamDestroy(s));
    before = number;
  }
}
void default_stream_waits_for_blocking_ones() {
  load(twice_and);
  int* const x = on_device_with(1);
  cudaStream_t const one = new_stream(cudaStreamDefault);
  cudaStream_t const other = new_stream(cudaStreamDefault);
  int volatile* const flag = hold(one);
  twice_and<<<1, 1, 0, one>>>(x, 1);
  twice_and<<<1, 1>>>(x, 5);
  twice_and<<<1, 1, 0, other>>>(x, 7);
  EXPECT(is_unfinished(cudaStreamQuery(other)));
  *flag = 1;
  WORKS(cudaStreamSynchronize(other));
  EXPECT(to_host(x, 1)[0] == 29);
}
/// Pageable memory has been read when the call returns; pinned memory is read when the stream reaches the copy.
void copies_of_the_host() {
  int* const a = on_device<int>(1);
  int* const b = on_device<int>(1);
  cudaStream_t const s = new_stream();
  int pageable = 1;
  int* const fixed = pinned<int>(1);
  int volatile* const flag = hold(s);
  WORKS(cudaMemcpyAsync(a, &pageable, sizeof(int), cudaMemcpyHostToDevice, s));
  WORKS(cudaMemcpyAsync(b, fixed, sizeof(int), cudaMemcpyHostToDevice, s));
  pageable = 2;
  *fixed = 2;
  *flag = 1;
  WORKS(cudaStreamSynchronize(s));
  EXPECT(to_host(a, 1)[0] == 1);
  EXPECT(to_host(b, 1)[0] == 2);
}
void copies_between_devices() {
  int* const a = on_device_with(3);
  WORKS(cudaDeviceSynchronize());
  WORKS(cudaSetDevice(1));
  int* const b = on_device<int>(1);
  WORKS(cudaMemcpyAsync(b, a, sizeof(int), cudaMemcpyDefault, nullptr));
  WORKS(cudaDeviceEnablePeerAccess(0, 0));
  twice_and<<<1, 1>>>(a, 1);
  EXPECT(to_host(b, 1)[0] == 3);
  EXPECT(to_host(a, 1)[0] == 7);
}

// Graphs.

void graph_is_run_again() {
  int* const x = on_device_with(1);
  cudaStream_t const s = new_stream();
  WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  twice_and<<<1, 1, 0, s>>>(x, 1);
  twice_and<<<1, 1, 0, s>>>(x, 0);
  cudaGraph_t graph = nullptr;
  WORKS(cudaStreamEndCapture(s, &graph));
  EXPECT(to_host(x, 1)[0] == 1);
  cudaGraphExec_t run = nullptr;
  WORKS(cudaGraphInstantiate(&run, graph, 0));
  WORKS(cudaGraphDestroy(graph));
  cudaStream_t const other = new_stream();
  for (int n = 0; n != 3; ++n) {
    WORKS(cudaGraphLaunch(run, n % 2 == 0 ? s : other));
  }
  WORKS(cudaGraphExecDestroy(run));
  WORKS(cudaDeviceSynchronize());
  EXPECT(to_host(x, 1)[0] == 106);
}
/// Captures two streams; the second one joins the capture and leaves it.
void graph_of_two_streams() {
  int* const x = on_device_with(1);
  int* const y = on_device_with(1);
  cudaStream_t const one = new_stream();
  cudaStream_t const other = new_stream();
  cudaEvent_t const e = new_event();
  WORKS(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
  twice_and<<<1, 1, 0, one>>>(x, 1);
  WORKS(cudaEventRecord(e, one));
  WORKS(cudaStreamWaitEvent(other, e, 0));
  twice_and<<<1, 1, 0, other>>>(x, 2);
  twice_and<<<1, 1, 0, one>>>(y, 3);
  WORKS(cudaEventRecord(e, other));
  WORKS(cudaStreamWaitEvent(one, e, 0));
  twice_and<<<1, 1, 0, one>>>(x, 4);
  cudaGraph_t graph = nullptr;
  WORKS(cudaStreamEndCapture(one, &graph));
  cudaGraphExec_t run = nullptr;
  WORKS(cudaGraphInstantiate(&run, graph, 0));
  for (int n = 0; n != 16; ++n) {
    int const first = 1;
    WORKS(cudaMemcpyAsync(x, &first, sizeof first, cudaMemcpyHostToDevice, one));
    WORKS(cudaGraphLaunch(run, one));
    WORKS(cudaStreamSynchronize(one));
    EXPECT(to_host(x, 1)[0] == 20);
  }
}
/// Calls that are allowed in a relaxed capture, or in a relaxed thread.
void relaxed_captures() {
  cudaStream_t const s = new_stream();
  cudaStream_t const other = new_stream();
  void* p = nullptr;
  for (bool const by_thread : {false, true}) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    WORKS(cudaStreamBeginCapture(s, by_thread ? cudaStreamCaptureModeGlobal : mode));
    if (by_thread) {
      WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    WORKS(cudaStreamQuery(other));
    WORKS(cudaMalloc(&p, 1));
    if (by_thread) {
      WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    cudaGraph_t graph = nullptr;
    WORKS(cudaStreamEndCapture(s, &graph));
  }
}

constexpr small_program programs[] = {
    {"whole_numbers", whole_numbers, ""},
    {"broken_numbers", broken_numbers, ""},
    {"instructions_of_ptx", instructions_of_ptx, ""},
    {"halves_as_floats", halves_as_floats, ""},
    {"floats_as_halves", floats_as_halves, ""},
    {"exchanges", exchanges, ""},
    {"branches", branches, ""},
    {"threads_wait_for_each_other", threads_wait_for_each_other, ""},
    {"warps_that_have_ended", warps_that_have_ended, ""},
    {"places", places, ""},
    {"vectors", vectors, ""},
    {"kernels_wait_for_each_other", kernels_wait_for_each_other, ""},
    {"streams_in_order_of_event", streams_in_order_of_event, ""},
    {"numbers_of_streams_are_not_reused", numbers_of_streams_are_not_reused, ""},
    {"default_stream_waits_for_blocking_ones", default_stream_waits_for_blocking_ones, ""},
    {"copies_of_the_host", copies_of_the_host, ""},
    {"copies_between_devices", copies_between_devices, "", "EMULATED_GPUS=2"},
    {"graph_is_run_again", graph_is_run_again, ""},
    {"graph_of_two_streams", graph_of_two_streams, ""},
    {"relaxed_captures", relaxed_captures, ""},
};

}  // namespace

int main(int count, char** names) {
  return run_programs(programs, count, names);
}
