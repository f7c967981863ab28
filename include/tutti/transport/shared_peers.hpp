// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/counted.hpp>
#include <tutti/transport/peer_memory.hpp>
#include <tutti/transport/peer_processes.hpp>

#include <atomic>

namespace tutti {

/// The processes of a shared_memory world, as one of them knows them: for that world and all that is split from it.
class shared_peers {
 public:
  static counted<shared_peers> create() { return counted<shared_peers>(new shared_peers); }

  peer_memory memory;
  peer_processes processes;

  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 private:
  shared_peers() noexcept = default;
  ~shared_peers() = default;

  std::atomic<std::uint32_t> holders_{1};
};

}  // namespace tutti
