// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0 {

/// Sizes of the shared memory that messages are copied through and that buffers may be taken from. Rank 0's counts.
struct shared_memory_options {
  static constexpr std::size_t as_suits = SIZE_MAX;  ///< left to the transport

  /// Bytes that are copied at a time; a multiple of 64. Unless set, 64 KiB, or 128 KiB among more ranks than cores.
  std::size_t chunk_bytes = as_suits;
  /// Per rank, besides one chunk per lane; a multiple of 64. Unless set, 2 MiB, or 1 MiB among more ranks than cores.
  std::size_t ring_bytes = as_suits;
  /// Limit for the buffers of one rank's allocators, in this world and all that is split from it.
  std::size_t arena_bytes = SIZE_MAX;
  /// Messages in ordinary memory that are only moved (broadcast, send) are copied from this many bytes on by
  /// their receiver out of the sender's memory, if the system allows it. SIZE_MAX: never.
  std::size_t attach_from = std::size_t{64} << 20;
};

}  // namespace tutti
