// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline base {

/// A counted reference to something that can be held and let go: it ends with the last one.
template <class Source>
class counted {
 public:
  counted() noexcept = default;
  /// Takes over the first hold on a new source.
  explicit counted(Source* made) noexcept : source_(made) {}
  counted(counted const& other) noexcept : source_(other.source_) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  counted(counted&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  template <class Derived>
  counted(counted<Derived> const& other) noexcept : source_(other.get()) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  counted& operator=(counted other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~counted() {
    if (source_ != nullptr) {
      source_->let_go();
    }
  }

  [[nodiscard]] Source* get() const noexcept { return source_; }
  [[nodiscard]] Source* operator->() const noexcept { return source_; }
  [[nodiscard]] Source& operator*() const noexcept { return *source_; }

  friend bool operator==(counted const& a, counted const& b) noexcept { return a.source_ == b.source_; }

 private:
  Source* source_ = nullptr;
};

}  // namespace tutti::detail::base
