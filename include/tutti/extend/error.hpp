// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/operation.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// How the world failed.
enum class failure : std::uint8_t {
  none,
  peer_lost,    ///< a peer died, closed its connection or left while it was needed
  deadline,     ///< nothing arrived in time
  mismatch,     ///< the ranks called different operations
  cancelled,    ///< a rank gave up its operation
  protocol,     ///< bytes that no tutti peer would send
  join,         ///< the world did not come together
  unreachable,  ///< no connection to a peer could ever be made: it may live
};

/// The kinds of failure, for code that reads one from bytes.
inline constexpr std::uint64_t failure_kinds = 8;

/// The word for it in messages.
[[nodiscard]] constexpr std::string_view name(failure kind) noexcept {
  constexpr std::string_view names[] = {"none",      "peer lost", "deadline passed", "mismatched call",
                                        "cancelled", "protocol",  "join failed",     "unreachable"};
  static_assert(std::size(names) == failure_kinds);
  return names[static_cast<std::size_t>(kind)];
}

/// The state of an epoch that has failed, small enough for one shared word: the rank at fault, the one that noticed
/// first, and the reason that the system gave. A default-constructed fault says that all is well.
struct fault {
  failure kind = failure::none;  ///< what has failed; none: nothing
  rank_type culprit = no_rank;   ///< no_rank: none in particular
  rank_type reporter = no_rank;  ///< the rank that noticed
  std::uint64_t circle = 0;      ///< ranks that wait for each other, a bit each; then the two above are no_rank
  int code = 0;                  ///< the errno of the system call that failed, where one did; 1 to 127
  bool elsewhere = false;  ///< it happened in another communicator of the same world, and a rank left because of it

  /// The bit of a rank in `circle`; none if there is no room for it.
  [[nodiscard]] static constexpr std::uint64_t bit_of(rank_type r) noexcept {
    return r < 48 ? std::uint64_t{1} << r : 0;
  }

  /// Whether there is a fault.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return kind != failure::none; }
  friend constexpr bool operator==(fault const&, fault const&) = default;

  /// Ranks below 2^24 - 1; zero stands for "no fault". A code that has no room is left out.
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    std::uint64_t const what = static_cast<std::uint64_t>(kind) | (elsewhere ? is_elsewhere : 0);
    if (circle != 0) {
      return in_circle | circle << 8 | what;
    }
    std::uint64_t const reason = code > 0 && code < 128 ? static_cast<std::uint64_t>(code) : 0;
    return reason << 56 | (std::uint64_t{culprit} & 0xffffffU) << 32 | (std::uint64_t{reporter} & 0xffffffU) << 8 |
           what;
  }
  /// The fault that `pack` made this word of.
  [[nodiscard]] static constexpr fault unpack(std::uint64_t word) noexcept {
    auto const rank = [](std::uint64_t bits) {
      const auto r = static_cast<rank_type>(bits & 0xffffffU);
      return r == 0xffffffU ? no_rank : r;
    };
    auto const kind = static_cast<failure>(word & 0x7fU);
    bool const there = (word & is_elsewhere) != 0;
    if ((word & in_circle) != 0) {
      return {kind, no_rank, no_rank, word >> 8 & 0xffff'ffff'ffffU, 0, there};
    }
    return {kind, rank(word >> 32), rank(word >> 8), 0, static_cast<int>(word >> 56), there};
  }

 private:
  static constexpr std::uint64_t in_circle = std::uint64_t{1} << 63;
  static constexpr std::uint64_t is_elsewhere = 0x80;
};

/// What an error holds beside its text: one value, so that code that passes an error on passes all of it.
struct error_facts {
  failure kind = failure::none;          ///< what has failed
  std::string communicator = {};         ///< its name; of a part that cannot be made, its parent's; empty: none yet
  std::string operation = {};            ///< the operation in words; empty if none
  std::uint64_t sequence = 0;            ///< the number of the operation in its communicator
  std::uint32_t step = 0;                ///< the step of its schedule
  rank_type self = no_rank;              ///< the rank that reports it, by its number in the communicator
  std::vector<rank_type> at_fault = {};  ///< the ranks at fault, by their numbers in the communicator; may be empty

  friend bool operator==(error_facts const&, error_facts const&) = default;
};

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
  error& operator=(error const&) = default;
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
