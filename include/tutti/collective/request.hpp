// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/core/deadline.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// An operation under way. The buffers belong to it until it is complete.
///
/// Destroying a request that is not complete gives the operation up: the epoch fails on every rank,
/// with an error that names this one.
///
///     auto pending = sum.start(gradients);
///     while (!pending.test()) { compute_a_little(); }   // or pending.wait()
///
/// Calls move on all that the thread has started, in any order, so requests may be waited for in another order than
/// they were started in.
///
/// A reduction may move, cancel or destroy a request of the operation that calls it, which ends when the reduction
/// returns. Any other call on that communicator throws precondition_error there.
///
/// @pre until it is complete, what it writes is neither read nor written, and what it reads is not written
/// @throws error from `test`, `wait` and `wait_for`, once, if the operation has failed; its kind says how
///
/// Cost: one pointer; no allocation once its operator has had as many operations under way.
/// Thread safety: that of the communicator.
class request {
 public:
  /// Constructs a request of no operation, which is complete.
  request() noexcept = default;

  /// Exchanges the operations of both.
  void swap(request& other) noexcept { operation_.swap(other.operation_); }

  /// Whether there is an operation that has not been waited for.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(operation_); }

  /// Moves the operation on; true when it is complete. Never waits.
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

  /// Until the operation is complete, or its deadline has passed.
  /// @throws error if it has failed
  void wait() {
    if (operation_) {
      detail::untyped_operation& operation = *operation_;
      detail::operation_use const until_complete(operation);
      static_cast<void>(operation.wait(no_deadline));
      finish(operation);
    }
  }

  /// Until the operation is complete or `limit` has passed; false in that case, and the
  /// operation goes on.
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

  /// Gives the operation up, if it is not complete: the epoch fails on every rank, with an error that
  /// names this one, and `test` and `wait` throw it here.
  void cancel() {
    if (operation_) {
      detail::operation_use const until_given_up(*operation_);
      operation_->cancel();
    }
  }

  /// Whether `test` would return or throw at once. Moves nothing on.
  [[nodiscard]] bool ended() const noexcept { return !operation_ || operation_->has_ended(); }

  /// Ends the operation with an error if its deadline has passed, counted from the first such call.
  /// For event loops, which never wait.
  void check_deadline() {
    if (operation_ && !operation_->has_ended()) {
      detail::operation_use const until_checked(*operation_);
      operation_->check_deadline();
    }
  }

 private:
  friend struct detail::access;

  explicit request(detail::operation_handle&& started) noexcept : operation_(std::move(started)) {}

  /// Static: this request may be gone by now.
  static void finish(detail::untyped_operation& operation) {
    operation.leave_owner();
    operation.throw_failure();
  }

  detail::operation_handle operation_;
};

}  // namespace tutti
