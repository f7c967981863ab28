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

/// Calls `record` with results of a and b.
template <class T>
struct integers {
  static constexpr unsigned bits = sizeof(T) * 8;

  template <class Record>
  static __host__ __device__ void evaluate(T a, T b, Record const& record) {
    using unsigned_type = std::make_unsigned_t<T>;
    auto const u = static_cast<unsigned_type>(a);
    auto const v = static_cast<unsigned_type>(b);
    record(static_cast<T>(u + v));
    record(static_cast<T>(u - v));
    record(static_cast<T>(std::uint64_t{u} * v));
    record(static_cast<T>(std::uint64_t{u} * v + u));
    record(static_cast<T>(a & b));
    record(static_cast<T>(a | b));
    record(static_cast<T>(a ^ b));
    record(static_cast<T>(~a));
    record(static_cast<T>(0 - u));
    record(static_cast<T>(a < b ? a : b));
    record(static_cast<T>(a > b ? a : b));
    record(static_cast<T>(a << (v % bits)));
    record(static_cast<T>(a >> (v % bits)));
    bool const divides = b != 0 && (std::is_unsigned_v<T> || b != static_cast<T>(-1));
    record(static_cast<T>(divides ? a / b : 0));
    record(static_cast<T>(divides ? a % b : 0));
    record(static_cast<T>((a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5));
    record(static_cast<T>(static_cast<std::int8_t>(a)));
    record(static_cast<T>(static_cast<std::uint8_t>(a)));
    record(static_cast<T>(static_cast<std::int16_t>(a)));
    record(static_cast<T>(static_cast<std::uint16_t>(a)));
    record(static_cast<T>(static_cast<std::int32_t>(a)));
    record(static_cast<T>(static_cast<std::uint32_t>(a)));
    record(static_cast<float>(a));
    record(static_cast<double>(a));
    if (sizeof(T) == 4) {
      record(static_cast<T>(static_cast<std::uint64_t>(u) * v >> 32));
      record(static_cast<T>(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b) >> 32));
    }
  }
};
template <class T>
struct floats {
  template <class Record>
  static __host__ __device__ void evaluate(T a, T b, Record const& record) {
    record(a + b);
    record(a - b);
    record(a * b);
    record(a / b);
    record(T{1} / a);
    record(-a);
    record(a < T{0} ? -a : a);
    record(std::sqrt(b));
    record(std::fma(a, b, a));
    record(a != a ? T{0} : std::floor(a));
    record(std::ceil(a));
    record(std::trunc(a));
    record(std::rint(a));
    record(static_cast<float>(a));
    record(static_cast<double>(a));
    std::uint32_t const comparisons =
        std::uint32_t{a == b} | std::uint32_t{a != b} << 1 | std::uint32_t{a < b} << 2 | std::uint32_t{a <= b} << 3 |
        std::uint32_t{a > b} << 4 | std::uint32_t{a >= b} << 5 | std::uint32_t{!(a < b)} << 6 |
        std::uint32_t{!(a >= b)} << 7 | std::uint32_t{!(a > b)} << 8 | std::uint32_t{!(a <= b)} << 9;
    record(comparisons);
    bool const is_small = a > T(-120) && a < T(120);
    record(static_cast<std::int32_t>(is_small ? a : T{1}));
    record(static_cast<std::int64_t>(is_small ? a : T{1}));
    record(static_cast<std::uint32_t>(is_small && a > T{0} ? a : T{1}));
    record(static_cast<std::uint64_t>(is_small && a > T{0} ? a : T{1}));
  }
};

/// The bits of results, one after the other; every NaN counts as the same.
class result_list {
 public:
  __host__ __device__ explicit result_list(std::uint64_t* output) : output_(output) {}
  template <class T>
  __host__ __device__ void operator()(T x) const {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) {
      bits = x != x ? 0x7ff0000000000001 : bits_of(x);
    } else {
      bits = static_cast<std::uint64_t>(x);
    }
    output_[count_++] = bits;
  }

 private:
  static __host__ __device__ std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
  static __host__ __device__ std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

  std::uint64_t* output_;
  mutable std::size_t count_ = 0;
};
constexpr std::size_t max_results = 32;  ///< the maximum for a pair

