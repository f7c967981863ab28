// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/fault.hpp>
#include <tutti/extend/operation.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The world failed: a peer is gone, a deadline passed, the ranks disagree. Every survivor of the
/// operation gets one; the communicator is of no further use, and says so by the same error.
class error : public std::runtime_error {
 public:
  /// An error of this kind that no operation is known of.
  TUTTI_DECL error(failure kind, std::string const& what);
  /// An error with all its facts.
  TUTTI_DECL error(error_facts facts, std::string const& what);

  /// The same error again.
  TUTTI_DECL error(error const&);
  /// The error, taken over; the other holds none.
  TUTTI_DECL error(error&&) noexcept;
  /// Copies the other's value.
  error& operator=(error const&) = default;
  /// Takes over the other's value, and releases that of before.
  error& operator=(error&&) = default;
  TUTTI_DECL ~error() override;

  /// All that is known, for code.
  [[nodiscard]] error_facts const& facts() const noexcept { return facts_; }
  /// What has failed.
  [[nodiscard]] failure kind() const noexcept { return facts_.kind; }
  /// The name of the communicator, e.g. "world": the same on all its ranks. If a part cannot be made, its
  /// parent's. Empty while a world comes together.
  [[nodiscard]] std::string const& communicator() const noexcept { return facts_.communicator; }
  /// The operation, e.g. "allreduce(sum float32 x 1000, ring)"; empty outside one.
  [[nodiscard]] std::string const& operation() const noexcept { return facts_.operation; }
  /// Its number among the collective operations of the communicator, or among the messages of the pair that
  /// `operation` names: the same on all ranks that take part.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return facts_.sequence; }
  /// The step of its schedule at which the operation stood.
  [[nodiscard]] std::uint32_t step() const noexcept { return facts_.step; }
  /// The rank that reports it.
  [[nodiscard]] rank_type self() const noexcept { return facts_.self; }
  /// The ranks at fault; may be empty.
  [[nodiscard]] std::vector<rank_type> const& at_fault() const noexcept { return facts_.at_fault; }

  /// Sets the rank that reports it and the ranks at fault.
  TUTTI_DECL error& between(rank_type self, std::vector<rank_type> at_fault);

 private:
  error_facts facts_;
};

namespace detail {

/// An error that this rank reports and another one is at fault for. `throw` takes less code with it than with
/// `error(...).between(...)`, which it copies.
[[nodiscard]] TUTTI_DECL error blaming(failure kind, std::string const& text, rank_type self, rank_type at_fault);

}  // namespace detail

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/error.ipp>
#endif
