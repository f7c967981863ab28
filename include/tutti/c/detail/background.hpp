// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/c/detail/requests.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/progress_thread.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace tutti::inline v0_1_0::detail::c {

/// The operations of a world that any thread may call. A call that waits runs in its own thread if nothing else is
/// open; all others are started by a thread of the library, in the order of the calls.
///
/// Collective operations run one after the other. The next one starts when the function at the end of the previous one
/// has returned, and what that function calls comes first. So all ranks have one order. Messages start at once.
template <class Communicator>
class background {
  struct task;

 public:
  enum class order : std::uint8_t { collective, message };

  explicit background(Communicator& world) : world_(world.alias()) {}
  background(background const&) = delete;
  background& operator=(background const&) = delete;
  /// Waits until all operations have ended.
  ~background() {
    std::unique_lock lock(mutex_);
    change_.wait(lock, [&] { return open_ == 0; });
  }

  /// Runs an operation. `run_now` does so in this thread, `start` returns its request.
  template <class Run, class Start>
  void run(order kind, Run run_now, Start start) {
    std::unique_lock lock(mutex_);
    if (open_ == 0 || is_in_end_function()) {
      run_here(lock, run_now);
      return;
    }
    auto const next = add(kind, [&start] { return start(); });
    change_.wait(lock, [&] { return next->has_ended; });
    next->throw_failure();
  }
  /// Runs a call that cannot be started, such as a split, after all that is open.
  template <class Run>
  void run_alone(Run run_now) {
    std::unique_lock lock(mutex_);
    expects(!is_in_end_function(), "a function at the end of an operation makes no worlds; let another thread do it");
    change_.wait(lock, [&] { return open_ == 0; });
    run_here(lock, run_now);
  }
  /// Starts an operation.
  [[nodiscard]] std::unique_ptr<tutti_request> start(order kind, std::function<request()> start) {
    std::unique_lock const lock(mutex_);
    return std::make_unique<posted_request>(*this, add(kind, std::move(start)));
  }

 private:
  struct task {
    task(order kind_of_task, std::function<request()> to_start) : kind(kind_of_task), start(std::move(to_start)) {}

    void throw_failure() const {
      if (cause) {
        std::rethrow_exception(cause);
      }
    }

    order kind;
    std::function<request()> start;
    bool has_ended = false;
    std::exception_ptr cause{};
    tutti_end end = nullptr;
    void* context = nullptr;
  };
  using task_pointer = std::shared_ptr<task>;

  /// An operation that the library's thread advances.
  class posted_request final : public tutti_request {
   public:
    posted_request(background& owner, task_pointer next) : owner_(owner), task_(std::move(next)) {}

    bool test() override { return wait(duration::zero()); }
    bool wait(duration limit) override {
      std::unique_lock lock(owner_.mutex_);
      if (!task_->has_ended && owner_.is_in_end_function()) {
        owner_.run_nested(lock, task_);
      }
      auto const has_ended = [&] { return task_->has_ended; };
      if (limit < duration::zero()) {
        owner_.change_.wait(lock, has_ended);
      } else if (!owner_.change_.wait_for(lock, limit, has_ended)) {
        return false;
      }
      task_->throw_failure();
      return true;
    }
    void on_end(std::unique_ptr<tutti_request>, tutti_end end, void* context) override {
      std::unique_lock lock(owner_.mutex_);
      if (!task_->has_ended) {
        task_->end = end;
        task_->context = context;
        return;
      }
      lock.unlock();
      call(end, context, task_->cause);
    }
    void cancel() noexcept override {
      std::unique_lock lock(owner_.mutex_);
      if (!task_->has_ended) {
        lock.unlock();
        owner_.world_.abort("a request was cancelled");
      }
    }

   private:
    background& owner_;
    task_pointer task_;
  };

  /// True if this thread calls a function at the end of an operation of this world.
  [[nodiscard]] bool is_in_end_function() const noexcept { return calling_for == this; }

