// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/expects.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// An operation under way. It owns its buffers until it is complete.
///
/// Destroying a request that is not complete cancels the operation: the epoch fails on every rank, with an error that
/// names this one.
///
///     auto pending = sum.start(gradients);
///     while (!pending.test()) { compute_a_little(); }   // or pending.wait()
///
/// Calls advance all operations that the thread has started, so requests may be waited for in any order.
///
/// A reduction, or a function of `on_end`, may move, cancel or destroy requests of the communicator that calls it; they
/// end when it returns. Any other call on that communicator from there throws precondition_error.
///
/// @pre until it is complete, its output is neither read nor written, and its input is not written
/// @throws error from `test`, `wait` and `wait_for`, once, if the operation has failed; its kind gives the reason
///
/// Cost: one pointer; no allocation unless its operator has more operations under way than ever before.
/// Thread safety: as the communicator.
class request {
 public:
  /// Constructs a request without an operation, which counts as complete.
  request() noexcept = default;

  /// Exchanges the operations of both.
  void swap(request& other) noexcept { operation_.swap(other.operation_); }

  /// True if there is an operation that has not been waited for.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(operation_); }

  /// Advances the operation; true if it is complete. Never waits.
  /// @throws error if it has failed
  [[nodiscard]] bool test() {
    if (!operation_) {
      return true;
    }
    detail::untyped_operation& operation = *operation_;
    detail::operation_use const until_tested(operation);
    operation.poll();
    if (!operation.has_ended()) {
      return false;
    }
    finish(operation);
    return true;
  }

  /// Waits until the operation is complete, or its deadline has passed.
  /// @throws error if it has failed
  void wait() {
    if (operation_) {
      detail::untyped_operation& operation = *operation_;
      detail::operation_use const until_complete(operation);
      static_cast<void>(operation.wait(no_deadline));
      finish(operation);
    }
  }

  /// Waits until the operation is complete or `limit` has passed; returns false in the latter case, and the operation
  /// continues.
  /// @throws error if it has failed
  [[nodiscard]] bool wait_for(duration limit) {
    if (!operation_) {
      return true;
    }
    detail::untyped_operation& operation = *operation_;
    detail::operation_use const until_complete(operation);
    if (!operation.wait(limit < duration::zero() ? duration::zero() : limit)) {
      return false;
    }
    finish(operation);
    return true;
  }

  /// Has `f(std::exception_ptr)` called once, when the operation has ended: with its error, or null. If it has ended
  /// already, `f` is called before this returns. For futures of other libraries, and for threads that sleep.
  ///
  ///     pending.on_end([&](std::exception_ptr cause) noexcept { executor.post([=] { resume(cause); }); });
  ///
  /// The thread that advances the operation calls it: any that is in a call which advances, or a progress_thread. So
  /// `f` is short and waits for nothing. It may own the request, which then needs no other owner. A request that is
  /// destroyed before the end calls it with the error of the cancellation. `wait` and `test` also report the error.
  ///
  /// The deadline of the operation begins here. Any wait, test or progress_thread of this thread's communicators checks
  /// it. `communicator::poll` does not: an event loop that polls calls `check_deadline` from a timer.
  ///
  /// @pre `f` does not throw, which its type says (noexcept)
  /// @throws precondition_error if there is no operation, or a function already; std::bad_alloc
  ///
  /// Cost: no allocation if `f` is of at most three words.
  template <class F>
    requires std::is_nothrow_invocable_v<F&, std::exception_ptr>
  void on_end(F f) {
    expects(valid(), "on_end: this request has no operation: it was waited for, or moved from; call on_end first");
    detail::untyped_operation& operation = *operation_;
    detail::operation_use const until_noted(operation);
    operation.on_end(std::move(f));
  }

  /// Cancels the operation, if it is not complete: the epoch fails on every rank, with an error that names this one;
  /// `test` and `wait` throw it here.
  void cancel() {
    if (operation_) {
      detail::operation_use const until_given_up(*operation_);
      operation_->cancel();
    }
  }

  /// True if `test` would return true or throw. Advances nothing.
  [[nodiscard]] bool has_ended() const noexcept { return !operation_ || operation_->has_ended(); }

  /// Ends the operation with an error if its deadline has passed, counted from the first such call. For event loops,
  /// which never wait.
  void check_deadline() {
    if (operation_ && !operation_->has_ended()) {
      detail::operation_use const until_checked(*operation_);
      operation_->check_deadline();
    }
  }

 private:
  friend struct detail::access;

  explicit request(detail::operation_handle&& operation) noexcept : operation_(std::move(operation)) {}

  /// Static, because this request may have been destroyed already.
  static void finish(detail::untyped_operation& operation) {
    operation.leave_owner();
    operation.throw_failure();
  }

  detail::operation_handle operation_;
};

}  // namespace tutti
