// SPDX-License-Identifier: Apache-2.0
// test: address
//
// What the trainer makes on a GPU is of its own device, whichever is the current one of the thread. CUDA's functions
// are of a model here: an event may only be recorded in a stream of the device that it was made on.
#include <tutti/detail/cuda/current_device.hpp>
#include <tutti/nn/detail/cuda/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstring>
#include <thread>

namespace {

thread_local int current = 0;
std::size_t alive = 0;  ///< streams and events

template <class T>
cudaError_t make(T** made) {
  *made = new T;
  ++alive;
  return cudaSuccess;
}
template <class T>
cudaError_t destroy(T* made) {
  alive -= made == nullptr ? 0U : 1U;
  delete made;
  return cudaSuccess;
}

}  // namespace

struct CUstream_st {
  int device = current;
};
struct CUevent_st {
  int device = current;
};

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 2;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  return make(s);
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return destroy(s);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  return make(e);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return destroy(e);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  return e->device == s->device ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t e, unsigned) {
  return e == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  return e == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return cudaEventQuery(e);
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t s) {
  if (s->device != current) {
    return cudaErrorInvalidResourceHandle;
  }
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

}  // extern "C"

namespace {

using tutti::nn::detail::cuda::event;
using tutti::nn::detail::cuda::memory_and_order;

/// Throws if a function of CUDA fails. @returns whether all is of the device, and has run
[[nodiscard]] bool use(memory_and_order& gpu, event& loaded) {
  auto more = gpu.another_stream();
  bool good = more.native()->device == 1;
  event never;
  good = gpu.has_run(never) && good;
  gpu.finish(never);
  gpu.hold(more, never);
  for (int i = 0; i != 2; ++i) {
    gpu.record(loaded, gpu.stream());
    gpu.hold(more, loaded);
    gpu.record(loaded, more);
    good = gpu.has_run(loaded) && good;
    gpu.finish(loaded);
  }
  float const from = 1;
  float to = 0;
  gpu.upload(more, reinterpret_cast<std::byte*>(&to), reinterpret_cast<std::byte const*>(&from), sizeof to);
  return good && to == 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_is_the_current_one_for_a_while) {
  {
    tutti::detail::cuda::current_device const outer(1);
    BOOST_TEST(current == 1);
    {
      tutti::detail::cuda::current_device const same(1);
      tutti::detail::cuda::current_device const inner(0);
      BOOST_TEST(current == 0);
    }
    BOOST_TEST(current == 1);
  }
  BOOST_TEST(current == 0);
}

BOOST_AUTO_TEST_CASE(another_device_is_the_current_one) {
  {
    memory_and_order gpu(1);
    BOOST_TEST(gpu.stream().native()->device == 1);
    cudaSetDevice(0);
    event loaded;
    BOOST_TEST(use(gpu, loaded));
    BOOST_TEST(current == 0, "the thread's device is as it was");
    bool good = false;
    std::thread([&] { good = use(gpu, loaded); }).join();
    BOOST_TEST(good, "in another thread");
  }
  BOOST_TEST(alive == 0U);
}
