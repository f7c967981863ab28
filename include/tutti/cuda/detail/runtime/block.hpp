// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/thread_group.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::runtime {

/// The threads of a CUDA thread block; see `device::thread_group`. For sources compiled by nvcc with
/// --expt-relaxed-constexpr.
///
/// The functions are declared for host and device, as are their constexpr callers, but defined for the device only.
class block {
 public:
  /// @param nanoseconds the deadline of waits on the device's clock; UINT64_MAX: none
  __host__ __device__ explicit block(std::uint64_t nanoseconds);

  [[nodiscard]] __host__ __device__ std::uint32_t rank() const;
  [[nodiscard]] __host__ __device__ std::uint32_t size() const;
  __host__ __device__ bool barrier_and(bool good) const;
  [[nodiscard]] __host__ __device__ std::uint64_t load_acquire(std::uint64_t const* word) const;
  __host__ __device__ void store_release(std::uint64_t* word, std::uint64_t value) const;
  __host__ __device__ void store_fenced(std::uint64_t* word, std::uint64_t value) const;
  __host__ __device__ void pause() const;
  [[nodiscard]] __host__ __device__ bool is_late() const;

 private:
  std::uint64_t deadline_;  // deadline on the device's clock
};
static_assert(device::thread_group<block>);

#if defined(__CUDA_ARCH__)

[[nodiscard]] __device__ inline std::uint64_t device_clock() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

inline block::block(std::uint64_t nanoseconds) {
  std::uint64_t const now = device_clock();
  deadline_ = nanoseconds > UINT64_MAX - now ? UINT64_MAX : now + nanoseconds;
}
inline std::uint32_t block::rank() const {
  return threadIdx.x;
}
inline std::uint32_t block::size() const {
  return blockDim.x;
}
inline bool block::barrier_and(bool good) const {
  return __syncthreads_and(good) != 0;
}
// Memory order of system scope, among devices and host. Writes of the block before its last barrier precede the value
// that `store_release` writes: the barrier orders them before the caller's release, which is cumulative.
inline std::uint64_t block::load_acquire(std::uint64_t const* word) const {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
inline void block::store_release(std::uint64_t* word, std::uint64_t value) const {
  asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}
inline void block::store_fenced(std::uint64_t* word, std::uint64_t value) const {
  asm volatile("st.relaxed.sys.u64 [%0], %1; fence.sc.sys;" : : "l"(word), "l"(value) : "memory");
}
inline void block::pause() const {
  __nanosleep(20);
}
inline bool block::is_late() const {
  return device_clock() > deadline_;
}

#endif

}  // namespace tutti::detail::runtime
