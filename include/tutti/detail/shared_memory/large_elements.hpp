// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/message.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Assembles elements that are longer than a chunk and so arrive in parts, one element at a time for each peer and
/// lane. No part belongs to two elements.
///
/// Cost: a buffer of one element for each peer and lane that ever had one.
class large_elements {
 public:
  explicit large_elements(rank_type size) : assemblies_(std::size_t{size} * lane_count) {}

  /// Shows the next element, or several whole ones that arrive in one piece. `view_part()` shows the next bytes of the
  /// message, `release_part()` releases them. The last part of an element is released with the element.
  template <class ViewPart, class ReleasePart>
  [[nodiscard]] chunk view(rank_type peer, std::uint32_t lane, std::size_t granule, ViewPart&& view_part,
                           ReleasePart&& release_part) {
    assembly& a = assembly_of(peer, lane);
    while (a.received_bytes != granule) {
      chunk const part = view_part();
      if (!part || (a.received_bytes == 0 && part.bytes % granule == 0)) {
        return part;
      }
      if (a.capacity < granule) {
        a.bytes = owned_array<std::byte>(granule);
        a.capacity = granule;
      }
      element_count_ += a.received_bytes == 0 ? 1 : 0;
      std::memcpy(a.bytes.get() + a.received_bytes, part.data, part.bytes);
      a.received_bytes += part.bytes;
      if (a.received_bytes != granule) {
        release_part();
      }
    }
    return {a.bytes.get(), granule};
  }

  /// Ends the use of what was viewed.
  void release(rank_type peer, std::uint32_t lane) noexcept {
    if (element_count_ != 0) [[unlikely]] {
      assembly& a = assembly_of(peer, lane);
      element_count_ -= a.received_bytes != 0 ? 1 : 0;
      a.received_bytes = 0;
    }
  }

 private:
  struct assembly {
    owned_array<std::byte> bytes;
    std::size_t capacity = 0;
    std::size_t received_bytes = 0;
  };

  [[nodiscard]] assembly& assembly_of(rank_type peer, std::uint32_t lane) noexcept {
    return assemblies_[std::size_t{peer} * lane_count + lane];
  }

  owned_array<assembly> assemblies_;
  std::size_t element_count_ = 0;  ///< elements that are here in part or whole
};

}  // namespace tutti::detail::shared_memory
