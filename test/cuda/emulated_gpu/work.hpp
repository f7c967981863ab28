// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace emulated_gpu {

/// Reads an integer from the environment.
[[nodiscard]] inline unsigned setting(char const* name, unsigned fallback) {
  char const* const text = std::getenv(name);
  return text == nullptr ? fallback : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// The time after which a wait of the host is treated as endless.
[[nodiscard]] inline std::chrono::seconds patience() {
  return std::chrono::seconds(setting("EMULATED_GPU_PATIENCE", 120));
}

using clock = std::chrono::steady_clock;

/// The state of a piece of work.
struct completion {
  bool is_done = false;
  clock::time_point time{};
};
using completion_ptr = std::shared_ptr<completion>;

/// A hardware queue. Streams of one priority are assigned to queues in turn. The first work in a queue keeps the rest
/// from beginning until it has begun.
struct hardware_queue {
  std::uint64_t enqueue_count = 0;
  std::uint64_t begin_count = 0;
};

struct device_state {
  int number = 0;
  device_memory memory;
  unsigned multiprocessors = 0;
  unsigned free_multiprocessors = 0;                  ///< each runs one block at a time
  unsigned kernels = 0;                               ///< running or enqueued
  std::set<void const*> loaded_kernels;               ///< functions of loaded kernels
  std::vector<bool> reachable;                        ///< accessible devices
  std::array<std::vector<hardware_queue>, 2> queues;  ///< for either priority
  std::array<unsigned, 2> streams{};
  unsigned long long stream_count = 0;
  std::set<completion_ptr> pending;
  std::vector<cudaStream_t> blocking;  ///< streams that synchronise with the default one
  cudaStream_t default_stream = nullptr;
};

/// State of the process. Never destroyed: threads of streams live as long as the process.
struct machine {
  std::mutex mutex;
  std::condition_variable change;
  memory_map memory;
  std::vector<std::unique_ptr<device_state>> devices;
  unsigned freeing = 0;  ///< calls that free memory; they delay copies
  std::minstd_rand seeds{setting("EMULATED_GPU_SEED", 1)};
  std::atomic<bool> is_used = false;
  std::atomic<bool> is_inherited = false;  ///< true in a forked child, which cannot use its parent's devices

  [[nodiscard]] static machine& get() {
    static machine* const instance = new machine;
    return *instance;
  }
  [[nodiscard]] device_state& device(int number) { return *devices.at(static_cast<std::size_t>(number)); }

 private:
  machine() {
    unsigned const count = setting("EMULATED_GPUS", 1);
    unsigned const queues = std::max(1U, setting("CUDA_DEVICE_MAX_CONNECTIONS", 8));
    for (unsigned d = 0; d != count; ++d) {
      auto& device = *devices.emplace_back(std::make_unique<device_state>());
      device.number = static_cast<int>(d);
      device.multiprocessors = device.free_multiprocessors = setting("EMULATED_GPU_MULTIPROCESSORS", 16);
      device.reachable.resize(count);
      for (auto& q : device.queues) {
        q.resize(queues);
      }
    }
  }
};

/// A node of a graph: work that runs after other nodes.
struct graph_node {
  std::function<void()> run;
  std::set<std::size_t> predecessors;
};

/// A captured stream, and the streams that have joined it.
struct capture_state {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  bool is_valid = true;
  bool has_ended = false;
  std::vector<graph_node> nodes;
  std::set<cudaStream_t> streams;  ///< includes the first stream
};

}  // namespace emulated_gpu

struct CUevent_st {
  int device = 0;
  unsigned flags = 0;
  emulated_gpu::completion_ptr work;
  std::shared_ptr<emulated_gpu::capture_state> capture;  ///< the capture that recorded it last
  std::set<std::size_t> predecessors;                    ///< nodes of the capture
};

struct CUgraph_st {
  std::vector<emulated_gpu::graph_node> nodes;
};
struct CUgraphExec_st {
  std::vector<emulated_gpu::graph_node> nodes;
  emulated_gpu::completion_ptr last;  ///< serialises runs of the graph
};

/// A thread that does one piece of work after the other.
struct CUstream_st {
  using work = std::function<void()>;

  CUstream_st(emulated_gpu::device_state& owner, unsigned with_flags, unsigned with_priority)
      : device(owner),
        flags(with_flags),
        priority(with_priority),
        number(++owner.stream_count),
        queue(owner.queues[with_priority][owner.streams[with_priority]++ % owner.queues[with_priority].size()]) {
    std::thread([this] { run(); }).detach();
  }

  /// Enqueues work. @param begin waits for earlier work
  /// @pre The machine's mutex is held.
  emulated_gpu::completion_ptr enqueue(work begin, work body);
  /// Ends the thread after its last work. @pre The machine's mutex is held.
  void end();

  emulated_gpu::device_state& device;
  unsigned const flags;
  unsigned const priority;
  unsigned long long const number;  ///< unique on the device, also later
  emulated_gpu::completion_ptr last;
  std::shared_ptr<emulated_gpu::capture_state> capture;
  std::set<std::size_t> predecessors;  ///< nodes of the capture

 private:
  struct piece {
    work begin;
    work body;
    emulated_gpu::completion_ptr state;
    std::uint64_t number;  ///< position in the hardware queue
    bool is_end;
  };

  void run();
  void run(piece const& next);

  emulated_gpu::hardware_queue& queue;
  std::deque<piece> pieces;
};

namespace emulated_gpu {

class launch;

/// Waits in a stream. @param c null: returns at once
void wait_for(completion_ptr const& c);
/// Runs a kernel: at most one block on each multiprocessor, each a few instructions at a time, in random order.
void run_kernel(device_state& device, launch const& kernel_launch);
/// Counts a kernel of the device as done.
void kernel_has_run(device_state& d);

}  // namespace emulated_gpu
