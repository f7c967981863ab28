// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>

#include <atomic>
#include <mutex>
#include <poll.h>
#include <thread>

namespace tutti::inline v0_1_0 {

/// A thread that advances the operations of a communicator while the owner computes.
///
///     auto pending = sum.start(bucket);
///     {
///       tutti::progress_thread background{world};
///       compute();
///     }
///     pending.wait();
///
/// The communicator belongs to the thread, except while the lock of `pause()` is held. Starting, testing, cancelling
/// and destroying a request need the lock, too. Without arrivals the thread sleeps.
///
/// @pre it ends before the owner uses the communicator without the lock
/// @throws std::system_error if the system refuses a thread; failures of operations are thrown by their requests
///
/// Cost: a thread, which spins briefly and then sleeps on the transport's descriptor.
/// Thread safety: as the communicator, with the lock.
template <class Communicator>
class progress_thread {
 public:
  /// Starts the thread, which holds a handle of the communicator.
  explicit progress_thread(Communicator& world) : world_(world.alias()), thread_([this] { run(); }) {}
  progress_thread(progress_thread const&) = delete;
  progress_thread& operator=(progress_thread const&) = delete;
  ~progress_thread() {
    stopping_.store(true, std::memory_order_relaxed);
    thread_.join();
    detail::access::state(world_).claim();
  }

  /// Locks the thread out: the communicator is the caller's until the lock is released.
  [[nodiscard]] std::unique_lock<std::mutex> pause() {
    claims_.fetch_add(1, std::memory_order_relaxed);  // otherwise, the thread would take the mutex again at once
    std::unique_lock lock(mutex_);
    claims_.fetch_sub(1, std::memory_order_relaxed);
    return lock;
  }

 private:
  void run() {
    try {
      drive();
    } catch (precondition_error const&) {
      // The owner has used the communicator without the lock, and gets the error there.
    }
  }
  void drive() {
    constexpr int busy_rounds = 200;
    int idle = 0;
    time_point last_look{};
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (claims_.load(std::memory_order_relaxed) != 0) {
        std::this_thread::yield();
        continue;
      }
      int handle = -1;
      {
        std::lock_guard const lock(mutex_);
        world_.poll();
        if (++idle >= busy_rounds) {
          handle = world_.transport().arm();
          world_.poll();
        }
      }
      if (handle < 0) {
        std::this_thread::yield();
        continue;
      }
      // The owner's own wait may consume the wake-up, hence the short time-out.
      ::pollfd waiting{.fd = handle, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 1) > 0) {
        idle = 0;
      }
      std::lock_guard const lock(mutex_);
      detail::access::state(world_).claim();  // the owner may have started operations
      world_.transport().disarm();
      if (time_point const now = world_.transport().now(); now - last_look >= detail::between_looks) {
        last_look = now;
        detail::access::state(world_).probe();
      }
    }
  }

  Communicator world_;
  std::mutex mutex_;
  std::atomic<int> claims_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tutti
