// SPDX-License-Identifier: Apache-2.0
// test: address one_compiler (it has read the strategy and the replica)
//
// The trainer creates objects on its own GPU, whatever the thread's current device is. CUDA and its libraries are
// models here: an event may be recorded only in a stream of its own device, and a library's handle belongs to the
// device current at its creation, which must be current again at each use.
#include <tutti/cuda/detail/runtime/current_device.hpp>
#include <tutti/nn/cuda/base/device_gradient_buffer.hpp>
#include <tutti/nn/cuda/detail/runtime/math.hpp>
#include <tutti/nn/cuda/device_synchronous.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

namespace {

thread_local int current = 0;
std::size_t object_count = 0;  ///< streams, events, memories and handles
std::size_t products = 0;      ///< computed by cuBLAS

template <class T>
cudaError_t make(T** object) {
  *object = new T;
  ++object_count;
  return cudaSuccess;
}
template <class T>
cudaError_t destroy(T* object) {
  object_count -= object == nullptr ? 0U : 1U;
  delete object;
  return cudaSuccess;
}

}  // namespace

struct cublasContext {
  int device = current;
};
struct cudnnContext {
  int device = current;
};

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
cudaError_t cudaMemcpyAsync(void* destination, void const* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t s) {
  if (s->device != current) {
    return cudaErrorInvalidResourceHandle;
  }
  std::memcpy(destination, source, bytes);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  *p = std::malloc(bytes);
  ++object_count;
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  object_count -= p == nullptr ? 0U : 1U;
  std::free(p);
  return cudaSuccess;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* h) {
  static_cast<void>(make(h));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
  static_cast<void>(h->device == current ? destroy(h) : cudaErrorInvalidValue);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
  return h->device == s->device ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmEx_64(cublasHandle_t h, cublasOperation_t, cublasOperation_t, std::int64_t, std::int64_t,
                               std::int64_t, void const*, void const*, cudaDataType, std::int64_t, void const*,
                               cudaDataType, std::int64_t, void const*, void*, cudaDataType, std::int64_t,
                               cublasComputeType_t, cublasGemmAlgo_t) {
  ++products;
  return h->device == current ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* h) {
  static_cast<void>(make(h));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t h) {
  static_cast<void>(h->device == current ? destroy(h) : cudaErrorInvalidValue);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) {
  return h->device == s->device ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

}  // extern "C"

namespace {

namespace nn = tutti::nn;
using nn::detail::runtime::event;
using nn::detail::runtime::memory_and_order;

/// Throws if a function of CUDA fails. @returns true if all work was on the device and has run
[[nodiscard]] bool use(memory_and_order& gpu, event& load_event) {
  auto second_stream = gpu.another_stream();
  bool good = second_stream.native()->device == 1;
  event unrecorded_event;
  good = gpu.has_run(unrecorded_event) && good;
  gpu.finish(unrecorded_event);
  gpu.hold(second_stream, unrecorded_event);
  for (int i = 0; i != 2; ++i) {
    gpu.record(load_event, gpu.stream());
    gpu.hold(second_stream, load_event);
    gpu.record(load_event, second_stream);
    good = gpu.has_run(load_event) && good;
    gpu.finish(load_event);
  }
  float const source = 1;
  float destination = 0;
  gpu.upload(second_stream, reinterpret_cast<std::byte*>(&destination), reinterpret_cast<std::byte const*>(&source),
             sizeof destination);
  return good && destination == 1;
}

/// Sums of two ranks; the other rank contributes nothing.
struct sums : nn::any_device_sums<tutti::cuda::stream> {
  [[nodiscard]] tutti::rank_type rank() const override { return 0; }
  [[nodiscard]] tutti::rank_type size() const override { return 2; }
  void broadcast(std::span<float> /*numbers*/) override {}
  void sum(std::span<float> /*numbers*/) override {}
  void enqueue(tutti::device_span<float> /*numbers*/, tutti::cuda::stream& stream) override {
    device = stream.native()->device;
  }
  void wait(tutti::cuda::stream& /*in*/) override {}

  int device = -1;  ///< device of the last stream that enqueued a sum
};

struct owner {
  static void follow() {}
  static void precede() {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_is_the_current_one_for_a_while) {
  {
    tutti::detail::runtime::current_device const outer(1);
    BOOST_TEST(current == 1);
    {
      tutti::detail::runtime::current_device const middle(1);
      tutti::detail::runtime::current_device const inner(0);
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
    event load_event;
    BOOST_TEST(use(gpu, load_event));
    BOOST_TEST(current == 0, "the thread's device is as it was");
    bool good = false;
    std::thread([&] { good = use(gpu, load_event); }).join();
    BOOST_TEST(good, "in another thread");
  }
  BOOST_TEST(object_count == 0U);
}

BOOST_AUTO_TEST_CASE(libraries_have_handles_of_the_device) {
  {
    std::optional<nn::detail::runtime::math> gpu(std::in_place, 1, nn::precision::float32);
    cudaSetDevice(0);
    std::array<std::byte, 64> rows{};
    std::array<float, 6> gradients{};
    gpu->differentiate_weights(nn::geometry::dense{2, 3}, 1, rows.data(), rows.data(), gradients.data());
    gpu->differentiate_input(nn::geometry::dense{2, 3}, 1, {gradients.data(), nullptr}, rows.data(), rows.data());
    BOOST_TEST(products == 2U);
    std::thread([&] { gpu.reset(); }).join();
  }
  BOOST_TEST(current == 0, "the thread's device is as it was");
  BOOST_TEST(object_count == 0U);
}

BOOST_AUTO_TEST_CASE(messages_are_summed_on_their_device) {
  memory_and_order gpu(1);
  auto sum_stream = gpu.another_stream();
  cudaSetDevice(0);
  sums device_sums;
  nn::device_synchronous strategy(device_sums);
  owner buffer_owner;
  std::array<float, 3> message{};
  BOOST_TEST(strategy.begin_on_device(
      nn::device_gradient_buffer<tutti::cuda::stream>({message.data(), message.size()}, sum_stream, buffer_owner)));
  strategy.on_enqueue(0);
  BOOST_TEST(device_sums.device == 1);
}

BOOST_AUTO_TEST_CASE(a_strategy_that_is_observed_still_sums_on_its_device) {
  memory_and_order gpu(1);
  auto sum_stream = gpu.another_stream();
  sums device_sums;
  nn::device_synchronous strategy(device_sums);
  nn::strategy_adaptor wrapper(strategy);
  owner buffer_owner;
  std::array<float, 3> numbers{};
  BOOST_TEST(wrapper.is_on_device());
  BOOST_TEST(wrapper.begin_on_device(
      nn::device_gradient_buffer<tutti::cuda::stream>({numbers.data(), numbers.size()}, sum_stream, buffer_owner)));
  wrapper.on_enqueue(0);
  BOOST_TEST(device_sums.device == 1);
}
