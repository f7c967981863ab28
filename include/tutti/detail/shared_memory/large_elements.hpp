// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/message.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Elements that are longer than what is copied at a time come in parts, and their receiver puts them together again:
/// one after the other, of each peer and lane. No part belongs to two elements.
///
/// What fits a chunk does not come here. Cost: a buffer of one element for each peer and lane where one came.
class large_elements {
 public:
  explicit large_elements(rank_type size) : assemblies_(std::size_t{size} * lane_count) {}

  /// The next element, or the next whole ones if they come in one piece. `next()` views what has come of the message,
  /// `done()` releases it. The last part of an element is released when the element is.
  template <class Next, class Done>
  [[nodiscard]] chunk view(rank_type from, std::uint32_t lane, std::size_t granule, Next&& next, Done&& done) {
    assembly& a = of(from, lane);
    while (a.complete != granule) {
      chunk const part = next();
      if (!part || (a.complete == 0 && part.bytes % granule == 0)) {
        return part;
      }
      if (a.room < granule) {
        a.bytes = owned_array<std::byte>(granule);
        a.room = granule;
      }
      begun_ += a.complete == 0 ? 1 : 0;
      std::memcpy(a.bytes.get() + a.complete, part.data, part.bytes);
      a.complete += part.bytes;
      if (a.complete != granule) {
        done();
      }
    }
    return {a.bytes.get(), granule};
  }

  /// What was viewed is no longer needed.
  void release(rank_type from, std::uint32_t lane) noexcept {
    if (begun_ != 0) [[unlikely]] {
      assembly& a = of(from, lane);
      begun_ -= a.complete != 0 ? 1 : 0;
      a.complete = 0;
    }
  }

 private:
  struct assembly {
    owned_array<std::byte> bytes;
    std::size_t room = 0;
    std::size_t complete = 0;  ///< bytes of the element that have come
  };

  [[nodiscard]] assembly& of(rank_type from, std::uint32_t lane) noexcept {
    return assemblies_[std::size_t{from} * lane_count + lane];
  }

  owned_array<assembly> assemblies_;
  std::size_t begun_ = 0;  ///< how many elements are here in part or whole
};

}  // namespace tutti::detail::shared_memory
