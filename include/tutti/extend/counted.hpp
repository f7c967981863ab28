// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// A counted reference to something that can be held and let go, such as a `memory_source`: it ends with the last
/// reference.
template <class Source>
class counted {
 public:
  /// Refers to nothing.
  counted() noexcept = default;
  /// Takes over the first hold on a new source.
  explicit counted(Source* made) noexcept : source_(made) {}
  /// Takes one more hold.
  counted(counted const& other) noexcept : source_(other.source_) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  /// Takes over the other's hold.
  counted(counted&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  /// Takes one more hold on a source of a derived class.
  template <class Derived>
  counted(counted<Derived> const& other) noexcept : source_(other.get()) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  /// Refers to the other's source, and lets go of that of before.
  counted& operator=(counted other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~counted() {
    if (source_ != nullptr) {
      source_->let_go();
    }
  }

  /// The source, or null.
  [[nodiscard]] Source* get() const noexcept { return source_; }
  /// A member of the source.
  /// @pre there is a source
  [[nodiscard]] Source* operator->() const noexcept { return source_; }
  /// The source.
  /// @pre there is a source
  [[nodiscard]] Source& operator*() const noexcept { return *source_; }

  /// True if both refer to the same source, or to none.
  friend bool operator==(counted const& a, counted const& b) noexcept { return a.source_ == b.source_; }

 private:
  Source* source_ = nullptr;
};

}  // namespace tutti
