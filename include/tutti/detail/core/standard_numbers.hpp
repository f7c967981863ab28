// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/cancellation.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Occupies the free numbers among 0 to 2, so that the kernel gives none of them to a descriptor opened meanwhile by
/// this or another library. Output of other threads fails meanwhile as on a closed descriptor (EBADF).
///
/// Thread-safe: a number is freed when the last of these objects ends. One that the program assigns to its own file
/// meanwhile (dup2) remains the program's. In a forked child none is occupied. A program that closes a standard stream
/// while such an object exists may leave its number free.
///
/// Cost: three fcntl(2) if all three streams are open. Disables cancellation. Preserves errno.
class standard_numbers {
 public:
  TUTTI_DECL standard_numbers() noexcept;
  standard_numbers(standard_numbers const&) = delete;
  standard_numbers& operator=(standard_numbers const&) = delete;
  TUTTI_DECL ~standard_numbers();

  /// True if a signal handler that interrupts this thread now may make such an object: no thread makes or ends one, or
  /// is in a call of fork.
  [[nodiscard]] TUTTI_DECL static bool are_usable_in_handler() noexcept;

 private:
  cancellation_shield const shield_;
  std::uint32_t const owner_;  ///< generation of the process that counts this object
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/standard_numbers.ipp>
#endif
