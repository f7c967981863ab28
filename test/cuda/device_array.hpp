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
  device_array(std::vector<T> const& v, tutti::cuda::stream const& in) : all_(new tutti::cuda::array<T>(v.size())) {
    all_->copy_from(v, in);
    in.wait();
  }

  [[nodiscard]] tutti::device_span<T> span() const { return all_->span(); }
  [[nodiscard]] std::vector<T> values(tutti::cuda::stream const& in) const {
    std::vector<T> here(all_->size());
    all_->copy_to(here, in);
    in.wait();
    return here;
  }

 private:
  tutti::cuda::array<T>* all_;
};

}  // namespace laws
