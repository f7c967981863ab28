// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>

#include <cstdint>
#include <cuda.h>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0::detail::runtime {

/// Streams that wait for a word of memory or write one, which only CUDA's driver offers. The functions are looked up
/// at run time, so that programs link without a driver.
class stream_memory {
 public:
  /// @throws cuda::error, std::runtime_error if the driver or the device lacks these operations
  explicit stream_memory(int device)
      : wait_(function<decltype(wait_)>("cuStreamWaitValue64")),
        write_(function<decltype(write_)>("cuStreamWriteValue64")) {
    CUdevice handle = 0;
    int is_supported = 0;
    auto const get_device = function<CUresult (*)(CUdevice*, int)>("cuDeviceGet");
    auto const get_attribute = function<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
    auto const purpose = [] { return std::string("asking whether streams of CUDA can wait for memory"); };
    check_status(get_device(&handle, device), purpose);
    check_status(get_attribute(&is_supported, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, handle), purpose);
    if (is_supported == 0) {
      throw std::runtime_error("the streams of device " + std::to_string(device) +
                               " cannot wait for a word of memory; Pascal and newer devices can, with a driver that "
                               "allows it");
    }
  }

  /// Makes later work in the stream wait until the word has reached `value`.
  void wait(cudaStream_t stream, std::uint64_t* word, std::uint64_t value) const {
    check_status(wait_(stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ),
                 [] { return std::string("having a stream of CUDA wait for a word"); });
  }
  /// Writes `value` to the word when all earlier work in the stream has run.
  void write(cudaStream_t stream, std::uint64_t* word, std::uint64_t value) const {
    check_status(write_(stream, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WRITE_VALUE_DEFAULT),
                 [] { return std::string("having a stream of CUDA write a word"); });
  }

 private:
  template <class Function>
  [[nodiscard]] static Function function(char const* name) {
    void* entry_point = nullptr;
    cudaDriverEntryPointQueryResult query_result = cudaDriverEntryPointSymbolNotFound;
    examine(cudaGetDriverEntryPointByVersion(name, &entry_point, CUDART_VERSION, cudaEnableDefault, &query_result),
            [name] { return std::string("looking for ") + name + " in CUDA's driver"; });
    if (entry_point == nullptr || query_result != cudaDriverEntryPointSuccess) {
      throw std::runtime_error(std::string("the driver of NVIDIA has no ") + name + "; see nvidia-smi for its version");
    }
    return reinterpret_cast<Function>(entry_point);
  }
  /// Driver errors have the numbers of the runtime's errors.
  template <class Purpose>
  static void check_status(CUresult code, Purpose const& purpose) {
    examine(static_cast<cudaError_t>(code), purpose);
  }

  CUresult (*wait_)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  CUresult (*write_)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
};

}  // namespace tutti::detail::runtime
