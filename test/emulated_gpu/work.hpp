// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch.hpp"
#include "memory.hpp"

#include <array>
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

/// What a whole number in the environment says.
[[nodiscard]] inline unsigned setting(char const* name, unsigned otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

using clock = std::chrono::steady_clock;

/// Whether a piece of work has been done.
struct completion {
  bool done = false;
  clock::time_point at{};
};
using completion_ptr = std::shared_ptr<completion>;

/// Streams of one priority are put into queues of the device in turns. What is first in a queue keeps the others from
/// beginning until it has begun.
struct hardware_queue {
  std::uint64_t put = 0;
  std::uint64_t begun = 0;
};

struct device_state {
  int number = 0;
  device_memory memory;
  unsigned multiprocessors = 0;
  unsigned free_multiprocessors = 0;                  ///< each runs one block at a time
  unsigned kernels = 0;                               ///< that run, or have been put into streams
  std::set<void const*> loaded;                       ///< kernels' functions
  std::vector<bool> reaches;                          ///< other devices
  std::array<std::vector<hardware_queue>, 2> queues;  ///< of either priority
  std::array<unsigned, 2> streams{};
  std::vector<cudaStream_t> blocking;  ///< streams that wait for the default one
  cudaStream_t default_stream = nullptr;
};

/// What all of the process have in common. Never destroyed: threads of streams live as long as the process.
struct machine {
  std::mutex mutex;
  std::condition_variable changed;
  memory_map memory;
  std::vector<std::unique_ptr<device_state>> devices;
  std::minstd_rand seeds{setting("EMULATED_GPU_SEED", 1)};
  bool used = false;
  bool of_a_parent = false;  ///< which has used it: a forked child has no devices

  [[nodiscard]] static machine& get() {
    static machine* const one = new machine;
    return *one;
  }
  [[nodiscard]] device_state& device(int number) { return *devices.at(static_cast<std::size_t>(number)); }

 private:
  machine() {
    unsigned const count = setting("EMULATED_GPUS", 1);
    unsigned const queues = std::max(1U, setting("CUDA_DEVICE_MAX_CONNECTIONS", 8));
    for (unsigned d = 0; d != count; ++d) {
      auto& one = *devices.emplace_back(std::make_unique<device_state>());
      one.number = static_cast<int>(d);
      one.multiprocessors = one.free_multiprocessors = setting("EMULATED_GPU_MULTIPROCESSORS", 16);
      one.reaches.resize(count);
      for (auto& q : one.queues) {
        q.resize(queues);
      }
    }
  }
};

/// In an order, after others: a piece of work of a graph.
struct graph_node {
  std::function<void(device_state&)> run;
  std::set<std::size_t> after;
};

/// A stream that is being captured, with those that have joined it.
struct capture_state {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id by;
  cudaStream_t origin = nullptr;
  bool valid = true;
  std::vector<graph_node> nodes;
  std::set<cudaStream_t> joined;
};

}  // namespace emulated_gpu

struct CUevent_st {
  int device = 0;
  emulated_gpu::completion_ptr recorded;
  std::shared_ptr<emulated_gpu::capture_state> capture;  ///< in which it was recorded last
  std::set<std::size_t> after;                           ///< nodes of that
};

struct CUgraph_st {
  std::vector<emulated_gpu::graph_node> nodes;
};
struct CUgraphExec_st {
  std::vector<emulated_gpu::graph_node> nodes;
};

/// A thread that does one piece of work after the other.
struct CUstream_st {
  using work = std::function<void()>;

  CUstream_st(emulated_gpu::device_state& of, unsigned with_flags, unsigned with_priority)
      : device(of),
        flags(with_flags),
        priority(with_priority),
        queue(of.queues[with_priority][of.streams[with_priority]++ % of.queues[with_priority].size()]) {
    std::thread([this] { run(); }).detach();
  }

