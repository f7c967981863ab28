// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// A reference-counted pointer to an object with `hold()` and `let_go()`, such as a `memory_source`. The last
/// reference ends the object.
template <class Source>
class counted {
 public:
  /// Constructs a null reference.
  counted() noexcept = default;
  /// Takes over the first reference to a new object.
  explicit counted(Source* made) noexcept : source_(made) {}
  /// Adds a reference.
  counted(counted const& other) noexcept : source_(other.source_) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  /// Takes over the reference of another pointer.
  counted(counted&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  /// Adds a reference to an object of a derived class.
  template <class Derived>
  counted(counted<Derived> const& other) noexcept : source_(other.get()) {
    if (source_ != nullptr) {
      source_->hold();
    }
  }
  /// Refers to the object of `other`, and drops the previous reference.
  counted& operator=(counted other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~counted() {
    if (source_ != nullptr) {
      source_->let_go();
    }
  }

  /// The object, or null.
  [[nodiscard]] Source* get() const noexcept { return source_; }
  /// Accesses a member of the object.
  /// @pre not null
  [[nodiscard]] Source* operator->() const noexcept { return source_; }
  /// The object.
  /// @pre not null
  [[nodiscard]] Source& operator*() const noexcept { return *source_; }

  /// True if both refer to one object, or both are null.
  friend bool operator==(counted const& a, counted const& b) noexcept { return a.source_ == b.source_; }

 private:
  Source* source_ = nullptr;
};

}  // namespace tutti
