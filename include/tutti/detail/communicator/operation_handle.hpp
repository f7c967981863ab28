// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/untyped_operation.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// Owns a started operation until its result is fetched. An operation that loses its owner before it is complete is
/// cancelled.
class operation_handle {
 public:
  operation_handle() noexcept = default;
  explicit operation_handle(untyped_operation& operation) noexcept : operation_(&operation) { keep(); }
  operation_handle(operation_handle&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) { keep(); }
  operation_handle& operator=(operation_handle&& other) noexcept {
    operation_handle temporary(std::move(other));
    temporary.swap(*this);
    return *this;
  }
  ~operation_handle() {
    if (operation_ != nullptr) {
      operation_use const until_given_up(*operation_);
      operation_->forget_owner();
      operation_->cancel();
    }
  }

  /// Exchanges the operations of both.
  void swap(operation_handle& other) noexcept {
    std::swap(operation_, other.operation_);
    keep();
    other.keep();
  }

  /// True if there is an operation whose result has not been fetched.
  explicit operator bool() const noexcept { return operation_ != nullptr; }
  [[nodiscard]] untyped_operation& operator*() const noexcept { return *operation_; }
  [[nodiscard]] untyped_operation* operator->() const noexcept { return operation_; }

 private:
  /// Tells the operation the address of its owner, which may be moved or destroyed during a call on it.
  void keep() noexcept {
    if (operation_ != nullptr) {
      operation_->set_owner(&operation_);
    }
  }

  untyped_operation* operation_ = nullptr;
};

}  // namespace tutti::detail::communicator
