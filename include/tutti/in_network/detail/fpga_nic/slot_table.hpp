// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/untouched_memory.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/in_network/detail/fpga_nic/aggregate.hpp>
#include <tutti/in_network/detail/fpga_nic/block.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/held_weights.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_places.hpp>
#include <tutti/in_network/detail/fpga_nic/verdict.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The slots of one job, in a device or in what stands in for one, and the model of hardware. Packets in, elements out:
/// no I/O, no clock, no allocation. A worker contributes sequence q to a slot only after it has the result of the
/// sequence before in that slot, so two versions of each, told apart by `flag::phase`, lose nothing.
///
/// The bits of a result are those of the library's own kernels, in the order of arrival, or in rank order: those of
/// `star`. The first contribution is copied, which keeps -0; NaNs are canonical in the end.
///
/// @pre headers are well formed (`parse`)
class slot_table {
 public:
  /// `in_order`: the number of workers whose contributions can be kept until they are added in rank order; 0: none.
  /// `awaits_weights`: contributions to updates are taken before there is the block; it is needed for the last one.
  /// `racks`: of members, where in rank order means in order within each rack, and then rack by rack. A rack that is
  /// too large for that adds in order of arrival.
  slot_table(std::uint16_t count, unsigned in_order, bool awaits_weights = false, rack_places racks = {})
      : count_(count),
        awaits_weights_(awaits_weights),
        in_order_(in_order == 0 || racks.empty() ? most_in_order(in_order) : static_cast<unsigned>(racks.members())),
        blocks_(kept(in_order, racks)),
        racks_(std::move(racks)),
        aggregates_(std::size_t{count} * 2),
        data_(aggregates_.size()),
        kept_(aggregates_.size() * blocks_) {}

  /// What that takes.
  [[nodiscard]] static std::size_t bytes(std::uint16_t count, unsigned in_order,
                                         rack_places const& racks = {}) noexcept {
    return std::size_t{count} * 2 * (sizeof(aggregate) + sizeof(block) * (std::size_t{1} + kept(in_order, racks)));
  }

  [[nodiscard]] std::uint16_t size() const noexcept { return count_; }