template <template <class> class Operations, class T>
__global__ void compute(T const* numbers, std::size_t count, std::uint64_t* output) {
  std::size_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * count) {
    Operations<T>::evaluate(numbers[i / count], numbers[i % count], result_list(output + i * max_results));
  }
}
template <class T>
[[nodiscard]] T* to_device(std::vector<T> const& values) {
  T* const p = device_array<T>(values.size());
  WORKS(cudaMemcpyAsync(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, nullptr));
  return p;
}
template <class T>
[[nodiscard]] std::vector<T> to_host(T const* source, std::size_t count) {
  std::vector<T> values(count);
  WORKS(cudaGetLastError());
  WORKS(cudaMemcpyAsync(values.data(), source, count * sizeof(T), cudaMemcpyDeviceToHost, nullptr));
  WORKS(cudaDeviceSynchronize());
  return values;
}
template <template <class> class Operations, class T>
void compare(std::vector<T> const& numbers) {
  std::size_t const pairs = numbers.size() * numbers.size();
  std::uint64_t* const output = device_array<std::uint64_t>(pairs * max_results);
  compute<Operations><<<static_cast<unsigned>((pairs + 127) / 128), 128>>>(to_device(numbers), numbers.size(), output);
  auto const device_results = to_host(output, pairs * max_results);
  std::vector<std::uint64_t> host_results(pairs * max_results, 0xA5A5A5A5A5A5A5A5);
  for (std::size_t i = 0; i != pairs; ++i) {
    Operations<T>::evaluate(numbers[i / numbers.size()], numbers[i % numbers.size()],
                            result_list(host_results.data() + i * max_results));
    for (std::size_t k = 0; k != max_results; ++k) {
      if (device_results[i * max_results + k] != host_results[i * max_results + k]) {
        std::fprintf(stderr, "result %zu of numbers %zu and %zu: %llx, and on the host %llx\n", k, i / numbers.size(),
                     i % numbers.size(), static_cast<unsigned long long>(device_results[i * max_results + k]),
                     static_cast<unsigned long long>(host_results[i * max_results + k]));
        std::exit(3);
      }
    }
  }
}
template <class T>
void compare_integers() {
  std::vector<T> numbers;
  for (unsigned k = 0; k <= sizeof(T) * 8; ++k) {
    auto const power = static_cast<T>(k == sizeof(T) * 8 ? 0 : std::uint64_t{1} << k);
    for (T const x : {power, static_cast<T>(power - 1), static_cast<T>(~power), static_cast<T>(power * 5 + 3)}) {
      numbers.push_back(x);
    }
  }
  compare<integers>(numbers);
}
void whole_numbers() {
  compare_integers<std::uint8_t>();
  compare_integers<std::int8_t>();
  compare_integers<std::uint16_t>();
  compare_integers<std::int16_t>();
  compare_integers<std::uint32_t>();
  compare_integers<std::int32_t>();
  compare_integers<std::uint64_t>();
  compare_integers<std::int64_t>();
}
template <class T>
void compare_floats() {
  using limits = std::numeric_limits<T>;
  std::vector<T> numbers{T(0), T(0.5), T(1), T(1.5), T(2.5), T(3), T(1) / 3, T(100.75), T(16777217), T(1e10)};
  for (T const x : {limits::max(), limits::min(), limits::denorm_min(), limits::epsilon(), limits::infinity(),
                    limits::quiet_NaN(), limits::min() / 3, limits::max() / 3, 1 + limits::epsilon()}) {
    numbers.push_back(x);
  }
  for (std::size_t k = numbers.size(); k-- != 0;) {
    numbers.push_back(-numbers[k]);
  }
  compare<floats>(numbers);
}
void broken_numbers() {
  compare_floats<float>();
  compare_floats<double>();
}

// Instructions that C++ cannot express.

