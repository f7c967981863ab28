// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <models/exported_memory.hpp>
#include <models/thread_groups.hpp>
#include <tutti/cuda/detail/device/driver.hpp>
#include <tutti/cuda/detail/device/kernels.hpp>
#include <tutti/cuda/detail/device/launcher.hpp>
#include <tutti/cuda/detail/device/peers.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/device_span.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

/// A device on the host: its memory is the host's, its kernels are threads, and its streams run them one by one.
namespace models {

/// The jobs of a stream, in order; a job is removed when it has ended.
class device_stream {
 public:
  using job = std::function<void()>;

  static inline std::atomic<std::size_t> under_way = 0;  ///< jobs of all streams
  static inline std::atomic<::pid_t> process = 0;        ///< the process in which jobs run; not a fork of it

  device_stream() : worker_([this] { work(); }) {}
  device_stream(device_stream const&) = delete;
  device_stream& operator=(device_stream const&) = delete;
  /// Runs the remaining jobs first.
  ~device_stream() {
    {
      std::lock_guard const hold(lock_);
      ends_ = true;
    }
    condition_.notify_all();
  }

  /// Runs the job later or, while a graph is recorded, keeps it.
  void enqueue(job j) const {
    std::lock_guard const hold(lock_);
    if (records_) {
      recorded_jobs_.push_back(std::move(j));
    } else {
      jobs_.push_back(std::move(j));
      process = ::getpid();
      ++under_way;
      condition_.notify_all();
    }
  }
  void record() const {
    std::lock_guard const hold(lock_);
    records_ = true;
  }
  [[nodiscard]] std::vector<job> recorded_jobs() const {
    std::lock_guard const hold(lock_);
    records_ = false;
    return std::exchange(recorded_jobs_, {});
  }
  [[nodiscard]] bool records() const {
    std::lock_guard const hold(lock_);
    return records_;
  }
  [[nodiscard]] bool is_done() const {
    std::lock_guard const hold(lock_);
    return jobs_.empty();
  }

 private:
  void work() {
    for (;;) {
      job now;
      {
        std::unique_lock hold(lock_);
        condition_.wait(hold, [this] { return ends_ || !jobs_.empty(); });
        if (jobs_.empty()) {
          return;
        }
        now = jobs_.front();
      }
      now();
      --under_way;
      std::lock_guard const hold(lock_);
      jobs_.pop_front();
    }
  }

  mutable std::mutex lock_;
  mutable std::condition_variable condition_;
  mutable std::deque<job> jobs_;
  mutable std::vector<job> recorded_jobs_;
  mutable bool records_ = false;
  bool ends_ = false;
  std::jthread worker_;
};

/// A driver of two devices, whose kernels have `threads` threads a group.
class host_driver {
 public:
  static constexpr std::string_view name = "host_peers";
  using stream_type = device_stream;
  static constexpr std::uint32_t threads = 2;

  [[nodiscard]] static int devices() { return 2; }
  explicit host_driver(int number) : number_(number) {}

  /// The number of bytes that an allocation may have, for tests of failures.
  static inline std::atomic<std::size_t> left = SIZE_MAX;
  static inline std::atomic<std::size_t> allocations = 0;
  static inline std::atomic<std::size_t> live_allocations = 0;  ///< allocations that have not been freed
  static inline std::atomic<std::size_t> kernels = 0;           ///< kernels that are running