  /// A `contribute` of the member with this number.
  [[nodiscard]] verdict contribute(std::uint8_t member, header const& h, std::span<std::byte const> payload) noexcept {
    update_terms const terms = has_terms(h) ? read_update_terms(payload) : update_terms{};
    std::span<std::byte const> const elements =
        payload.first(payload.size() - (has_terms(h) ? update_terms::bytes : 0));
    if (verdict const v = admits(member, h); v.what != outcome::stored) {
      return v;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    if (a.is(h.sequence)) {
      if (verdict const v = agrees(a, member, h, elements.size(), terms);
          v.what == outcome::mismatch || a.stands == aggregate::state::complete) {
        return v;
      }
    }
    if (has_terms(h) && !may_update(a, h, terms)) {
      return {outcome::no_weights};
    }
    if (!a.is(h.sequence)) {
      begin(a, h);
    } else if (a.arrived.has(h.worker)) {
      return {outcome::duplicate};
    }
    take(i, member, h, elements, terms);
    if (a.count < a.workers) {
      return {outcome::stored};
    }
    finish(i);
    return {outcome::completed};
  }

  /// A `supply` of a member: the result, as it has it. Workers that have contributed get it, unless they have been
  /// answered.
  [[nodiscard]] verdict supply(std::uint8_t member, header const& h, std::span<std::byte const> result) noexcept {
    if (verdict const v = admits(member, h); v.what != outcome::stored) {
      return v;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    if (a.is(h.sequence)) {
      if (verdict const v = same_call(a, h); v.what == outcome::mismatch || a.stands == aggregate::state::complete) {
        return v;
      }
    } else {
      begin(a, h);
    }
    a.length = h.length;
    a.stands = aggregate::state::complete;
    data_[i].copy(result);
    return {outcome::completed};
  }

  /// What a sum that is complete here has come to with those of other racks, and so a result. False: nothing of that
  /// sequence is complete here.
  bool replace(header const& h, std::span<std::byte const> result) noexcept {
    if (h.slot >= count_) {
      return false;
    }
    std::size_t const i = index(h);
    aggregate& a = aggregates_[i];
    bool const fits = a.length == 0 || result.empty() || a.length == result.size();
    if (!a.is(h.sequence) || a.stands != aggregate::state::complete || !fits) {
      return false;
    }
    if (!result.empty()) {  // else it is known here
      a.length = static_cast<std::uint16_t>(result.size());
      data_[i].copy(result);
    }
    return true;
  }

  /// A `query`: `accepted` if there is a result, `stored` if there is none yet, whether or not anything is known of the
  /// sequence. Changes nothing.
  [[nodiscard]] verdict query(header const& h) const noexcept {
    if (h.slot >= count_) {
      return {outcome::no_slot};
    }
    aggregate const& a = aggregates_[index(h)];
    if (!a.is(h.sequence)) {
      return {overtaken(a, h) ? outcome::late : outcome::stored};
    }
    return same_call(a, h);
  }

  // --- weights

  [[nodiscard]] held_weights const& weights() const noexcept { return weights_; }
  /// Makes room for the weights of this number of keys. @pre not of fewer than there is
  void make_room(std::size_t keys) { weights_.make_room(keys); }
  /// A keyed `supply`: `stored`, or `accepted` if a later version is there.
  [[nodiscard]] verdict store(header const& h, std::span<std::byte const> weights) noexcept {
    if (h.sequence >= weights_.room()) {
      return {outcome::no_slot};
    }
    return {weights_.store(h.sequence, h.fingerprint, weights) ? outcome::stored : outcome::accepted};
  }
  /// A keyed `query`: `accepted`, or why not.
  [[nodiscard]] verdict recall(header const& h) const noexcept {
    return {weights_.has(h.sequence) ? outcome::accepted : outcome::no_weights};
  }

  /// The version that a header is about. @pre h.slot < size()
  [[nodiscard]] aggregate const& at(header const& h) const noexcept { return aggregates_[index(h)]; }
  /// Its elements. @pre it is complete
  [[nodiscard]] std::span<std::byte const> data(header const& h) const noexcept {
    std::size_t const i = index(h);
    return {data_[i].bytes.data(), aggregates_[i].length};
  }

  friend bool operator==(slot_table const&, slot_table const&) = default;

 private:
  [[nodiscard]] static constexpr unsigned most_in_order(unsigned wanted) noexcept {
    return wanted < max_workers_in_order ? wanted : max_workers_in_order;
  }
  /// The blocks that are kept of a version.
  [[nodiscard]] static unsigned kept(unsigned in_order, rack_places const& racks) noexcept {
    return in_order == 0 || racks.empty() ? most_in_order(in_order) : racks.blocks();
  }
  [[nodiscard]] static std::size_t index(header const& h) noexcept {
    return std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0);
  }
  /// Whether a sequence comes before another one. Sequences wrap.
  [[nodiscard]] static bool before(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
  }
  /// Whether the version has completed a sequence later than this one, or this one before another.
  [[nodiscard]] static bool overtaken(aggregate const& a, header const& h) noexcept {
    if (a.stands == aggregate::state::complete) {
      return before(h.sequence, a.sequence);
    }
    return a.has_completed && !before(a.completed, h.sequence);
  }
  [[nodiscard]] static bool has_contributed(aggregate const& a, std::uint8_t member) noexcept {
    bool has = false;
    a.arrived.each([&](unsigned w) { has = has || a.member[w] == member; });
    return has;
  }

  /// Whether a slot may take it from this member: `stored`, or why not.
  ///
  /// Not all members take part in every sequence, so one that does not may be ahead. Where two sequences meet that are
  /// not complete, the earlier one takes precedence: contributions to the later one are sent again. But a member goes
  /// on only with a result, so one that has contributed and sends something later has got its result elsewhere, and
  /// nothing waits for that sequence here.
  [[nodiscard]] verdict admits(std::uint8_t member, header const& h) const noexcept {
    if (h.slot >= count_) {
      return {outcome::no_slot};
    }
    bool const known = combines(h.operation) || h.operation == network_operation::copy;
    if (!known || (combines(h.operation) && h.has(flag::in_rank_order) && h.workers > in_order_)) {
      return {outcome::unsupported};
    }
    aggregate const& a = aggregates_[index(h)];
    if (a.is(h.sequence) || a.stands == aggregate::state::empty) {
      return {outcome::stored};
    }
    if (overtaken(a, h)) {
      return {outcome::late};
    }
    bool const waits = a.stands == aggregate::state::open && before(a.sequence, h.sequence);
    return {waits && !has_contributed(a, member) ? outcome::busy : outcome::stored};
  }

  /// Whether a packet of the version's sequence is of the same call: `mismatch` if not, else `accepted` or `stored`, as
  /// there is a result or not.
  [[nodiscard]] static verdict same_call(aggregate const& a, header const& h) noexcept {
    if (a.fingerprint != h.fingerprint || a.operation != h.operation || a.workers != h.workers ||
        a.in_rank_order != h.has(flag::in_rank_order)) {
      return {outcome::mismatch, a.opener};
    }
    return {a.stands == aggregate::state::complete ? outcome::accepted : outcome::stored};
  }
  /// The same of a contribution, whose length and sender say more.
  [[nodiscard]] static verdict agrees(aggregate const& a, std::uint8_t member, header const& h, std::size_t length,
                                      update_terms const& terms) noexcept {
    verdict const v = same_call(a, h);
    if (v.what == outcome::mismatch) {
      return v;
    }
    if (a.arrived.has(h.worker)) {
      return a.member[h.worker] == member ? v : verdict{outcome::mismatch, h.worker};
    }
    if (a.count != 0 && a.terms != terms) {
      return {outcome::mismatch, a.opener};
    }
    bool const one_more = length != 0 && a.length != 0 && a.stands == aggregate::state::open;
    if (one_more && (a.operation == network_operation::copy || a.length != length)) {
      return {outcome::mismatch, static_cast<std::uint8_t>(a.gave.next(0))};
    }
    return v;
  }
  /// Whether a contribution to an update finds the weights that it takes for granted.
  [[nodiscard]] bool may_update(aggregate const& a, header const& h, update_terms const& terms) const noexcept {
    unsigned const before = a.is(h.sequence) ? a.count : 0U;
    bool const is_last = before + 1 >= h.workers && !(before != 0 && a.arrived.has(h.worker));
    return weights_.has(terms.key, terms.version) || (awaits_weights_ && !is_last);
  }

  static void begin(aggregate& a, header const& h) noexcept {
    if (a.stands == aggregate::state::complete) {
      a.has_completed = true;
      a.completed = a.sequence;
    }
    a.stands = aggregate::state::open;
    a.operation = h.operation;
    a.in_rank_order = h.has(flag::in_rank_order);
    a.workers = h.workers;
    a.opener = h.worker;
    a.count = 0;
    a.length = 0;
    a.sequence = h.sequence;
    a.fingerprint = h.fingerprint;
    a.terms = {};
    a.arrived = {};
    a.gave = {};
    a.wants_no_data = {};
  }

  void take(std::size_t i, std::uint8_t member, header const& h, std::span<std::byte const> elements,
            update_terms const& terms) noexcept {
    aggregate& a = aggregates_[i];
    a.terms = terms;
    a.arrived.add(h.worker);
    a.member[h.worker] = member;
    ++a.count;
    if (h.has(flag::no_data)) {
      a.wants_no_data.add(h.worker);
    }
    if (elements.empty()) {
      return;
    }
    bool const is_kept = combines(a.operation) && a.in_rank_order;
    bool const is_first = is_kept ? !has_begun(a, member) : a.length == 0;
    block& to = is_kept ? kept_[i * blocks_ + place(h.worker, member)] : data_[i];
    a.gave.add(h.worker);
    a.length = static_cast<std::uint16_t>(elements.size());
    if (is_first) {
      to.copy(elements);
    } else {
      block aligned;
      aligned.copy(elements);
      combine(i, to, aligned);
    }
  }
  /// The block where a worker's contribution is kept.
  [[nodiscard]] std::size_t place(std::uint8_t worker, std::uint8_t member) const noexcept {
    return racks_.empty() ? worker : racks_.block(member);
  }
  /// Whether that block has something of others.
  [[nodiscard]] bool has_begun(aggregate const& a, std::uint8_t member) const noexcept {
    bool has = false;
    if (!racks_.empty() && racks_.shares(member)) {
      a.gave.each([&](std::uint8_t w) { has = has || racks_.block(a.member[w]) == racks_.block(member); });
    }
    return has;
  }

  void finish(std::size_t i) noexcept {
    aggregate& a = aggregates_[i];
    if (combines(a.operation) && a.in_rank_order) {
      racks_.empty() ? add_all(i) : add_by_rack(i);
    }
    if (combines(a.operation)) {
      with(a.operation, [&](auto const& r) {
        std::byte* const to = data_[i].bytes.data();
        detail::finish(r, false, to, to, a.length / 4U, a.workers);
      });
    }
    if (a.operation == network_operation::update) {
      weights_.update(a.terms, data_[i]);
    }
    a.stands = aggregate::state::complete;
  }
  void add_all(std::size_t i) noexcept {
    bool is_first = true;
    aggregates_[i].gave.each([&](unsigned w) { add(i, data_[i], kept_[i * blocks_ + w], is_first); });
  }
  void add_by_rack(std::size_t i) noexcept {
    aggregate const& a = aggregates_[i];
    bool is_first_rack = true;
    for (unsigned rack = 0; rack != max_racks; ++rack) {
      block of_rack;
      bool is_first = true;
      a.gave.each([&](std::uint8_t w) {
        std::uint8_t const m = a.member[w];
        if (racks_.rack(m) == rack && (is_first || !racks_.shares(m))) {
          add(i, of_rack, kept_[i * blocks_ + racks_.block(m)], is_first);
        }
      });
      if (!is_first) {
        add(i, data_[i], of_rack, is_first_rack);
      }
    }
  }
  void add(std::size_t i, block& to, block const& from, bool& is_first) noexcept {
    if (std::exchange(is_first, false)) {
      to.copy({from.bytes.data(), aggregates_[i].length});
    } else {
      combine(i, to, from);
    }
  }
  void combine(std::size_t i, block& to, block const& with_it) noexcept {
    aggregate const& a = aggregates_[i];
    with(a.operation, [&](auto const& r) {
      std::byte* const at = to.bytes.data();
      detail::fold(r, {}, at, with_it.bytes.data(), at, a.length / 4U, a.workers);
    });
  }
  template <class F>
  static void with(network_operation o, F const& f) {
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
  unsigned in_order_;  ///< workers, at most, whose contributions are added so
  unsigned blocks_;    ///< of contributions that a version keeps
  rack_places racks_;
  std::vector<aggregate> aggregates_;
  std::vector<block, untouched_memory<block>> data_;
  std::vector<block, untouched_memory<block>> kept_;  ///< contributions that are added when all are there
  held_weights weights_;
};

}  // namespace tutti::detail::fpga_nic
