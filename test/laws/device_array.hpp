// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/device_span.hpp>

#include <utility>
#include <vector>

namespace laws {

/// Elements in the memory of a device with streams of this type, made and read by a test. In a model they are host
/// memory.
template <class T, class Stream>
class device_array {
 public:
  device_array(std::vector<T> v, Stream const&) : elements_(std::move(v)) {}

  [[nodiscard]] tutti::device_span<T> span() const { return {elements_.data(), elements_.size()}; }
  /// @pre all work that writes these elements has ended
  [[nodiscard]] std::vector<T> const& values(Stream const&) const { return elements_; }

 private:
  mutable std::vector<T> elements_;
};

}  // namespace laws
