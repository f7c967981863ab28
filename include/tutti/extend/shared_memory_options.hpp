// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0 {

/// Sizes of the shared memory through which messages are copied, and from which buffers may be allocated. Rank 0's
/// apply to all.
struct shared_memory_options {
  static constexpr std::size_t as_suits = SIZE_MAX;  ///< the transport chooses

  /// Bytes copied at a time; a multiple of 64. By default 64 KiB, or 128 KiB if oversubscribed.
  std::size_t chunk_bytes = as_suits;
  /// Bytes per rank, beside one chunk per lane; a multiple of 64. By default 2 MiB, or 1 MiB if oversubscribed.
  std::size_t ring_bytes = as_suits;
  /// Limit for the buffers of one rank's allocators, in this world and all communicators split from it.
  std::size_t arena_bytes = SIZE_MAX;
  /// From this many bytes on, the receiver copies a message that is only moved (broadcast, send) out of the sender's
  /// ordinary memory, if the system allows it. SIZE_MAX: never.
  std::size_t attach_from = std::size_t{64} << 20;
};

}  // namespace tutti
