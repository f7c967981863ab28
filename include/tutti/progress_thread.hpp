// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/expects.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Marks that this thread calls a posted function, which does not wait for room in the queue.
class posted_function {
 public:
  posted_function() noexcept : outer_(std::exchange(is_current_, true)) {}
  posted_function(posted_function const&) = delete;
  posted_function& operator=(posted_function const&) = delete;
  ~posted_function() { is_current_ = outer_; }

  /// True if this thread calls such a function.
  [[nodiscard]] static bool is_current() noexcept { return is_current_; }

 private:
  static constinit inline thread_local bool is_current_ = false;

  bool outer_;
};

}  // namespace detail

/// A thread that advances the operations of a communicator while the owner computes, and starts the
/// operations that other threads post.
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
/// In a program whose threads all have something to send, none of them has the communicator:
///
///     std::future<void> const done = background.post([&] { return sum.start(bucket); });  // in any thread
///     done.get();                                                                          // throws its error
///
/// Operations start in the order of posting, so all ranks must post the same operations in the same order: one thread
/// of each rank posts, or threads agree on their turns, or each has a communicator (`dup`) and a progress_thread.
///
/// @pre it ends before the owner uses the communicator without the lock, and no thread posts while it ends
/// @throws std::system_error if the system refuses a thread; failures of operations are thrown by their requests
///
/// Cost: a thread, which spins briefly and then sleeps on the transport's descriptor; a few allocations a `post`.
/// Thread safety: as the communicator, with the lock; `post` may be called by any thread.
template <class Communicator>
class progress_thread {
 public:
  /// Starts the thread, which holds a handle of the communicator.
  /// @param capacity the number of posted operations that may be open at a time: not started, or not ended
  /// @throws precondition_error if it is 0
  explicit progress_thread(Communicator& world, std::size_t capacity = 64)
      : world_(world.alias()),
        capacity_(
            (expects(capacity != 0, "progress_thread: a capacity of 0 lets nobody post; give it 1 or more"), capacity)),
        thread_([this] { run(); }) {}
  progress_thread(progress_thread const&) = delete;
  progress_thread& operator=(progress_thread const&) = delete;
  /// Waits until all posted operations have ended, by success, an error or their deadline, and ends the thread.
  ~progress_thread() {
    stopping_.store(true, std::memory_order_relaxed);
    wake();
    thread_.join();
    {
      detail::exclusion const turn(detail::access::state(world_));
      detail::access::state(world_).claim();
    }
    while (!tasks_.empty()) {  // the thread has ended early
      tasks_.front()->pending.cancel();
    }
  }

  /// Has the thread call `start()`, which starts an operation and returns its request, and then `on_end` with its error
  /// or null. `on_end` also gets an exception of `start`. After a failure, all that is posted ends with the same
  /// reason, as all calls on that communicator.
  ///
  /// `on_end` is called without the lock, so it may take the lock and run operations; the next `on_end` waits for it.
  /// `start` is called with the lock. Waits while as many operations are open as the thread has capacity for. A `start`
  /// or an `on_end` may post, too, and never waits; an `on_end`, which must not throw, catches the exceptions of such a
  /// post.
  ///
  /// @pre the caller does not hold the lock of `pause()`; `on_end` does not throw, which its type says (noexcept)
  /// @throws precondition_error if the thread has ended because another one used the communicator without the lock;
  /// std::bad_alloc
  template <std::invocable Start, class F>
    requires std::same_as<std::invoke_result_t<Start&>, request> && std::is_nothrow_invocable_v<F&, std::exception_ptr>
  void post(Start start, F on_end) {
    struct functions final : task {
      functions(Start&& to_start, F&& to_end) : start(std::move(to_start)), on_end(std::move(to_end)) {}
      request begin() override { return start(); }
      void end(std::exception_ptr cause) noexcept override { on_end(std::move(cause)); }
      Start start;
      F on_end;
    };
    enqueue(std::make_unique<functions>(std::move(start), std::move(on_end)));
  }