  /// Puts work into it; the machine's mutex is held. @param begin what it waits for
  emulated_gpu::completion_ptr put(work begin, work body) {
    last = std::make_shared<emulated_gpu::completion>();
    all.push_back({std::move(begin), std::move(body), last, queue.put++, false});
    emulated_gpu::machine::get().changed.notify_all();
    return last;
  }
  /// It goes when its work is done; the machine's mutex is held.
  void end() {
    all.push_back({nullptr, nullptr, nullptr, 0, true});
    emulated_gpu::machine::get().changed.notify_all();
  }
  [[nodiscard]] bool is_done() const { return last == nullptr || last->done; }

  emulated_gpu::device_state& device;
  unsigned const flags;
  unsigned const priority;
  emulated_gpu::completion_ptr last;
  std::shared_ptr<emulated_gpu::capture_state> capture;
  std::set<std::size_t> after;  ///< nodes of the capture

 private:
  struct piece {
    work begin;
    work body;
    emulated_gpu::completion_ptr done;
    std::uint64_t number;  ///< in the queue
    bool is_end;
  };

  void run() {
    auto& m = emulated_gpu::machine::get();
    while (true) {
      std::unique_lock lock(m.mutex);
      m.changed.wait(lock, [&] { return !all.empty(); });
      piece one = std::move(all.front());
      all.pop_front();
      if (one.is_end) {
        lock.unlock();
        delete this;
        return;
      }
      m.changed.wait(lock, [&] { return queue.begun == one.number; });
      lock.unlock();
      if (one.begin) {
        one.begin();
      }
      lock.lock();
      ++queue.begun;
      m.changed.notify_all();
      lock.unlock();
      if (one.body) {
        one.body();
      }
      lock.lock();
      one.done->done = true;
      one.done->at = emulated_gpu::clock::now();
      m.changed.notify_all();
    }
  }

  emulated_gpu::hardware_queue& queue;
  std::deque<piece> all;
};

namespace emulated_gpu {

inline void wait_for(completion_ptr const& c) {
  auto& m = machine::get();
  std::unique_lock lock(m.mutex);
  m.changed.wait(lock, [&] { return c->done; });
}

/// Runs a kernel: as many of its blocks at a time as there are multiprocessors for, each a piece at a time, in an order
/// that is drawn.
inline void run_kernel(device_state& on, launch const& what) {
  auto& m = machine::get();
  block_state where;
  where.memory = &m.memory;
  where.device = on.number;
  where.may_reach = [](int from, int to) {
    auto& all = machine::get();
    std::scoped_lock const lock(all.mutex);
    return from == to || all.device(from).reaches[static_cast<std::size_t>(to)];
  };
  std::vector<block> resident;
  std::uint64_t next = 0;
  std::minstd_rand order;
  {
    std::scoped_lock const lock(m.mutex);
    order.seed(m.seeds());
  }
  while (next != what.blocks() || !resident.empty()) {
    {
      std::unique_lock lock(m.mutex);
      if (resident.empty()) {
        m.changed.wait(lock, [&] { return on.free_multiprocessors != 0; });
      }
      for (; next != what.blocks() && on.free_multiprocessors != 0; ++next) {
        --on.free_multiprocessors;
        resident.push_back(what.make_block(next, static_cast<std::uint32_t>(order()), where));
      }
    }
    bool moves = false;
    std::shuffle(resident.begin(), resident.end(), order);
    for (std::size_t b = 0; b != resident.size();) {
      block::state const s = resident[b].run();
      moves = moves || s != block::state::idles;
      if (s == block::state::ended) {
        std::swap(resident[b], resident.back());
        resident.pop_back();
        std::scoped_lock const lock(m.mutex);
        ++on.free_multiprocessors;
        m.changed.notify_all();
      } else {
        ++b;
      }
    }
    if (!moves) {
      std::this_thread::yield();
    }
  }
}

}  // namespace emulated_gpu
