// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/untouched_memory.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/in_network/detail/fpga_nic/aggregate.hpp>
#include <tutti/in_network/detail/fpga_nic/block.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/device_weights.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_layout.hpp>
#include <tutti/in_network/detail/fpga_nic/verdict.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The slots of one job, in a device or in the stand-in; also the model of hardware. Packets in, elements out: no
/// I/O, no clock, no allocation.
///
/// A worker contributes sequence q to a slot only after it has the result of the previous sequence in that slot. So
/// two versions of each slot suffice, told apart by `flag::phase`:
///
///     version:  empty --first contribution--> open --last contribution, or supply--> complete
///                                               ^                                        |
///                                               +---- contribution to a later sequence --+
///
/// Results have the bits of the library's own kernels, in order of arrival or in rank order, which is that of `star`.
/// The first contribution is copied, which preserves -0; NaNs are canonical in the end.
///
/// @pre headers are well formed (`parse`)
class slot_table {
 public:
  /// `in_order`: number of workers whose contributions can be stored to be added in rank order; 0: none.
  /// `awaits_weights`: accepts contributions to an update before the block is there; the last one needs it. `racks`:
  /// by member; rank order then means in order within each rack, and rack by rack. A rack too large for that adds in
  /// order of arrival.
  slot_table(std::uint16_t count, unsigned in_order, bool awaits_weights = false, rack_layout racks = {})
      : count_(count),
        awaits_weights_(awaits_weights),
        in_order_(in_order == 0 || racks.empty() ? max_in_order(in_order) : static_cast<unsigned>(racks.members())),
        blocks_(stored_blocks(in_order, racks)),
        racks_(std::move(racks)),
        aggregates_(std::size_t{count} * 2),
        data_(aggregates_.size()),
        contributions_(aggregates_.size() * blocks_) {}

  [[nodiscard]] static std::size_t bytes(std::uint16_t count, unsigned in_order,
                                         rack_layout const& racks = {}) noexcept {
    return std::size_t{count} * 2 *
           (sizeof(aggregate) + sizeof(block) * (std::size_t{1} + stored_blocks(in_order, racks)));
  }

  [[nodiscard]] std::uint16_t size() const noexcept { return count_; }