  /// Runs an operation in this thread; nothing is started meanwhile.
  template <class Run>
  void run_here(std::unique_lock<std::mutex>& lock, Run run_now) {
    struct scope {
      scope(background& b, std::unique_lock<std::mutex>& l) : owner(b), lock(l), was_busy(b.is_busy_) {
        ++owner.open_;
        owner.is_busy_ = true;
        lock.unlock();
      }
      ~scope() {
        lock.lock();
        owner.is_busy_ = was_busy;
        owner.close();
      }
      background& owner;
      std::unique_lock<std::mutex>& lock;
      bool was_busy;
    } const until_run(*this, lock);
    std::unique_lock<std::mutex> turn;
    if (thread_) {
      turn = thread_->pause();
    }
    run_now();
  }

  [[nodiscard]] task_pointer add(order kind, std::function<request()> start) {
    auto next = std::make_shared<task>(kind, std::move(start));
    (is_in_end_function() ? inner_tasks_ : kind == order::collective ? collectives_ : messages_).push_back(next);
    ++open_;
    start_next();
    return next;
  }
  /// Starts what may start.
  void start_next() {
    if (is_busy_) {
      return;
    }
    while (!messages_.empty()) {
      post(messages_);
    }
    if (!is_collective_open_ && !collectives_.empty()) {
      is_collective_open_ = true;
      post(collectives_);
    }
  }
  void post(std::deque<task_pointer>& queue) {
    if (!thread_) {
      thread_.emplace(world_, SIZE_MAX);
    }
    thread_->post([next = queue.front()] { return next->start(); },
                  [this, next = queue.front()](std::exception_ptr cause) noexcept { end(next, std::move(cause)); });
    queue.pop_front();
  }

  /// Runs what the current function at the end of an operation has started, up to `last`.
  void run_nested(std::unique_lock<std::mutex>& lock, task_pointer const& last) {
    auto const place = std::find(inner_tasks_.begin(), inner_tasks_.end(), last);
    expects(place != inner_tasks_.end(),
            "a function at the end of an operation waits only for operations that it has started itself");
    std::deque<task_pointer> const due(inner_tasks_.begin(), place + 1);
    inner_tasks_.erase(inner_tasks_.begin(), place + 1);
    run_here(lock, [&] {
      std::deque<request> pending;
      for (task_pointer const& next : due) {
        try {
          pending.push_back(next->start());
        } catch (...) {
          next->cause = std::current_exception();
          pending.emplace_back();
        }
      }
      for (std::size_t i = 0; i != due.size(); ++i) {
        try {
          pending[i].wait();
        } catch (...) {
          due[i]->cause = std::current_exception();
        }
      }
    });
    for (task_pointer const& next : due) {
      next->has_ended = true;
      if (next->end != nullptr) {
        lock.unlock();
        call(next->end, next->context, next->cause);
        lock.lock();
      }
      close();
    }
  }

  /// Notes the end of an operation. Called by the library's thread, without the lock of the world.
  void end(task_pointer const& last, std::exception_ptr cause) noexcept {
    std::unique_lock lock(mutex_);
    last->cause = std::move(cause);
    last->has_ended = true;
    if (last->end != nullptr) {
      change_.notify_all();
      lock.unlock();
      background const* const outer = std::exchange(calling_for, this);
      call(last->end, last->context, last->cause);
      calling_for = outer;
      lock.lock();
      for (; !inner_tasks_.empty(); inner_tasks_.pop_back()) {
        (inner_tasks_.back()->kind == order::collective ? collectives_ : messages_).push_front(inner_tasks_.back());
      }
    }
    if (last->kind == order::collective) {
      is_collective_open_ = false;
    }
    close();
  }
  /// Counts an operation as over.
  void close() {
    --open_;
    start_next();
    change_.notify_all();
  }

  static constinit inline thread_local background const* calling_for = nullptr;

  Communicator world_;
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable change_;
  std::deque<task_pointer> collectives_;  ///< not started, in their order
  std::deque<task_pointer> messages_;     ///< not started
  std::deque<task_pointer> inner_tasks_;  ///< not started, of the current function at the end of an operation
  std::size_t open_ = 0;                  ///< operations that are not over, or whose end function has not returned
  bool is_collective_open_ = false;       ///< the thread has a collective operation
  bool is_busy_ = false;                  ///< a call runs in its own thread
  std::optional<progress_thread<Communicator>> thread_;  ///< made for the first operation that it gets
};

}  // namespace tutti::detail::c