__global__ void instructions(std::uint32_t* words) {
  std::uint32_t a = words[0];  // 0x80000001
  std::uint32_t n = words[1];  // 35
  std::uint64_t wide = words[0];
  float const nan = __uint_as_float(words[2]);
  float const zero = __uint_as_float(words[3]);
  float const huge = __uint_as_float(words[4]);
  std::uint32_t r = 0;
  std::uint64_t w = 0;
  float f = 0;
  unsigned k = 0;
  asm volatile("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  words[k++] = r;
  asm volatile("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  words[k++] = r;
  asm volatile("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(n));
  words[k++] = r;
  asm volatile("shl.b64 %0, %1, %2;" : "=l"(w) : "l"(wide), "r"(n + 29));
  words[k++] = static_cast<std::uint32_t>(w | w >> 32);
  asm volatile("prmt.b32 %0, %1, %2, 0xb340;" : "=r"(r) : "r"(a), "r"(0x11223344));
  words[k++] = r;
  asm volatile("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(a), "r"(0xffffffff));
  words[k++] = r;
  asm volatile("bfi.b32 %0, %1, %2, 32, 8;" : "=r"(r) : "r"(a), "r"(0xffffffff));
  words[k++] = r;
  asm volatile("shf.l.wrap.b32 %0, %1, %2, 33;" : "=r"(r) : "r"(a), "r"(2));
  words[k++] = r;
  asm volatile("popc.b32 %0, %1;" : "=r"(r) : "r"(a));
  words[k++] = r;
  asm volatile("clz.b32 %0, %1;" : "=r"(r) : "r"(a >> 4));
  words[k++] = r;
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(zero), "f"(-zero));
  words[k++] = __float_as_uint(f);
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(-zero), "f"(zero));
  words[k++] = __float_as_uint(f);
  asm volatile("max.f32 %0, %1, %2;" : "=f"(f) : "f"(-zero), "f"(zero));
  words[k++] = __float_as_uint(f);
  asm volatile("min.f32 %0, %1, %2;" : "=f"(f) : "f"(nan), "f"(huge));
  words[k++] = __float_as_uint(f);
  asm volatile("add.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(nan), "f"(huge));
  words[k++] = __float_as_uint(f);
  asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(huge));
  words[k++] = r;
  asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(-huge));
  words[k++] = r;
  asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(nan));
  words[k++] = r;
  asm volatile("cvt.rzi.s64.f32 %0, %1;" : "=l"(w) : "f"(nan));
  words[k++] = static_cast<std::uint32_t>(w >> 32);
  asm volatile("mul.hi.u64 %0, %1, %1;" : "=l"(w) : "l"(wide << 32));
  words[k++] = static_cast<std::uint32_t>(w >> 32);
  // Division by zero: any result is allowed, and the device keeps running.
  asm volatile("div.s32 %0, %1, 0;" : "=r"(r) : "r"(a));
  asm volatile("rem.u32 %0, %1, 0;" : "=r"(n) : "r"(r));
  asm volatile("div.s32 %0, %1, %2;" : "=r"(r) : "r"(0x80000000), "r"(n | 0xffffffff));
  words[k] = r & 0;
}
void instructions_of_ptx() {
  std::vector<std::uint32_t> numbers{0x80000001, 35, 0x7fc00001, 0, 0x7149f2ca};
  numbers.resize(32);
  std::uint32_t* const words = to_device(numbers);
  instructions<<<1, 1>>>(words);
  std::vector<std::uint32_t> const expected{
      0,          0, 0xffffffff, 0,          0xff804401, 0xfffff01f, 0xffffffff, 5,          2,          4, 0x80000000,
      0x80000000, 0, 0x7149f2ca, 0x7fffffff, 0x7fffffff, 0,          0,          0x80000000, 0x40000001, 0};
  auto const results = to_host(words, expected.size());
  for (std::size_t k = 0; k != results.size(); ++k) {
    if (results[k] != expected[k]) {
      std::fprintf(stderr, "instruction %zu: %x, and not %x\n", k, results[k], expected[k]);
      std::exit(3);
    }
  }
}

__global__ void widen(float* output) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  auto const bits = static_cast<std::uint16_t>(i);
  asm volatile("cvt.f32.f16 %0, %1;" : "=f"(output[i]) : "h"(bits));
}
__global__ void narrow(float const* input, std::uint16_t* output) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("cvt.rn.f16.f32 %0, %1;" : "=h"(output[i]) : "f"(input[i]));
}
constexpr std::size_t halves = 65536;