  /// Handles a `contribute` of a member.
  [[nodiscard]] verdict contribute(std::uint8_t member, header const& h, std::span<std::byte const> payload) noexcept {
    update_terms const terms = has_terms(h) ? read_update_terms(payload) : update_terms{};
    std::span<std::byte const> const elements =
        payload.first(payload.size() - (has_terms(h) ? update_terms::bytes : 0));
    if (verdict const decision = admits(member, h); decision.result != outcome::pending) {
      return decision;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    if (a.has_sequence(h.sequence)) {
      if (verdict const decision = agrees(a, member, h, elements.size(), terms);
          decision.result == outcome::mismatch || a.progress == aggregate::state::complete) {
        return decision;
      }
    }
    if (has_terms(h) && !may_update(a, h, terms)) {
      return {outcome::no_weights};
    }
    if (!a.has_sequence(h.sequence)) {
      begin(a, h);
    } else if (a.contributors.has(h.worker)) {
      return {outcome::duplicate};
    }
    add_contribution(i, member, h, elements, terms);
    if (a.count < a.workers) {
      return {outcome::pending};
    }
    finish(i);
    return {outcome::complete};
  }

  /// Handles a `supply` of a member: the result. Workers that have contributed and have not been answered get it.
  [[nodiscard]] verdict supply(std::uint8_t member, header const& h, std::span<std::byte const> result) noexcept {
    if (verdict const decision = admits(member, h); decision.result != outcome::pending) {
      return decision;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    if (a.has_sequence(h.sequence)) {
      if (verdict const decision = same_call(a, h);
          decision.result == outcome::mismatch || a.progress == aggregate::state::complete) {
        return decision;
      }
    } else {
      begin(a, h);
    }
    a.length = h.length;
    a.progress = aggregate::state::complete;
    data_[i].copy(result);
    return {outcome::complete};
  }

  /// Replaces this rack's sum by the sum over all racks. Returns false if this sequence is not complete in this
  /// table.
  bool replace(header const& h, std::span<std::byte const> result) noexcept {
    if (h.slot >= count_) {
      return false;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    bool const fits = a.length == 0 || result.empty() || a.length == result.size();
    if (!a.has_sequence(h.sequence) || a.progress != aggregate::state::complete || !fits) {
      return false;
    }
    if (!result.empty()) {  // an empty result means that this rack's elements are the result
      a.length = static_cast<std::uint16_t>(result.size());
      data_[i].copy(result);
    }
    return true;
  }

  /// Handles a `query`, and changes nothing: `available` if there is a result, and `pending` if it is not complete or
  /// the sequence is unknown.
  [[nodiscard]] verdict query(header const& h) const noexcept {
    if (h.slot >= count_) {
      return {outcome::no_slot};
    }
    aggregate const& a = aggregates_[index(h)];
    if (!a.has_sequence(h.sequence)) {
      return {overtaken(a, h) ? outcome::late : outcome::pending};
    }
    return same_call(a, h);
  }

  // --- weights

  [[nodiscard]] device_weights const& weights() const noexcept { return weights_; }
  /// Allocates memory for the weights of this number of keys. @pre not fewer than before
  void make_room(std::size_t keys) { weights_.make_room(keys); }
  /// Handles a `supply` of weights: `pending` if they are stored, or `available` if a later version is here.
  [[nodiscard]] verdict store(header const& h, std::span<std::byte const> weights) noexcept {
    if (h.sequence >= weights_.room()) {
      return {outcome::no_slot};
    }
    return {weights_.store(h.sequence, h.fingerprint, weights) ? outcome::pending : outcome::available};
  }
  /// Handles a `query` for weights: `available`, or the reason why not.
  [[nodiscard]] verdict recall(header const& h) const noexcept {
    return {weights_.has(h.sequence) ? outcome::available : outcome::no_weights};
  }

  /// The version that a header is about. @pre h.slot < size()
  [[nodiscard]] aggregate const& at(header const& h) const noexcept { return aggregates_[index(h)]; }
  /// The elements of that version. @pre it is complete
  [[nodiscard]] std::span<std::byte const> data(header const& h) const noexcept {
    std::size_t const i = index(h);
    return {data_[i].bytes.data(), aggregates_[i].length};
  }

  friend bool operator==(slot_table const&, slot_table const&) = default;

 private:
  [[nodiscard]] static constexpr unsigned max_in_order(unsigned worker_count) noexcept {
    return worker_count < max_workers_in_order ? worker_count : max_workers_in_order;
  }
  /// Blocks of contributions that a version stores.
  [[nodiscard]] static unsigned stored_blocks(unsigned in_order, rack_layout const& racks) noexcept {
    return in_order == 0 || racks.empty() ? max_in_order(in_order) : racks.blocks();
  }
  [[nodiscard]] static std::size_t index(header const& h) noexcept {
    return std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0);
  }
  /// True if sequence a comes before b. Sequences wrap around.
  [[nodiscard]] static bool precedes(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
  }
  /// True if the version has completed a later sequence, or completed this one and moved on.
  [[nodiscard]] static bool overtaken(aggregate const& a, header const& h) noexcept {
    if (a.progress == aggregate::state::complete) {
      return precedes(h.sequence, a.sequence);
    }
    return a.has_completed && !precedes(a.completed_sequence, h.sequence);
  }
  [[nodiscard]] static bool has_contributed(aggregate const& a, std::uint8_t member) noexcept {
    bool is_found = false;
    a.contributors.for_each([&](unsigned w) { is_found = is_found || a.member[w] == member; });
    return is_found;
  }

  /// Decides if a slot may take a packet of this member: `pending`, or the reason why not.
  ///
  /// A member may skip a sequence here, because it has that result from the stand-in, and be ahead. If two incomplete
  /// sequences meet, the earlier one takes precedence, and contributions to the later one are sent again (`busy`).
  /// The exception is a member that has contributed to the earlier one: it has got that result from another server,
  /// and nobody waits for that sequence here.
  [[nodiscard]] verdict admits(std::uint8_t member, header const& h) const noexcept {
    if (h.slot >= count_) {
      return {outcome::no_slot};
    }
    bool const is_known = combines(h.operation) || h.operation == network_operation::copy;
    if (!is_known || (combines(h.operation) && h.has(flag::in_rank_order) && h.workers > in_order_)) {
      return {outcome::unsupported_operation};
    }
    aggregate const& a = aggregates_[index(h)];
    if (a.has_sequence(h.sequence) || a.progress == aggregate::state::empty) {
      return {outcome::pending};
    }
    if (overtaken(a, h)) {
      return {outcome::late};
    }
    bool const is_waiting = a.progress == aggregate::state::open && precedes(a.sequence, h.sequence);
    return {is_waiting && !has_contributed(a, member) ? outcome::busy : outcome::pending};
  }

  /// Compares the call of a packet with that of the version: `mismatch`, else `available` or `pending`.
  [[nodiscard]] static verdict same_call(aggregate const& a, header const& h) noexcept {
    if (a.fingerprint != h.fingerprint || a.operation != h.operation || a.workers != h.workers ||
        a.in_rank_order != h.has(flag::in_rank_order)) {
      return {outcome::mismatch, a.opener};
    }
    return {a.progress == aggregate::state::complete ? outcome::available : outcome::pending};
  }
  /// Compares a contribution with the version: call, sender, terms and length.
  [[nodiscard]] static verdict agrees(aggregate const& a, std::uint8_t member, header const& h, std::size_t length,
                                      update_terms const& terms) noexcept {
    verdict const decision = same_call(a, h);
    if (decision.result == outcome::mismatch) {
      return decision;
    }
    if (a.contributors.has(h.worker)) {
      return a.member[h.worker] == member ? decision : verdict{outcome::mismatch, h.worker};
    }
    if (a.count != 0 && a.terms != terms) {
      return {outcome::mismatch, a.opener};
    }
    bool const one_more = length != 0 && a.length != 0 && a.progress == aggregate::state::open;
    if (one_more && (a.operation == network_operation::copy || a.length != length)) {
      return {outcome::mismatch, static_cast<std::uint8_t>(a.element_contributors.next(0))};
    }
    return decision;
  }
  /// True if the weights that a contribution to an update needs are here, or may still come.
  [[nodiscard]] bool may_update(aggregate const& a, header const& h, update_terms const& terms) const noexcept {
    unsigned const count_before = a.has_sequence(h.sequence) ? a.count : 0U;
    bool const is_last = count_before + 1 >= h.workers && !(count_before != 0 && a.contributors.has(h.worker));
    return weights_.has(terms.key, terms.version) || (awaits_weights_ && !is_last);
  }

  static void begin(aggregate& a, header const& h) noexcept {
    if (a.progress == aggregate::state::complete) {
      a.has_completed = true;
      a.completed_sequence = a.sequence;
    }
    a.progress = aggregate::state::open;
    a.operation = h.operation;
    a.in_rank_order = h.has(flag::in_rank_order);
    a.workers = h.workers;
    a.opener = h.worker;
    a.count = 0;
    a.length = 0;
    a.sequence = h.sequence;
    a.fingerprint = h.fingerprint;
    a.terms = {};
    a.contributors = {};
    a.element_contributors = {};
    a.wants_no_data = {};
  }

  void add_contribution(std::size_t i, std::uint8_t member, header const& h, std::span<std::byte const> elements,
                        update_terms const& terms) noexcept {
    aggregate& a = aggregates_[i];
    a.terms = terms;
    a.contributors.add(h.worker);
    a.member[h.worker] = member;
    ++a.count;
    if (h.has(flag::no_data)) {
      a.wants_no_data.add(h.worker);
    }
    if (elements.empty()) {
      return;
    }
    bool const is_stored = combines(a.operation) && a.in_rank_order;
    bool const is_first = is_stored ? !has_begun(a, member) : a.length == 0;
    block& target = is_stored ? contributions_[i * blocks_ + block_of(h.worker, member)] : data_[i];
    a.element_contributors.add(h.worker);
    a.length = static_cast<std::uint16_t>(elements.size());
    if (is_first) {
      target.copy(elements);
    } else {
      block aligned_operand;
      aligned_operand.copy(elements);
      combine(i, target, aligned_operand);
    }
  }
  /// The block for a worker's contribution.
  [[nodiscard]] std::size_t block_of(std::uint8_t worker, std::uint8_t member) const noexcept {
    return racks_.empty() ? worker : racks_.block(member);
  }
  /// True if the block already has a contribution of another worker.
  [[nodiscard]] bool has_begun(aggregate const& a, std::uint8_t member) const noexcept {
    bool is_found = false;
    if (!racks_.empty() && racks_.shares(member)) {
      a.element_contributors.for_each(
          [&](std::uint8_t w) { is_found = is_found || racks_.block(a.member[w]) == racks_.block(member); });
    }
    return is_found;
  }

  void finish(std::size_t i) noexcept {
    aggregate& a = aggregates_[i];
    if (combines(a.operation) && a.in_rank_order) {
      racks_.empty() ? add_all(i) : add_by_rack(i);
    }
    if (combines(a.operation)) {
      with_reduction(a.operation, [&](auto const& r) {
        std::byte* const target = data_[i].bytes.data();
        detail::finish(r, false, target, target, a.length / 4U, a.workers);
      });
    }
    if (a.operation == network_operation::update) {
      weights_.update(a.terms, data_[i]);
    }
    a.progress = aggregate::state::complete;
  }
  void add_all(std::size_t i) noexcept {
    bool is_first = true;
    aggregates_[i].element_contributors.for_each(
        [&](unsigned w) { add(i, data_[i], contributions_[i * blocks_ + w], is_first); });
  }
  void add_by_rack(std::size_t i) noexcept {
    aggregate const& a = aggregates_[i];
    bool is_first_rack = true;
    for (unsigned rack = 0; rack != max_racks; ++rack) {
      block rack_sum;
      bool is_first = true;
      a.element_contributors.for_each([&](std::uint8_t w) {
        std::uint8_t const m = a.member[w];
        if (racks_.rack(m) == rack && (is_first || !racks_.shares(m))) {
          add(i, rack_sum, contributions_[i * blocks_ + racks_.block(m)], is_first);
        }
      });
      if (!is_first) {
        add(i, data_[i], rack_sum, is_first_rack);
      }
    }
  }
  void add(std::size_t i, block& target, block const& source, bool& is_first) noexcept {
    if (std::exchange(is_first, false)) {
      target.copy({source.bytes.data(), aggregates_[i].length});
    } else {
      combine(i, target, source);
    }
  }
  void combine(std::size_t i, block& target, block const& operand) noexcept {
    aggregate const& a = aggregates_[i];
    with_reduction(a.operation, [&](auto const& r) {
      std::byte* const at = target.bytes.data();
      detail::fold(r, {}, at, operand.bytes.data(), at, a.length / 4U, a.workers);
    });
  }
  template <class F>
  static void with_reduction(network_operation o, F const& f) {
    switch (o) {
      case network_operation::sum_float32:
      case network_operation::update:
        return f(sum<float>{});
      case network_operation::max_float32:
        return f(max<float>{});
      case network_operation::saturating_sum_int32:
        return f(saturating_sum<std::int32_t>{});
      default:
        return;
    }
  }

  std::uint16_t count_;
  bool awaits_weights_;
  unsigned in_order_;  ///< most workers whose contributions are added in rank order
  unsigned blocks_;    ///< blocks of contributions that a version stores
  rack_layout racks_;
  std::vector<aggregate> aggregates_;
  std::vector<block, untouched_memory<block>> data_;
  std::vector<block, untouched_memory<block>> contributions_;  ///< contributions that are added when all are there
  device_weights weights_;
};

}  // namespace tutti::detail::fpga_nic
