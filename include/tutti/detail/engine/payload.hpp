// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/topology.hpp>

#include <cstddef>
#include <cstring>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Copies in pieces that remain in the caches. A long memcpy may bypass them, which takes twice as long if the next
/// reader would have found the bytes there: 16 MiB take 0.8 ms, and 0.4 ms in pieces.
inline void copy_in_pieces(std::byte const* source, std::byte* destination, std::size_t bytes) noexcept {
  constexpr std::size_t piece = std::size_t{256} << 10;
  while (bytes != 0) {
    std::size_t const count = bytes < piece ? bytes : piece;
    std::memcpy(destination, source, count);
    source += count;
    destination += count;
    bytes -= count;
  }
}

/// Payload policy that combines arriving elements by a reduction.
template <tutti::reduction R>
struct combining {
  using contribution_type = contribution_t<R>;
  using value_type = typename R::value_type;
  using accumulator_type = typename R::accumulator_type;

  [[no_unique_address]] R reduction;

  /// True if contributions must be combined in rank order.
  static constexpr bool in_rank_order = !R::commutative;
  /// The operation requested of an in-network aggregator.
  static constexpr network_operation in_network = network_operation_of<R>;
  /// True if ranks must lift their contributions before an in-network aggregator receives them (`lift_first`).
  static constexpr bool lifts_for_aggregators = lifts<R>;
  /// True if `work` may be the user's own output.
  static constexpr bool work_fits_output = accumulates_in_elements<R>;
  /// True if `work` may be the user's own input, in operations that write neither.
  static constexpr bool work_fits_input = !lifts<R>;
  /// True if contributions, accumulators and results are different values.
  static constexpr bool memories_differ = lifts<R> || !lowers_nan_only<R> || !work_fits_output;

  [[nodiscard]] static constexpr std::size_t size_of(tutti::memory memory) noexcept {
    return memory == memory::input  ? sizeof(contribution_type)
           : memory == memory::work ? sizeof(accumulator_type)
                                    : sizeof(value_type);
  }

  /// @throws precondition_error unless an accumulator has room for a contribution of every rank
  void expect_room(rank_type ranks) const {
    if (ranks > most_contributions(reduction)) {
      refuse_ranks(R::name, most_contributions(reduction), ranks);
    }
  }

  /// A hash of the reduction and its settings, for the check that all ranks make one call.
  [[nodiscard]] std::uint32_t identity() const {
    std::uint32_t const spelt = hash(spelling_of<R>());
    if constexpr (has_own_settings<R>) {
      return spelt ^ reduction.settings();
    } else {
      return spelt;
    }
  }

  /// Combines `n` arriving elements or accumulators with the local ones; `contributions` are in this rank's result.
  void fold(step const& st, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n,
            rank_type contributions) const {
    tutti::detail::fold(reduction,
                        fold_kind{.local_is_element = st.local_memory == memory::input,
                                  .arriving_is_element = st.sender_memory == memory::input,
                                  .arriving_on_left = st.action == action::fold_left,
                                  .finishes = st.receive.memory == memory::output},
                        local, arriving, result, n, contributions);
  }

  /// Moves elements in a local step: lifts contributions, and finishes elements that reach the output.
  void convert(step const& st, std::byte const* source, std::byte* destination, std::size_t n,
               rank_type contributions) const {
    if (st.receive.memory == memory::output && st.send.memory != memory::output) {
      tutti::detail::finish(reduction, st.send.memory == memory::input, source, destination, n, contributions);
      return;
    }
    if constexpr (lifts<R>) {
      if (st.send.memory == memory::input) {
        tutti::detail::lift(reduction, source, destination, n);
        return;
      }
    }
    if (source != destination) {
      std::memcpy(destination, source, n * size_of(st.send.memory));
    }
  }
};

/// Payload policy that moves elements unchanged.
struct moving {
  std::size_t element_bytes;

  static constexpr bool in_rank_order = false;
  static constexpr network_operation in_network = network_operation::copy;
  static constexpr bool lifts_for_aggregators = false;

  [[nodiscard]] constexpr std::size_t size_of(memory) const noexcept { return element_bytes; }
};

struct combining_any;

/// Each policy with its type erased: element sizes, and pointers to the code that combines. The engine is compiled
/// once for all element types and reductions. A message takes at least one call anyway, so the pointer has no
/// measurable cost.
class payload {
  using fold_function = void (*)(payload const& self, step const&, std::byte const* local, std::byte const* arriving,
                                 std::byte* result, std::size_t n);

