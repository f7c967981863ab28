// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/device_span.hpp>

#include <utility>
#include <vector>

namespace laws {

/// Elements in memory of a device that has streams of that type, as a test makes and reads them. Those of a model lie
/// on the host.
template <class T, class Stream>
class device_array {
 public:
  device_array(std::vector<T> v, Stream const&) : all_(std::move(v)) {}

  [[nodiscard]] tutti::device_span<T> span() const { return {all_.data(), all_.size()}; }
  /// @pre all has run that writes there
  [[nodiscard]] std::vector<T> const& values(Stream const&) const { return all_; }

 private:
  mutable std::vector<T> all_;
};

}  // namespace laws