  /// Does the same, and returns a future that is ready when the operation has ended, and throws its error.
  /// @throws precondition_error like the other `post`
  template <std::invocable Start>
    requires std::same_as<std::invoke_result_t<Start&>, request>
  [[nodiscard]] std::future<void> post(Start start) {
    std::promise<void> result;
    std::future<void> future = result.get_future();
    post(std::move(start), [result = std::move(result)](std::exception_ptr cause) mutable noexcept {
      cause ? result.set_exception(std::move(cause)) : result.set_value();
    });
    return future;
  }

  /// Locks the thread out: the communicator is the caller's until the lock is released. Meanwhile no `on_end` is called
  /// and no future becomes ready.
  [[nodiscard]] std::unique_lock<std::mutex> pause() {
    claims_.fetch_add(1, std::memory_order_relaxed);  // otherwise, the thread would take the mutex again at once
    std::unique_lock lock(mutex_);
    claims_.fetch_sub(1, std::memory_order_relaxed);
    return lock;
  }

 private:
  /// A posted operation.
  struct task {
    task() = default;
    task(task const&) = delete;
    task& operator=(task const&) = delete;
    virtual ~task() = default;
    virtual request begin() = 0;
    virtual void end(std::exception_ptr cause) noexcept = 0;
    request pending;
    std::exception_ptr result;  ///< the error of an operation that has ended, or null
  };
  using task_list = std::list<std::unique_ptr<task>>;

  void wake() const noexcept {
    std::uint64_t const increment = 1;
    // Fails only if the count is full, and then the descriptor is readable.
    [[maybe_unused]] auto const result = ::write(wake_event_.get(), &increment, sizeof increment);
  }

  void enqueue(std::unique_ptr<task> next) {
    task_list item;
    item.push_back(std::move(next));
    {
      std::unique_lock lock(queue_mutex_);
      has_room_.wait(lock,
                     [&] { return open_count_ < capacity_ || detail::posted_function::is_current() || refusal_; });
      if (refusal_) {
        std::rethrow_exception(refusal_);
      }
      ++open_count_;
      queue_.splice(queue_.end(), item);
    }
    wake();
  }

  /// Starts what was posted, in its order. Returns true if there was something.
  bool start_posted() {
    task_list batch;
    {
      std::lock_guard const lock(queue_mutex_);
      batch.swap(queue_);
    }
    bool const has_work = !batch.empty();
    while (!batch.empty()) {
      auto const place = batch.begin();
      tasks_.splice(tasks_.end(), batch, place);
      std::exception_ptr refusal;
      try {
        {
          detail::posted_function const mark;
          (*place)->pending = (*place)->begin();
        }
        if ((*place)->pending.valid()) {
          (*place)->pending.on_end([this, place](std::exception_ptr cause) noexcept { end(place, std::move(cause)); });
          continue;
        }
      } catch (...) {
        refusal = std::current_exception();
      }
      end(place, std::move(refusal));  // it could not start, or has run to its end
    }
    return has_work;
  }
  /// Notes the end of a posted operation, for the thread to report it. Called by the thread that advances it, which has
  /// the lock; after the thread has ended, by any, and reports it at once.
  void end(typename task_list::iterator place, std::exception_ptr cause) noexcept {
    request const released_here = std::move((*place)->pending);  // under the lock
    (*place)->result = std::move(cause);
    task_list own_task;
    own_task.splice(own_task.end(), tasks_, place);
    {
      std::lock_guard const lock(queue_mutex_);
      if (!refusal_) {
        ends_.splice(ends_.end(), own_task);
      }
    }
    if (!own_task.empty()) {
      report(std::move(own_task));
    } else if (std::this_thread::get_id() != id_) {
      wake();
    }
  }
  /// Reports the ends of operations. Returns true if there were some.
  bool report_ended() noexcept {
    task_list batch;
    {
      std::lock_guard const lock(queue_mutex_);
      batch.swap(ends_);
    }
    bool const has_ended = !batch.empty();
    report(std::move(batch));
    return has_ended;
  }
  void report(task_list batch) noexcept {
    for (; !batch.empty(); batch.pop_front()) {
      {
        std::lock_guard const lock(queue_mutex_);
        --open_count_;
      }
      has_room_.notify_one();
      detail::posted_function const mark;
      batch.front()->end(std::move(batch.front()->result));
    }
  }

