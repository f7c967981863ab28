// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/c/detail/requests.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/progress_thread.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
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
/// open, and is handed to a thread of the library when another call comes; all others are started by that thread, in
/// the order of the calls.
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

  /// Runs an operation, whose request `start` returns.
  template <class Start>
  void run(order kind, Start start) {
    std::unique_lock lock(mutex_);
    if (open_ == 0) {
      run_at_once(lock, kind, start);
      return;
    }
    task_pointer const next = add(kind, [&start] { return start(); });
    if (is_in_end_function()) {
      run_nested(lock, next);
    }
    await(lock, *next);
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
  /// Runs a call that is no operation, while others are under way.
  template <class Run>
  void run_between(Run run_now) {
    std::unique_lock lock(mutex_);
    await_turn(lock);
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
    std::exception_ptr cause{};
    tutti_end end = nullptr;
    void* context = nullptr;
    std::atomic<bool> has_ended = false;
  };
  using task_pointer = std::shared_ptr<task>;

  /// An operation that the library's thread advances. It may outlive the world, where all operations have ended.
  class posted_request final : public tutti_request {
   public:
    posted_request(background& owner, task_pointer next) : owner_(owner), task_(std::move(next)) {}

    bool has_ended() const noexcept override { return task_->has_ended; }
    bool test() override { return wait(duration::zero()); }
    bool wait(duration limit) override {
      if (!task_->has_ended) {
        std::unique_lock lock(owner_.mutex_);
        if (!task_->has_ended && owner_.is_in_end_function()) {
          owner_.run_nested(lock, task_);
        }
        if (limit < duration::zero()) {
          owner_.await(lock, *task_);
        } else if (!owner_.change_.wait_for(lock, finite_patience(limit), [&] { return task_->has_ended.load(); })) {
          return false;
        }
      }
      task_->throw_failure();
      return true;
    }
    void on_end(tutti_end end, void* context) override {
      {
        std::unique_lock const lock(owner_.mutex_);
        task_->context = context;
        task_->end = end;
        if (task_->has_ended) {
          owner_.report_later(task_);
        }
      }
      delete this;
    }
    void cancel() noexcept override {
      if (!task_->has_ended) {
        std::unique_lock lock(owner_.mutex_);
        owner_.cancel(lock, task_);
      }
    }

   private:
    background& owner_;
    task_pointer task_;
  };

  /// True if this thread calls a function at the end of an operation of this world.
  [[nodiscard]] bool is_in_end_function() const noexcept { return calling_for == this; }

  void await(std::unique_lock<std::mutex>& lock, task const& next) {
    change_.wait(lock, [&] { return next.has_ended.load(); });
  }
  /// Waits until no call runs in its own thread.
  void await_turn(std::unique_lock<std::mutex>& lock) {
    has_others_ = true;
    change_.wait(lock, [&] { return !is_busy_; });
  }

  /// Runs an operation in this thread, until another call comes.
  template <class Start>
  void run_at_once(std::unique_lock<std::mutex>& lock, order kind, Start& start) {
    auto const pending = std::make_shared<request>();
    bool is_handed_over = false;
    has_others_ = false;
    run_here(
        lock,
        [&] {
          *pending = start();
          for (int waits = 1; !is_handed_over && !pending->wait_for(std::chrono::milliseconds(1)); ++waits) {
            is_handed_over = has_others_;
            if (waits % 10 == 0) {
              access::state(world_).probe();  // such a short wait looks for no lost rank
            }
          }
        },
        [&] { is_collective_open_ = is_handed_over && kind == order::collective; });
    if (!is_handed_over) {
      return;
    }
    auto const next = std::make_shared<task>(kind, [pending] { return std::move(*pending); });
    ++open_;
    post(next);
    start_next();
    await(lock, *next);
    next->throw_failure();
  }
  /// Makes a call in this thread; nothing is started meanwhile. `finish` follows, with the lock.
  template <class Run, class Finish>
  void run_here(std::unique_lock<std::mutex>& lock, Run run_now, Finish finish) {
    struct scope {
      scope(background& b, std::unique_lock<std::mutex>& l, Finish& f)
          : owner(b), lock(l), finish(f), was_busy(b.is_busy_) {
        ++owner.open_;
        owner.is_busy_ = true;
        lock.unlock();
      }
      ~scope() {
        lock.lock();
        owner.is_busy_ = was_busy;
        finish();
        owner.close();
      }
      background& owner;
      std::unique_lock<std::mutex>& lock;
      Finish& finish;
      bool was_busy;
    } const until_run(*this, lock, finish);
    std::unique_lock<std::mutex> turn;
    if (thread_) {
      turn = thread_->pause();
    }
    run_now();
  }
  template <class Run>
  void run_here(std::unique_lock<std::mutex>& lock, Run run_now) {
    run_here(lock, run_now, [] {});
  }

  [[nodiscard]] task_pointer add(order kind, std::function<request()> start) {
    auto next = std::make_shared<task>(kind, std::move(start));
    (is_in_end_function() ? inner_tasks_ : kind == order::collective ? collectives_ : messages_).push_back(next);
    ++open_;
    has_others_ = true;
    start_next();
    return next;
  }
  /// Starts what may start.
  void start_next() noexcept {
    if (is_busy_) {
      return;
    }
    while (!messages_.empty()) {
      post(take_first(messages_));
    }
    while (!is_collective_open_ && !collectives_.empty()) {
      is_collective_open_ = true;
      post(take_first(collectives_));
    }
  }
  [[nodiscard]] static task_pointer take_first(std::deque<task_pointer>& queue) {
    task_pointer first = std::move(queue.front());
    queue.pop_front();
    return first;
  }
  /// Has the library's thread start an operation. If the system refuses what that takes, the operation ends.
  void post(task_pointer const& next) noexcept {
    try {
      if (!thread_) {
        thread_.emplace(world_, SIZE_MAX);
      }
      thread_->post([next] { return next->start(); },
                    [this, next](std::exception_ptr cause) noexcept { end(next, std::move(cause)); });
    } catch (...) {
      next->cause = std::current_exception();
      next->has_ended = true;
      if (next->kind == order::collective) {
        is_collective_open_ = false;
      }
      --open_;
      change_.notify_all();
    }
  }
  /// Has the library's thread call the function of an operation that has ended, as if it ended now.
  void report_later(task_pointer const& last) {
    auto const next = std::make_shared<task>(order::message, [last]() -> request {
      last->throw_failure();
      return {};
    });
    next->end = last->end;
    next->context = last->context;
    messages_.push_back(next);
    ++open_;
    has_others_ = true;
    start_next();
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

  /// Fails the communicator, unless the operation has ended, and waits until it uses no memory any more.
  void cancel(std::unique_lock<std::mutex>& lock, task_pointer const& last) noexcept {
    if (auto const place = std::find(inner_tasks_.begin(), inner_tasks_.end(), last); place != inner_tasks_.end()) {
      inner_tasks_.erase(place);  // not started
      close();
    } else {
      await_turn(lock);
    }
    if (last->has_ended) {
      return;
    }
    run_here(lock, [&] {
      exclusion const turn(access::state(world_));
      access::state(world_).end_epoch();
    });
    if (!is_in_end_function()) {
      await(lock, *last);
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
  void close() noexcept {
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
  std::atomic<bool> has_others_ = false;  ///< another call has come since that one began
  std::optional<progress_thread<Communicator>> thread_;  ///< made for the first operation that it gets
};

}  // namespace tutti::detail::c
