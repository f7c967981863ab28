// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/pending.hpp>

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
/// @pre until it is complete, what it writes is neither read nor written, and what it reads is not written
/// @throws error from `test`, `wait` and `wait_for`, once, if the operation has failed; its kind says how
///
/// Cost: one pointer; no allocation once its operator has had as many operations under way.
/// Thread safety: that of the communicator.
class request {
 public:
  request() noexcept = default;
  explicit request(detail::pending& operation) noexcept : operation_(&operation) {}
  request(request&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  request& operator=(request&& other) noexcept {
    request taken(std::move(other));
    taken.swap(*this);
    return *this;
  }
  ~request() {
    if (operation_ != nullptr) {
      operation_->cancel(*operation_);
      operation_->retire(*operation_);
    }
  }

  /// Exchanges the operations of both.
  void swap(request& other) noexcept { std::swap(operation_, other.operation_); }

  /// Whether there is an operation that has not been waited for.
  [[nodiscard]] bool valid() const noexcept { return operation_ != nullptr; }

  /// Moves the operation on; true when it is complete. Never waits.
  /// @throws error if it has failed
  [[nodiscard]] bool test() {
    if (operation_ == nullptr) {
      return true;
    }
    operation_->poll(*operation_);
    if (!operation_->ended) {
      return false;
    }
    finish();
    return true;
  }

  /// Until the operation is complete, or its deadline has passed.
  /// @throws error if it has failed
  void wait() {
    if (operation_ != nullptr) {
      operation_->wait(*operation_, no_deadline);
      finish();
    }
  }

  /// Until the operation is complete or `limit` has passed; false in that case, and the
  /// operation goes on.
  /// @throws error if it has failed
  [[nodiscard]] bool wait_for(duration limit) {
    if (operation_ == nullptr) {
      return true;
    }
    if (!operation_->wait(*operation_, limit < duration::zero() ? duration::zero() : limit)) {
      return false;
    }
    finish();
    return true;
  }

  /// Gives the operation up, if it is not complete: the epoch fails on every rank, with an error that
  /// names this one, and `test` and `wait` throw it here.
  void cancel() {
    if (operation_ != nullptr) {
      operation_->cancel(*operation_);
    }
  }

  /// Whether `test` would return or throw at once. Moves nothing on.
  [[nodiscard]] bool ended() const noexcept { return operation_ == nullptr || operation_->ended; }

  /// Ends the operation with an error if its deadline has passed, counted from the first such call.
  /// For event loops, which never wait.
  void check_deadline() {
    if (operation_ != nullptr && !operation_->ended) {
      operation_->check_deadline(*operation_);
    }
  }

 private:
  void finish() {
    detail::pending& p = *std::exchange(operation_, nullptr);
    struct retirement {
      detail::pending& p;
      ~retirement() { p.retire(p); }
    } after{p};
    p.result(p);
  }

  detail::pending* operation_ = nullptr;
};

}  // namespace tutti
