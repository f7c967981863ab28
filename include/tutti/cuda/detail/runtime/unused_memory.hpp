// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/runtime/current_device.hpp>
#include <tutti/cuda/extend/error.hpp>
#include <tutti/detail/core/fork_guard.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <mutex>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::runtime {

/// CUDA memory that ranks of this process use or have returned.
///
/// CUDA frees memory only when the whole device is idle, and blocks copies of all other threads until then: a rank
/// that leaves would wait for kernels of the others, and prevent these from ending. So returned memory is kept for a
/// rank that wants as much, and is freed with the last rank of this process that uses a device.
///
/// CUDA cannot be used in a forked child; there, nothing is done.
class unused_memory {
 public:
  /// The device number of host memory, which all devices reach.
  static constexpr int host = -1;

  /// A rank that uses a device, for the lifetime of this object.
  class user {
   public:
    user() {
      std::lock_guard const hold(state().lock);
      ++state().users;
    }
    user(user const&) = delete;
    user& operator=(user const&) = delete;
    ~user() {
      if (fork_guard::forked_since(generation_)) {
        return;
      }
      std::lock_guard const hold(state().lock);
      if (--state().users == 0) {
        for (piece const& entry : state().pieces) {
          static_cast<void>(entry.device == host ? cudaFreeHost(entry.address) : cudaFree(entry.address));
        }
        state().pieces.clear();
      }
    }

   private:
    std::uint32_t generation_ = fork_guard::generation();
  };

  /// Returned memory of that device (or `host`) of that size, or a new piece from `make()`.
  template <class Make>
  [[nodiscard]] static std::byte* take(int device, std::size_t bytes, Make const& make) {
    {
      std::lock_guard const hold(state().lock);
      for (piece& entry : state().pieces) {
        if (entry.is_unused && entry.device == device && entry.bytes == bytes) {
          entry.is_unused = false;
          return entry.address;
        }
      }
    }
    std::byte* const memory = make();
    std::lock_guard const hold(state().lock);
    state().pieces.push_back({memory, bytes, device, false});
    return memory;
  }
  /// Returns memory from `take`.
  static void give_back(std::byte* p) noexcept {
    if (fork_guard::forked_since(state().generation)) {
      return;
    }
    std::lock_guard const hold(state().lock);
    for (piece& entry : state().pieces) {
      entry.is_unused = entry.is_unused || entry.address == p;
    }
  }

 private:
  struct piece {
    std::byte* address;
    std::size_t bytes;
    int device;
    bool is_unused;
  };
  struct process_state {
    std::mutex lock;
    std::uint32_t users = 0;
    std::vector<piece> pieces;
    std::uint32_t generation = fork_guard::generation();
  };

  /// Never destroyed, as ranks may end after static objects have.
  [[nodiscard]] static process_state& state() {
    static auto& entry = *new process_state;
    return entry;
  }
};

/// Pinned host memory, zeroed, that all devices read and write. Returned by `unused_memory::give_back`.
[[nodiscard]] inline std::byte* pinned_memory(std::size_t bytes) {
  relaxed_capture const capture_guard;
  std::byte* const memory = unused_memory::take(unused_memory::host, bytes, [bytes] {
    void* p = nullptr;
    examine(cudaHostAlloc(&p, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
            [bytes] { return "allocating " + std::to_string(bytes) + " bytes of host memory whose pages are pinned"; });
    return static_cast<std::byte*>(p);
  });
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace tutti::detail::runtime
