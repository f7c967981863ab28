// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/device_array.hpp>
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/stream.hpp>

#include <vector>

namespace laws {

/// An array on CUDA's current device. Its memory is kept until the program ends: freeing waits for the whole device,
/// and a leaving rank would wait for ranks that wait for it.
template <class T>
class device_array<T, tutti::cuda::stream> {
 public:
  device_array(std::vector<T> const& v, tutti::cuda::stream const& stream)
      : array_(new tutti::cuda::array<T>(v.size())) {
    array_->copy_from(v, stream);
    stream.wait();
  }

  [[nodiscard]] tutti::device_span<T> span() const { return array_->span(); }
  [[nodiscard]] std::vector<T> values(tutti::cuda::stream const& stream) const {
    std::vector<T> values(array_->size());
    array_->copy_to(values, stream);
    stream.wait();
    return values;
  }

 private:
  tutti::cuda::array<T>* array_;
};

}  // namespace laws
