// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/error.hpp>
#include <tutti/nn/cuda/detail/runtime/memory.hpp>

namespace tutti::inline v0_1_0::nn::detail::runtime {

/// A library's handle for a device, which is current during construction and destruction, as libraries require.
template <class T, auto Create, auto Destroy>
class handle {
 public:
  /// @param check_status throws if the result of `Create` is an error
  template <class Demand>
  handle(memory_and_order const& device, Demand const& check_status) : device_(device.number()) {
    current_device const guard(device_);
    check_status(Create(&handle_));
  }
  handle(handle const&) = delete;
  handle& operator=(handle const&) = delete;
  ~handle() {
    try {
      current_device const guard(device_);
      static_cast<void>(Destroy(handle_));
    } catch (tutti::cuda::error const&) {  // a device that has failed holds no resources
    }
  }

  [[nodiscard]] T get() const noexcept { return handle_; }

 private:
  int device_;
  T handle_ = nullptr;
};

}  // namespace tutti::nn::detail::runtime
