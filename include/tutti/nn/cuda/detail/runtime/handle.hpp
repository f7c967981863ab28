// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/error.hpp>
#include <tutti/nn/cuda/detail/runtime/memory.hpp>

namespace tutti::inline v0_1_0::nn::detail::runtime {

/// A library's handle for a device, which is current during construction and destruction, as libraries require.
template <class T, auto Create, auto Destroy>
class handle {
 public:
  /// @param demand throws if the result of `Create` is an error
  template <class Demand>
  handle(memory_and_order const& of, Demand const& demand) : device_(of.number()) {
    current_device const here(device_);
    demand(Create(&it_));
  }
  handle(handle const&) = delete;
  handle& operator=(handle const&) = delete;
  ~handle() {
    try {
      current_device const here(device_);
      static_cast<void>(Destroy(it_));
    } catch (tutti::cuda::error const&) {  // a device that has failed holds no resources
    }
  }

  [[nodiscard]] T get() const noexcept { return it_; }

 private:
  int device_;
  T it_ = nullptr;
};

}  // namespace tutti::nn::detail::runtime
