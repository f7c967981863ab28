// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/family.hpp>
#include <tutti/extend/intrusive_pointer.hpp>

#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0 {

/// Ends a world from another thread or from a signal handler, at any time, also after the world's end. Made by
/// `communicator::aborter`.
///
///     tutti::abort_handle stop;
///     extern "C" void on_signal(int) { stop("SIGTERM"); }
///
/// Does not keep a world alive. Thread safety: any number of threads may call one handle at the same time; copies are
/// independent.
class abort_handle {
 public:
  /// Constructs a handle of no world.
  abort_handle() noexcept = default;

  /// Ends the world of this handle as `communicator::abort` does. Does nothing if it has ended, or for no world.
  /// Async-signal-safe; `errno` is left alone.
  void operator()(std::string_view reason) const noexcept {
    if (family_.get() != nullptr) {
      family_->abort(reason);
    }
  }

 private:
  friend struct detail::access;

  explicit abort_handle(intrusive_pointer<detail::family> world) noexcept : family_(std::move(world)) {}

  intrusive_pointer<detail::family> family_;
};

}  // namespace tutti