  [[nodiscard]] std::byte* allocate(std::size_t bytes) const {
    if (bytes > left) {
      throw std::runtime_error("allocating " + std::to_string(bytes) + " bytes of device memory failed");
    }
    ++allocations;
    ++live_allocations;
    auto* const p = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(256)));
    std::memset(p, 0, bytes);
    return p;
  }
  [[nodiscard]] std::byte* allocate_for_all(std::size_t bytes) const { return allocate(bytes); }
  /// Waits for all kernels, as CUDA may.
  static void free(std::byte* p) noexcept {
    while (device_stream::process == ::getpid() && kernels != 0) {
      std::this_thread::yield();
    }
    --live_allocations;
    if (!exported_memory::free(p)) {
      ::operator delete(p, std::align_val_t(256));
    }
  }
  [[nodiscard]] std::byte* allocate_to_export(std::size_t bytes) const {
    ++allocations;
    ++live_allocations;
    return exported_memory::allocate(bytes);
  }
  [[nodiscard]] std::string export_memory(std::byte* p) const { return exported_memory::export_piece(p); }
  [[nodiscard]] std::byte* import_memory(std::string_view text) const { return exported_memory::import_piece(text); }
  void unmap(std::byte* p) const noexcept { exported_memory::free(p); }
  static void free_for_all(std::byte* p) noexcept { free(p); }

  void upload(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    copy(destination, source, bytes);
  }
  void download(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    copy(destination, source, bytes);
  }
  /// The only address that is not device memory, set by a test.
  static inline std::atomic<void const*> not_here = nullptr;
  [[nodiscard]] bool has(std::byte const* p) const noexcept { return p != not_here; }
  [[nodiscard]] std::string device() const { return "host " + std::to_string(number_); }
  [[nodiscard]] std::uint32_t groups() const noexcept { return 16; }
  void reach(std::string const&) const noexcept {}
  template <class Kernel>
  void load() const noexcept {}

  /// True if kernels shall not notice that they are late.
  static inline std::atomic<bool> clock_stands = false;
  template <class Kernel>
  void launch(stream_type const& stream, std::uint32_t groups, Kernel const& kernel, std::uint64_t limit) {
    auto const run = [=] {
      using clock = host_thread_group::clock;
      clock::time_point const last = limit == UINT64_MAX || clock_stands
                                         ? clock::time_point::max()
                                         : clock::now() + std::chrono::nanoseconds(limit);
      std::vector<thread_room> rooms(groups);
      ++kernels;
      {
        std::vector<std::jthread> workers;
        for (std::uint32_t g = 0; g != groups; ++g) {
          for (std::uint32_t t = 0; t != threads; ++t) {
            workers.emplace_back([&, g, t] { run_group(host_thread_group(rooms[g], t, threads, last), kernel, g); });
          }
        }
      }
      --kernels;
    };
    if (stream.records()) {
      stream.enqueue(run);
      return;
    }
    // Runs after all kernels that were launched before, in other streams, too.
    auto const end_mark = std::make_shared<std::atomic<bool>>(false);
    stream.enqueue([run, end_mark, previous_mark = std::exchange(last_, end_mark)] {
      if (previous_mark) {
        previous_mark->wait(false);
      }
      run();
      end_mark->store(true);
      end_mark->notify_all();
    });
  }
  [[nodiscard]] bool is_done(stream_type const& s) const { return s.is_done(); }
  /// Called if a rank leaves while its kernels are still running.
  static inline std::atomic<void (*)()> still_waits = nullptr;
  [[nodiscard]] bool is_idle() const {
    bool const idle = !last_ || *last_;
    if (void (*const tell)() = still_waits; !idle && tell != nullptr) {
      tell();
    }
    return idle;
  }

 private:
  /// Copies words atomically: kernels may be writing them.
  static void copy(std::byte* destination, std::byte const* source, std::size_t bytes) {
    if (bytes == sizeof(std::uint64_t)) {
      auto* const word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(source));
      std::atomic_ref(*reinterpret_cast<std::uint64_t*>(destination)).store(std::atomic_ref(*word).load());
    } else if (bytes != 0) {
      std::memcpy(destination, source, bytes);
    }
  }

  int number_;
  std::shared_ptr<std::atomic<bool>> last_;
};
static_assert(device::exports_memory<host_driver>);

/// A vector as device memory, which is the host's here.
template <class T>
[[nodiscard]] tutti::device_span<T> on_device(std::vector<T>& v) {
  return {v.data(), v.size()};
}

template <class Host>
using host_peers = device::peers<Host, host_driver>;

}  // namespace models