 public:
  /// @param contributions the number of contributions in this rank's result
  /// @pre `policy` outlives this object
  template <tutti::reduction R>
  constexpr payload(combining<R> const& policy, rank_type contributions) noexcept
      : fold_(&code_of<R>::fold),
        convert_(&code_of<R>::convert),
        policy_(&policy),
        bytes_{policy.size_of(memory::input), policy.size_of(memory::work), policy.size_of(memory::output)},
        contributions_(contributions),
        elements_only_(SIZE_MAX),
        in_network_(policy.in_network),
        work_fits_output_(policy.work_fits_output),
        memories_differ_(policy.memories_differ) {}
  payload(moving const& elements, rank_type contributions) noexcept
      : fold_([](payload const&, step const&, std::byte const*, std::byte const*, std::byte*, std::size_t) {
          refuse_step("combines, and its operation only moves elements");
        }),
        convert_(&move),
        contributions_(contributions) {
    set_element_bytes(elements.element_bytes);
  }
  /// Combines elements by `fold_code`, which finds `policy` in the payload. Accumulators and results are elements.
  payload(fold_function fold_code, void const* policy, std::size_t element_bytes) noexcept
      : fold_(fold_code),
        convert_(&move),
        policy_(policy),
        bytes_{element_bytes, element_bytes, element_bytes},
        contributions_(1),
        elements_only_(SIZE_MAX),
        in_network_(network_operation::none) {}
  inline payload(combining_any const& policy, rank_type contributions) noexcept;

  /// Sets the element size, for operations that only move elements.
  void set_element_bytes(std::size_t bytes) noexcept {
    if (bytes_[0] != bytes) {
      bytes_[0] = bytes_[1] = bytes_[2] = bytes;
    }
  }

  [[nodiscard]] std::size_t size_of(tutti::memory memory) const noexcept {
    return bytes_[static_cast<std::size_t>(memory)];
  }
  /// The unit inside which a message is not cut. Branch-free, because it is needed for each message.
  [[nodiscard]] std::size_t granule(std::size_t size) const noexcept {
    return (size & elements_only_) | !elements_only_;
  }
  [[nodiscard]] network_operation in_network() const noexcept { return in_network_; }
  [[nodiscard]] bool work_fits_output() const noexcept { return work_fits_output_; }
  [[nodiscard]] bool memories_differ() const noexcept { return memories_differ_; }
  [[nodiscard]] void const* policy() const noexcept { return policy_; }

  /// Combines `n` arriving elements with local ones. @throws precondition_error if this operation only moves elements
  void fold(step const& st, std::byte const* local, std::byte const* arriving, std::byte* result, std::size_t n) const {
    fold_(*this, st, local, arriving, result, n);
  }
  /// Combines accumulators given as bytes, for in-network aggregators. `object` points to the payload.
  static void combine(void const* object, std::byte* accumulators, std::byte const* source, std::size_t bytes) {
    constexpr step right{.action = action::fold_right};
    payload const& self = *static_cast<payload const*>(object);
    self.fold(right, accumulators, source, accumulators, bytes / self.size_of(memory::work));
  }
  void copy(std::byte const* source, std::byte* destination, std::size_t bytes) const noexcept {
    if (bytes == sizeof(std::uint32_t)) {  // one element needs no call
      std::memcpy(destination, source, sizeof(std::uint32_t));
    } else if (bytes == sizeof(std::uint64_t)) {
      std::memcpy(destination, source, sizeof(std::uint64_t));
    } else {
      copy_in_pieces(source, destination, bytes);
    }
  }
  /// Moves `n` elements in a local step, as `combining::convert`.
  void convert(step const& st, std::byte const* source, std::byte* destination, std::size_t n) const {
    convert_(*this, st, source, destination, n);
  }

 private:
  template <class R>
  struct code_of;

  static void move(payload const& self, step const&, std::byte const* source, std::byte* destination, std::size_t n) {
    if (source != destination) {
      std::memcpy(destination, source, n * self.bytes_[0]);
    }
  }

  fold_function fold_;
  void (*convert_)(payload const& self, step const&, std::byte const* source, std::byte* destination, std::size_t n);
  void const* policy_ = nullptr;
  std::size_t bytes_[3] = {};  ///< element size in each memory
  rank_type contributions_;
  std::size_t elements_only_ = 0;  ///< mask: all bits set if no message may be cut inside an element
  network_operation in_network_ = network_operation::copy;
  bool work_fits_output_ = true;
  bool memories_differ_ = false;
};

/// The code of a reduction, compiled separately for likely ones (detail/instances/arithmetic.hpp). R is unconstrained,
/// because every unit would check the concept for each of those again.
template <class R>
struct payload::code_of {
  static void fold(payload const& self, step const&, std::byte const* local, std::byte const* arriving,
                   std::byte* result, std::size_t n);
  static void convert(payload const& self, step const&, std::byte const* source, std::byte* destination, std::size_t n);
};

template <class R>
void payload::code_of<R>::fold(payload const& self, step const& st, std::byte const* local, std::byte const* arriving,
                               std::byte* result, std::size_t n) {
  static_cast<combining<R> const*>(self.policy_)->fold(st, local, arriving, result, n, self.contributions_);
}
template <class R>
void payload::code_of<R>::convert(payload const& self, step const& st, std::byte const* source, std::byte* destination,
                                  std::size_t n) {
  static_cast<combining<R> const*>(self.policy_)->convert(st, source, destination, n, self.contributions_);
}

}  // namespace tutti::detail::engine
