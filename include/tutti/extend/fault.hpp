// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/bounded_text.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The kinds of failure of a world.
enum class failure : std::uint8_t {
  none,         ///< no failure
  peer_lost,    ///< a peer died, closed its connection or left while it was needed
  deadline,     ///< nothing arrived in time
  mismatch,     ///< the ranks called different operations
  cancelled,    ///< a rank gave up its operation
  protocol,     ///< bytes that no tutti peer would send
  join,         ///< the world did not come together
  unreachable,  ///< no connection to a peer could ever be made; the peer may be alive
  aborted,      ///< a rank has ended the world on purpose
};

/// The number of kinds of failure, for decoders.
inline constexpr std::uint64_t failure_kinds = 9;

/// The word for a kind of failure in messages.
[[nodiscard]] constexpr std::string_view name(failure kind) noexcept {
  constexpr std::string_view names[] = {"none",     "peer lost",   "deadline passed", "mismatched call", "cancelled",
                                        "protocol", "join failed", "unreachable",     "aborted"};
  static_assert(std::size(names) == failure_kinds);
  return names[static_cast<std::size_t>(kind)];
}

/// The state of an epoch that has failed: the rank at fault, the reporter, and the reason that the system or the
/// program gave. All but the program's reason is packed into one shared word. A default-constructed fault stands for no
/// failure.
struct fault {
  static constexpr std::size_t reason_text = 56;  ///< size of the program's reason with its zero: longer ones are cut

  failure kind = failure::none;  ///< the kind of failure; none: nothing has failed
  rank_type culprit = no_rank;   ///< the rank at fault; no_rank: none in particular
  /// The rank that noticed first. Of an abort: the aborting rank, by its number in the world, as it may be no member.
  rank_type reporter = no_rank;
  std::uint64_t circle = 0;  ///< ranks in a deadlock, a bit each; `culprit` and `reporter` are then no_rank
  int code = 0;              ///< the errno of a failed system call, 1 to 127; 0: none
  bool elsewhere = false;    ///< the fault is in another communicator of the same world, and made a rank leave this one
  char reason[reason_text] = {};  ///< the reason for an abort, as the program gave it

  /// The bit of a rank in `circle`; 0 for ranks of 48 and above.
  [[nodiscard]] static constexpr std::uint64_t bit_of(rank_type r) noexcept {
    return r < 48 ? std::uint64_t{1} << r : 0;
  }

  /// True if there is a fault.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return kind != failure::none; }
  friend constexpr bool operator==(fault const&, fault const&) = default;

  /// Packs the fault into a word; zero stands for no fault. The program's reason, and a code that does not fit, are
  /// left out.
  /// @pre ranks are below 2^24 - 1
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    std::uint64_t const kind_bits = static_cast<std::uint64_t>(kind) | (elsewhere ? is_elsewhere : 0);
    if (circle != 0) {
      return in_circle | circle << 8 | kind_bits;
    }
    std::uint64_t const code_bits = code > 0 && code < 128 ? static_cast<std::uint64_t>(code) : 0;
    return code_bits << 56 | (std::uint64_t{culprit} & 0xffffffU) << 32 | (std::uint64_t{reporter} & 0xffffffU) << 8 |
           kind_bits;
  }
  /// The fault of an abort by a rank.
  /// @param culprit its number in the communicator; no_rank: it is no member
  /// @param in_world its number in the world
  [[nodiscard]] static constexpr fault abort(rank_type culprit, rank_type in_world,
                                             std::string_view program_reason) noexcept {
    fault f{.kind = failure::aborted, .culprit = culprit, .reporter = in_world};
    detail::copy_bounded(program_reason, f.reason);
    return f;
  }
  /// The fault that `pack` put into this word.
  /// @param program_reason beside the word, if it is the fault of an abort
  [[nodiscard]] static constexpr fault unpack(std::uint64_t word, std::string_view program_reason) noexcept {
    fault result = unpack(word);
    if (result.kind == failure::aborted) {
      detail::copy_bounded(program_reason, result.reason);
    }
    return result;
  }
  /// The fault that `pack` put into this word, without the program's reason.
  [[nodiscard]] static constexpr fault unpack(std::uint64_t word) noexcept {
    auto const rank = [](std::uint64_t bits) {
      const auto r = static_cast<rank_type>(bits & 0xffffffU);
      return r == 0xffffffU ? no_rank : r;
    };
    auto const kind = static_cast<failure>(word & 0x7fU);
    bool const is_in_other = (word & is_elsewhere) != 0;
    if ((word & in_circle) != 0) {
      return {kind, no_rank, no_rank, word >> 8 & 0xffff'ffff'ffffU, 0, is_in_other, {}};
    }
    return {kind, rank(word >> 32), rank(word >> 8), 0, static_cast<int>(word >> 56), is_in_other, {}};
  }

 private:
  static constexpr std::uint64_t in_circle = std::uint64_t{1} << 63;
  static constexpr std::uint64_t is_elsewhere = 0x80;
};

/// The facts of an error beside its text, as one value, so that code that passes an error on passes all of it.
struct error_facts {
  failure kind = failure::none;          ///< the kind of failure
  std::string communicator = {};         ///< its name; the parent's if a split fails; empty: no communicator yet
  std::string operation = {};            ///< the operation in words; empty if none
  std::uint64_t sequence = 0;            ///< the number of the operation in its communicator
  std::uint32_t step = 0;                ///< the step of its schedule
  rank_type self = no_rank;              ///< the reporting rank, by its number in the communicator
  std::vector<rank_type> at_fault = {};  ///< the ranks at fault, by their numbers in the communicator; may be empty

  friend bool operator==(error_facts const&, error_facts const&) = default;
};

}  // namespace tutti
