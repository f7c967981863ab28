// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/reduction.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// The layout of an operation's three memories in a slot of host memory; memories with equal elements share one place.
class slot_layout {
 public:
  /// A layout of one-byte elements.
  constexpr slot_layout() noexcept = default;
  template <tutti::reduction R>
  explicit slot_layout(combining<R> const& p) noexcept
      : input_(p.size_of(memory::input)),
        work_(p.size_of(memory::work)),
        output_(p.size_of(memory::output)),
        input_is_output_(std::same_as<contribution_t<R>, typename R::value_type>),
        work_is_output_(p.work_fits_output) {}
  explicit slot_layout(moving const& p) noexcept
      : input_(p.element_bytes), work_(p.element_bytes), output_(p.element_bytes) {}

  /// The size of an element of the input, or of the output, in bytes.
  [[nodiscard]] std::size_t input() const noexcept { return input_; }
  [[nodiscard]] std::size_t output() const noexcept { return output_; }
  /// The bytes of a slot that one element takes.
  [[nodiscard]] std::size_t element_bytes() const noexcept {
    return output_ + (input_is_output_ ? 0 : input_) + (work_is_output_ ? 0 : work_);
  }
  /// The number of elements that fit a slot.
  [[nodiscard]] std::size_t room(std::size_t slot_bytes) const noexcept {
    return slot_bytes < 2 * line ? 0 : (slot_bytes - 2 * line) / element_bytes();
  }
  /// The memories in a slot. @param room the value of room()
  [[nodiscard]] memories memories_in(std::byte* slot, std::size_t room) const noexcept {
    std::byte* next = slot + whole(room * output_);
    memories m{.input = slot, .work = slot, .output = slot};
    if (!input_is_output_) {
      m.input = next;
      next += whole(room * input_);
    }
    if (!work_is_output_) {
      m.work = next;
    }
    return m;
  }

 private:
  static constexpr std::size_t line = 64;
  [[nodiscard]] static constexpr std::size_t whole(std::size_t bytes) noexcept {
    return (bytes + line - 1) / line * line;
  }

  std::size_t input_ = 1;
  std::size_t work_ = 1;
  std::size_t output_ = 1;
  bool input_is_output_ = true;
  bool work_is_output_ = true;
};

}  // namespace tutti::detail::device
