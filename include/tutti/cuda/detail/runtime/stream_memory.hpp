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
    int can = 0;
    auto const get = function<CUresult (*)(CUdevice*, int)>("cuDeviceGet");
    auto const ask = function<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
    auto const doing = [] { return std::string("asking whether streams of CUDA can wait for memory"); };
    done(get(&handle, device), doing);
    done(ask(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, handle), doing);
    if (can == 0) {
      throw std::runtime_error("the streams of device " + std::to_string(device) +
                               " cannot wait for a word of memory; Pascal and newer devices can, with a driver that "
                               "allows it");
    }
  }

  /// Makes later work in the stream wait until the word has reached `value`.
  void wait(cudaStream_t in, std::uint64_t* word, std::uint64_t value) const {
    done(wait_(in, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ),
         [] { return std::string("having a stream of CUDA wait for a word"); });
  }
  /// Writes `value` to the word when all earlier work in the stream has run.
  void write(cudaStream_t in, std::uint64_t* word, std::uint64_t value) const {
    done(write_(in, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WRITE_VALUE_DEFAULT),
         [] { return std::string("having a stream of CUDA write a word"); });
  }

 private:
  template <class Function>
  [[nodiscard]] static Function function(char const* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how = cudaDriverEntryPointSymbolNotFound;
    examine(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &how),
            [name] { return std::string("looking for ") + name + " in CUDA's driver"; });
    if (found == nullptr || how != cudaDriverEntryPointSuccess) {
      throw std::runtime_error(std::string("the driver of NVIDIA has no ") + name + "; see nvidia-smi for its version");
    }
    return reinterpret_cast<Function>(found);
  }
  /// Driver errors have the numbers of the runtime's errors.
  template <class Doing>
  static void done(CUresult code, Doing const& doing) {
    examine(static_cast<cudaError_t>(code), doing);
  }

  CUresult (*wait_)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  CUresult (*write_)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
};

}  // namespace tutti::detail::runtime