void halves_as_floats() {
  float* const wide = device_array<float>(halves);
  widen<<<halves / 256, 256>>>(wide);
  auto const values = to_host(wide, halves);
  for (std::size_t k = 0; k != halves; ++k) {
    float const x = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k)));
    EXPECT(std::isnan(x) ? std::isnan(values[k])
                         : std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(values[k]));
  }
}
/// Tests every half and points between it and the next one: the middle, and beside the middle.
void floats_as_halves() {
  for (int const offset : {-2, -1, 0, 1}) {
    std::vector<float> values(halves);
    for (std::size_t k = 0; k != halves; ++k) {
      float const x = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k)));
      float const next = static_cast<float>(tutti::half::from_bits(static_cast<std::uint16_t>(k + 1)));
      float const middle = x + (next - x) / 2;
      values[k] = offset == -2 || std::isnan(middle) ? x
                  : std::isinf(middle)               ? 65520
                                                     : std::bit_cast<float>(std::bit_cast<int>(middle) + offset);
    }
    std::uint16_t* const output = device_array<std::uint16_t>(halves);
    narrow<<<halves / 256, 256>>>(to_device(values), output);
    auto const results = to_host(output, halves);
    for (std::size_t k = 0; k != halves; ++k) {
      EXPECT(std::isnan(values[k]) ? results[k] == 0x7fff : results[k] == tutti::half(values[k]).bits());
    }
  }
}

// Threads.

