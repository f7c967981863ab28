// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/fault.hpp>
#include <tutti/extend/operation.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// A failure of the world: a peer is gone, a deadline has passed, or the ranks disagree. Every survivor of the
/// operation gets one. The communicator stays failed, and repeats the error in later calls.
class error : public std::runtime_error {
 public:
  /// Constructs an error outside any operation.
  TUTTI_DECL error(failure kind, std::string const& text);
  /// Constructs an error with all its facts.
  TUTTI_DECL error(error_facts facts, std::string const& text);

  /// Copies the error.
  TUTTI_DECL error(error const&);
  /// Takes over the error.
  TUTTI_DECL error(error&&) noexcept;
  /// Copies the value of `other`.
  error& operator=(error const&) = default;
  /// Takes over the value of `other`.
  error& operator=(error&&) = default;
  TUTTI_DECL ~error() override;

  /// All that is known, for programs.
  [[nodiscard]] error_facts const& facts() const noexcept { return facts_; }
  /// The kind of failure.
  [[nodiscard]] failure kind() const noexcept { return facts_.kind; }
  /// The name of the communicator, e.g. "world": equal on all its ranks. If a split fails, the parent's name. Empty
  /// before a world exists.
  [[nodiscard]] std::string const& communicator() const noexcept { return facts_.communicator; }
  /// The operation, e.g. "allreduce(sum float32 x 1000, ring)"; empty outside one.
  [[nodiscard]] std::string const& operation() const noexcept { return facts_.operation; }
  /// The number of the operation among the collective operations of the communicator, or among the messages of the
  /// pair in `operation`. Equal on all ranks that take part.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return facts_.sequence; }
  /// The step of the schedule that the operation had reached.
  [[nodiscard]] std::uint32_t step() const noexcept { return facts_.step; }
  /// The rank that reports the error.
  [[nodiscard]] rank_type self() const noexcept { return facts_.self; }
  /// The ranks at fault; may be empty.
  [[nodiscard]] std::vector<rank_type> const& at_fault() const noexcept { return facts_.at_fault; }

  /// Sets the reporting rank and the ranks at fault.
  TUTTI_DECL error& set_ranks(rank_type self, std::vector<rank_type> at_fault);

 private:
  error_facts facts_;
};

namespace detail {

/// Makes an error that this rank reports about another one. Throwing it takes less code than
/// `error(...).set_ranks(...)`, which is copied.
[[nodiscard]] TUTTI_DECL error blaming(failure kind, std::string const& text, rank_type self, rank_type at_fault);

}  // namespace detail

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/error.ipp>
#endif
