// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/cancellation.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Occupies those of the numbers 0 to 2 that are free, so that the kernel gives none of them to a descriptor that is
/// made in the meantime, by this library or by another one. What other threads print fails meanwhile as on a closed
/// descriptor (EBADF).
///
/// Thread-safe: a number stays occupied until the last of all these objects ends, and is free again then. One that the
/// program gives to a file of its own meanwhile (dup2) stays the program's. A child of fork has none of them occupied.
/// A program that closes a standard stream while such an object exists may leave its number free.
///
/// Cost: three fcntl(2) where all three streams are open. Holds cancellation back. Keeps errno.
class standard_numbers {
 public:
  TUTTI_DECL standard_numbers() noexcept;
  standard_numbers(standard_numbers const&) = delete;
  standard_numbers& operator=(standard_numbers const&) = delete;
  TUTTI_DECL ~standard_numbers();

 private:
  uncancelled const throughout_;
  std::uint32_t const owner_;  ///< the process that counts this object
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/standard_numbers.ipp>
#endif