__global__ void exchange(int* output) {
  int const me = static_cast<int>(threadIdx.x);
  output += me * 6;
  output[0] = __shfl_sync(0xffffffff, me, 5);
  output[1] = __shfl_up_sync(0xffffffff, me, 3);
  output[2] = __shfl_down_sync(0xffffffff, me, 3);
  output[3] = __shfl_xor_sync(0xffffffff, me, 6);
  output[4] = __shfl_down_sync(0xffffffff, me, 3, 8);
  if (me % 2 == 0) {
    output[5] = __shfl_xor_sync(0x55555555, me, 2);
  } else {
    output[5] = __shfl_xor_sync(0xaaaaaaaa, me * 2, 2);
  }
}
void exchanges() {
  int* const output = device_array<int>(32 * 6);
  exchange<<<1, 32>>>(output);
  auto const values = to_host(output, 32 * 6);
  for (int me = 0; me != 32; ++me) {
    int const* const result = &values[static_cast<std::size_t>(me) * 6];
    EXPECT(result[0] == 5);
    EXPECT(result[1] == (me < 3 ? me : me - 3));
    EXPECT(result[2] == (me > 28 ? me : me + 3));
    EXPECT(result[3] == (me ^ 6));
    EXPECT(result[4] == (me % 8 > 4 ? me : me + 3));
    EXPECT(result[5] == (me ^ 2) * (me % 2 == 0 ? 1 : 2));
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
__global__ void wander_all(unsigned* output) {
  __shared__ unsigned values[256];
  values[threadIdx.x] = wander(threadIdx.x);
  __syncthreads();
  output[threadIdx.x] = values[255 - threadIdx.x];
}
void branches() {
  unsigned* const output = device_array<unsigned>(256);
  for (int n = 0; n != 32; ++n) {
    wander_all<<<1, 256>>>(output);
    auto const values = to_host(output, 256);
    for (unsigned k = 0; k != 256; ++k) {
      EXPECT(values[k] == wander(255 - k));
    }
  }
}
/// Threads of a warp wait for each other without deadlock.
__global__ void wait_within_warp(int* output) {
  __shared__ int volatile turn;
  if (threadIdx.x == 0) {
    turn = 0;
  }
  __syncwarp();
  while (turn != static_cast<int>(31 - threadIdx.x)) {
  }
  output[threadIdx.x] = turn;
  turn = static_cast<int>(32 - threadIdx.x);
}
void threads_wait_for_each_other() {
  int* const output = device_array<int>(32);
  wait_within_warp<<<1, 32>>>(output);
  auto const values = to_host(output, 32);
  for (int k = 0; k != 32; ++k) {
    EXPECT(values[static_cast<std::size_t>(k)] == 31 - k);
  }
}
/// Ended warps are not part of a barrier.
__global__ void some_end_early(int* output) {
  if (threadIdx.x >= 64) {
    return;
  }
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  bool const good = __syncthreads_and(values[threadIdx.x] >= 0) != 0;
  output[threadIdx.x] = good ? values[63 - threadIdx.x] : -1;
}
void warps_that_have_ended() {
  int* const output = device_array<int>(64);
  some_end_early<<<1, 128>>>(output);
  auto const values = to_host(output, 64);
  for (int k = 0; k != 64; ++k) {
    EXPECT(values[static_cast<std::size_t>(k)] == 63 - k);
  }
}
__global__ void say_places(std::uint32_t* output) {
  unsigned const block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  output[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      blockIdx.x | blockIdx.y << 5 | blockIdx.z << 10 | threadIdx.x << 15 | threadIdx.y << 20 | threadIdx.z << 25;
}
void places() {
  dim3 const grid(3, 5, 7);
  dim3 const threads(5, 3, 2);
  std::uint32_t* const output = device_array<std::uint32_t>(3150);
  say_places<<<grid, threads>>>(output);
  auto const values = to_host(output, 3150);
  for (std::uint32_t k = 0; k != 3150; ++k) {
    std::uint32_t const t = k % 30;
    std::uint32_t const b = k / 30;
    EXPECT(values[k] == (b % 3 | b / 3 % 5 << 5 | b / 15 << 10 | t % 5 << 15 | t / 5 % 3 << 20 | t / 15 << 25));
  }
}
__global__ void move_vectors(float4 const* input, float4* output, double2 const* wide_input, double2* wide_output,
                             uchar4 const* byte_input, uchar4* byte_output, short const* small_input,
                             long long* small_output) {
  output[threadIdx.x] = input[threadIdx.x];
  wide_output[threadIdx.x] = wide_input[threadIdx.x];
  byte_output[threadIdx.x] = byte_input[threadIdx.x];
  small_output[threadIdx.x] = small_input[threadIdx.x];
}
void vectors() {
  constexpr std::size_t n = 32;
  std::vector<std::uint64_t> numbers(n * 2);
  for (std::size_t k = 0; k != numbers.size(); ++k) {
    numbers[k] = k * 0x9876543210123457;
  }
  auto* const input = to_device(numbers);
  auto* const output = device_array<std::uint64_t>(n * 2);
  auto* const wide_output = device_array<std::uint64_t>(n * 2);
  auto* const byte_output = device_array<std::uint32_t>(n);
  auto* const small_output = device_array<long long>(n);
  move_vectors<<<1, n>>>(reinterpret_cast<float4*>(input), reinterpret_cast<float4*>(output),
                         reinterpret_cast<double2*>(input), reinterpret_cast<double2*>(wide_output),
                         reinterpret_cast<uchar4*>(input), reinterpret_cast<uchar4*>(byte_output),
                         reinterpret_cast<short*>(input), small_output);
  EXPECT(to_host(output, n * 2) == numbers);
  EXPECT(to_host(wide_output, n * 2) == numbers);
  auto const bytes = to_host(byte_output, n);
  auto const small = to_host(small_output, n);
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
__global__ void twice_and(int* number, int summand) {
  *number = *number * 2 + summand;
}
template <class Kernel>
void load(Kernel kernel) {
  cudaFuncAttributes attributes;
  WORKS(cudaFuncGetAttributes(&attributes, kernel));
}
[[nodiscard]] int volatile* hold(cudaStream_t s) {
  int* const flag = pinned_array<int>(1);
  wait_for<<<1, 1, 0, s>>>(flag);
  WORKS(cudaGetLastError());
  return flag;
}
[[nodiscard]] int* device_number(int x) {
  return to_device(std::vector<int>{x});
}

[[nodiscard]] bool is_unfinished(cudaError_t answer) {
  static_cast<void>(cudaGetLastError());  // clears the error that the query has set
  return answer == cudaErrorNotReady;
}

void kernels_wait_for_each_other() {
  load(set);
  load(wait_without_pause);
  int* const flag = pinned_array<int>(1);
  wait_without_pause<<<15, 32, 0, new_stream()>>>(flag);
  set<<<1, 1, 0, new_stream()>>>(flag);
  WORKS(cudaDeviceSynchronize());
}
void streams_in_order_of_event() {
  load(twice_and);
  int* const x = device_number(1);
  cudaStream_t const first = new_stream();
  cudaStream_t const second = new_stream();
  cudaEvent_t const e = new_event();
  int volatile* const flag = hold(first);
  twice_and<<<1, 1, 0, first>>>(x, 1);
  WORKS(cudaEventRecord(e, first));
  WORKS(cudaStreamWaitEvent(second, e, 0));
  twice_and<<<1, 1, 0, second>>>(x, 5);
  EXPECT(is_unfinished(cudaEventQuery(e)));
  *flag = 1;
  WORKS(cudaStreamSynchronize(second));
  EXPECT(to_host(x, 1)[0] == 11);
}
void numbers_of_streams_are_not_reused() {
  unsigned long long previous = 0;
  for (int i = 0; i != 3; ++i) {
    cudaStream_t const s = new_stream();
    unsigned long long number = 0;
    WORKS(cudaStreamGetId(s, &number));
    EXPECT(number != previous);
    WORKS(cudaStreamDestroy(s));
    previous = number;
  }
}
void default_stream_waits_for_blocking_ones() {
  load(twice_and);
  int* const x = device_number(1);
  cudaStream_t const first = new_stream(cudaStreamDefault);
  cudaStream_t const second = new_stream(cudaStreamDefault);
  int volatile* const flag = hold(first);
  twice_and<<<1, 1, 0, first>>>(x, 1);
  twice_and<<<1, 1>>>(x, 5);
  twice_and<<<1, 1, 0, second>>>(x, 7);
  EXPECT(is_unfinished(cudaStreamQuery(second)));
  *flag = 1;
  WORKS(cudaStreamSynchronize(second));
  EXPECT(to_host(x, 1)[0] == 29);
}
/// Pageable memory has been read when the call returns; pinned memory is read when the stream reaches the copy.
void copies_of_the_host() {
  int* const a = device_array<int>(1);
  int* const b = device_array<int>(1);
  cudaStream_t const s = new_stream();
  int pageable = 1;
  int* const pinned_number = pinned_array<int>(1);
  int volatile* const flag = hold(s);
  WORKS(cudaMemcpyAsync(a, &pageable, sizeof(int), cudaMemcpyHostToDevice, s));
  WORKS(cudaMemcpyAsync(b, pinned_number, sizeof(int), cudaMemcpyHostToDevice, s));
  pageable = 2;
  *pinned_number = 2;
  *flag = 1;
  WORKS(cudaStreamSynchronize(s));
  EXPECT(to_host(a, 1)[0] == 1);
  EXPECT(to_host(b, 1)[0] == 2);
}
void copies_between_devices() {
  int* const a = device_number(3);
  WORKS(cudaDeviceSynchronize());
  WORKS(cudaSetDevice(1));
  int* const b = device_array<int>(1);
  WORKS(cudaMemcpyAsync(b, a, sizeof(int), cudaMemcpyDefault, nullptr));
  WORKS(cudaDeviceEnablePeerAccess(0, 0));
  twice_and<<<1, 1>>>(a, 1);
  EXPECT(to_host(b, 1)[0] == 3);
  EXPECT(to_host(a, 1)[0] == 7);
}

// Graphs.

void graph_is_run_again() {
  int* const x = device_number(1);
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
  int* const x = device_number(1);
  int* const y = device_number(1);
  cudaStream_t const first = new_stream();
  cudaStream_t const second = new_stream();
  cudaEvent_t const e = new_event();
  WORKS(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
  twice_and<<<1, 1, 0, first>>>(x, 1);
  WORKS(cudaEventRecord(e, first));
  WORKS(cudaStreamWaitEvent(second, e, 0));
  twice_and<<<1, 1, 0, second>>>(x, 2);
  twice_and<<<1, 1, 0, first>>>(y, 3);
  WORKS(cudaEventRecord(e, second));
  WORKS(cudaStreamWaitEvent(first, e, 0));
  twice_and<<<1, 1, 0, first>>>(x, 4);
  cudaGraph_t graph = nullptr;
  WORKS(cudaStreamEndCapture(first, &graph));
  cudaGraphExec_t run = nullptr;
  WORKS(cudaGraphInstantiate(&run, graph, 0));
  for (int n = 0; n != 16; ++n) {
    int const start = 1;
    WORKS(cudaMemcpyAsync(x, &start, sizeof start, cudaMemcpyHostToDevice, first));
    WORKS(cudaGraphLaunch(run, first));
    WORKS(cudaStreamSynchronize(first));
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