  void run() {
    id_ = std::this_thread::get_id();
    try {
      drive();
    } catch (precondition_error const&) {
      // The owner has used the communicator without the lock, and gets the error there. The operations under way end
      // when the last thread leaves the communicator.
      task_list waiting;
      {
        std::lock_guard const lock(queue_mutex_);
        refusal_ = std::current_exception();
        waiting.swap(queue_);
      }
      has_room_.notify_all();
      report_ended();
      for (auto const& each_task : waiting) {
        each_task->end(refusal_);
      }
    }
  }
  [[nodiscard]] bool is_done() {
    std::lock_guard const lock(queue_mutex_);
    return open_count_ == 0;
  }
  void drive() {
    constexpr int busy_rounds = 200;
    int idle = 0;
    int rounds_to_look = busy_rounds;
    time_point last_look{};
    auto const look = [&] {
      rounds_to_look = busy_rounds;
      if (time_point const now = world_.transport().now(); now - last_look >= detail::between_looks) {
        last_look = now;
        detail::access::state(world_).probe();
      }
    };
    while (!stopping_.load(std::memory_order_relaxed) || !is_done()) {
      if (claims_.load(std::memory_order_relaxed) != 0) {
        std::this_thread::yield();
        continue;
      }
      int handle = -1;
      {
        std::lock_guard const lock(mutex_);
        idle = start_posted() ? 0 : idle;
        world_.poll();
        if (++idle >= busy_rounds) {
          detail::exclusion const turn(detail::access::state(world_));
          handle = world_.transport().arm();
          world_.poll();
        } else if (--rounds_to_look == 0) {
          look();
        }
      }
      if (report_ended()) {
        idle = 0;
      }
      if (handle < 0) {
        std::this_thread::yield();
        continue;
      }
      // The owner's own wait may consume the wake-up, hence the short time-out.
      std::array waiting{::pollfd{.fd = handle, .events = POLLIN, .revents = 0},
                         ::pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0}};
      if (::poll(waiting.data(), waiting.size(), 1) > 0) {
        idle = 0;
        std::uint64_t count = 0;
        [[maybe_unused]] auto const result = ::read(wake_event_.get(), &count, sizeof count);
      }
      std::lock_guard const lock(mutex_);
      {
        detail::exclusion const turn(detail::access::state(world_));
        detail::access::state(world_).claim();  // the owner may have started operations
        world_.transport().disarm();
      }
      look();
    }
  }

  Communicator world_;
  std::mutex mutex_;
  std::atomic<int> claims_{0};
  std::atomic<bool> stopping_{false};
  task_list tasks_;  ///< posted operations under way
  std::size_t const capacity_;
  /// Ends a sleep. Without it, if there are no descriptors left, a sleep ends by itself after a millisecond.
  detail::descriptor wake_event_{[] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }};
  std::mutex queue_mutex_;  ///< guards the members below
  std::condition_variable has_room_;
  task_list queue_;             ///< posted operations that have not started
  task_list ends_;              ///< posted operations whose end is not reported
  std::size_t open_count_ = 0;  ///< posted operations whose end is not reported
  std::exception_ptr refusal_;  ///< the reason why the thread has ended; null: it runs
  std::thread::id id_;          ///< the thread's own, set before it starts an operation
  std::thread thread_;
};

}  // namespace tutti
