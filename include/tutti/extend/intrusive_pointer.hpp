// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// A reference-counted pointer to an object with `add_reference()` and `drop_reference()`, such as a `memory_source`.
/// The last reference ends the object.
template <class Source>
class intrusive_pointer {
 public:
  /// Constructs a null reference.
  intrusive_pointer() noexcept = default;
  /// Takes over the first reference to a new object.
  explicit intrusive_pointer(Source* object) noexcept : source_(object) {}
  /// Adds a reference.
  intrusive_pointer(intrusive_pointer const& other) noexcept : source_(other.source_) {
    if (source_ != nullptr) {
      source_->add_reference();
    }
  }
  /// Takes over the reference of another pointer.
  intrusive_pointer(intrusive_pointer&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  /// Adds a reference to an object of a derived class.
  template <class DerivedSource>
  intrusive_pointer(intrusive_pointer<DerivedSource> const& other) noexcept : source_(other.get()) {
    if (source_ != nullptr) {
      source_->add_reference();
    }
  }
  /// Refers to the object of `other`, and drops the previous reference.
  intrusive_pointer& operator=(intrusive_pointer other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~intrusive_pointer() {
    if (source_ != nullptr) {
      source_->drop_reference();
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
  friend bool operator==(intrusive_pointer const& a, intrusive_pointer const& b) noexcept {
    return a.source_ == b.source_;
  }

 private:
  Source* source_ = nullptr;
};

}  // namespace tutti
