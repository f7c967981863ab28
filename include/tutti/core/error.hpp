// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/operation.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tutti {

/// How the world failed.
enum class failure : std::uint8_t {
  none,
  peer_lost,  ///< a peer died, closed its connection or left while it was needed
  deadline,   ///< nothing arrived in time
  mismatch,   ///< the ranks called different operations
  cancelled,  ///< a rank gave up its operation
  protocol,   ///< bytes that no tutti peer would send
  join,       ///< the world did not come together
};

[[nodiscard]] constexpr std::string_view name(failure kind) noexcept {
  constexpr std::string_view names[] = {"none",      "peer lost", "deadline passed", "mismatched call",
                                        "cancelled", "protocol",  "join failed"};
  return names[static_cast<std::size_t>(kind)];
}

/// The state of an epoch that has failed, small enough for one shared word: who is at fault, who
/// noticed first. A default-constructed fault says that all is well.
struct fault {
  failure kind = failure::none;
  rank_type culprit = no_rank;   ///< no_rank: nobody in particular
  rank_type reporter = no_rank;  ///< the rank that noticed

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return kind != failure::none; }
  friend constexpr bool operator==(fault const&, fault const&) = default;

  /// Ranks below 2^24 - 1; zero stands for "no fault".
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return (std::uint64_t{culprit} & 0xffffffU) << 32 | (std::uint64_t{reporter} & 0xffffffU) << 8 |
           static_cast<std::uint64_t>(kind);
  }
  [[nodiscard]] static constexpr fault unpack(std::uint64_t word) noexcept {
    auto const rank = [](std::uint64_t bits) {
      const auto r = static_cast<rank_type>(bits & 0xffffffU);
      return r == 0xffffffU ? no_rank : r;
    };
    return {static_cast<failure>(word & 0xffU), rank(word >> 32), rank(word >> 8)};
  }
};

/// The world failed: a peer is gone, a deadline passed, the ranks disagree. Every survivor of the
/// operation gets one; the communicator is of no further use, and says so by the same error.
class error : public std::runtime_error {
 public:
  error(failure kind, std::string const& what) : std::runtime_error(what), kind_(kind) {}

  [[nodiscard]] failure kind() const noexcept { return kind_; }
  /// The operation, e.g. "allreduce(sum float32 x 1000, ring)"; empty outside one.
  [[nodiscard]] std::string const& operation() const noexcept { return operation_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] std::uint32_t step() const noexcept { return step_; }
  [[nodiscard]] rank_type self() const noexcept { return self_; }
  [[nodiscard]] std::vector<rank_type> const& at_fault() const noexcept { return at_fault_; }

  error& in(std::string operation, std::uint64_t sequence, std::uint32_t step) {
    operation_ = std::move(operation);
    sequence_ = sequence;
    step_ = step;
    return *this;
  }
  error& between(rank_type self, std::vector<rank_type> at_fault) {
    self_ = self;
    at_fault_ = std::move(at_fault);
    return *this;
  }

 private:
  failure kind_;
  std::string operation_;
  std::uint64_t sequence_ = 0;
  std::uint32_t step_ = 0;
  rank_type self_ = no_rank;
  std::vector<rank_type> at_fault_;
};

}  // namespace tutti
