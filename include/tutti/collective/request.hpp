// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/pending.hpp>

#include <atomic>
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
  request() noexcept = default;
  /// Takes over an operation under way.
  explicit request(detail::pending& operation) noexcept : operation_(&operation) { keep(); }
  /// Takes over the other's operation; the other is empty afterwards.
  request(request&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) { keep(); }
  /// Takes over the other's operation, and releases that of before.
  request& operator=(request&& other) noexcept {
    request taken(std::move(other));
    taken.swap(*this);
    return *this;
  }
  ~request() {
    if (operation_ != nullptr) {
      detail::pending_use const until_given_up(*operation_);
      operation_->request.store(nullptr, std::memory_order_release);
      operation_->cancel(*operation_);
    }
  }

  /// Exchanges the operations of both.
  void swap(request& other) noexcept {
    std::swap(operation_, other.operation_);
    keep();
    other.keep();
  }

  /// Whether there is an operation that has not been waited for.
  [[nodiscard]] bool valid() const noexcept { return operation_ != nullptr; }

  /// Moves the operation on; true when it is complete. Never waits.
  /// @throws error if it has failed
  [[nodiscard]] bool test() {
    if (operation_ == nullptr) {
      return true;
    }
    detail::pending& p = *operation_;
    detail::pending_use const until_tested(p);
    p.poll(p);
    if (!p.ended) {
      return false;
    }
    finish(p);
    return true;
  }

  /// Until the operation is complete, or its deadline has passed.
  /// @throws error if it has failed
  void wait() {
    if (operation_ != nullptr) {
      detail::pending& p = *operation_;
      detail::pending_use const until_complete(p);
      p.wait(p, no_deadline);
      finish(p);
    }
  }

  /// Until the operation is complete or `limit` has passed; false in that case, and the
  /// operation goes on.
  /// @throws error if it has failed
  [[nodiscard]] bool wait_for(duration limit) {
    if (operation_ == nullptr) {
      return true;
    }
    detail::pending& p = *operation_;
    detail::pending_use const until_complete(p);
    if (!p.wait(p, limit < duration::zero() ? duration::zero() : limit)) {
      return false;
    }
    finish(p);
    return true;
  }

  /// Gives the operation up, if it is not complete: the epoch fails on every rank, with an error that
  /// names this one, and `test` and `wait` throw it here.
  void cancel() {
    if (operation_ != nullptr) {
      detail::pending_use const until_given_up(*operation_);
      operation_->cancel(*operation_);
    }
  }

  /// Whether `test` would return or throw at once. Moves nothing on.
  [[nodiscard]] bool ended() const noexcept { return operation_ == nullptr || operation_->ended; }

  /// Ends the operation with an error if its deadline has passed, counted from the first such call.
  /// For event loops, which never wait.
  void check_deadline() {
    if (operation_ != nullptr && !operation_->ended) {
      detail::pending_use const until_checked(*operation_);
      operation_->check_deadline(*operation_);
    }
  }

 private:
  /// The operation knows where its request is, which may be moved or destroyed while a call on it is under way.
  void keep() noexcept {
    if (operation_ != nullptr) {
      operation_->request.store(&operation_, std::memory_order_relaxed);
    }
  }
  /// Static: this request may be gone by now.
  static void finish(detail::pending& p) {
    if (detail::pending** const kept = p.request.load(std::memory_order_relaxed)) {
      p.request.store(nullptr, std::memory_order_release);
      *kept = nullptr;
    }
    p.result(p);
  }

  detail::pending* operation_ = nullptr;
};

}  // namespace tutti
