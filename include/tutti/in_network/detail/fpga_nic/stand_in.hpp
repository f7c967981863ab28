// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Rank 0 in place of a device: a switch of one job, which asks members for missing contributions. A member answers
/// with its contribution, or with the result, if it has got that from the device.
template <class Address>
class stand_in {
 public:
  /// Memory for slots is allotted with the first join. `racks`: see slot_table.
  stand_in(std::uint16_t slot_count, std::vector<Address> members, std::vector<std::uint8_t> const& racks,
           seal const& packet_seal)
      : seal_(packet_seal),
        switch_({.jobs = 1,
                 .members = static_cast<unsigned>(members.size()),
                 .slot_count = slot_count,
                 .memory = SIZE_MAX,
                 .awaits_weights = true,
                 .racks = rack_layout(racks)},
                packet_seal),
        members_(std::move(members)),
        has_left_(members_.size()),
        listed_sequences_(std::size_t{slot_count} * 2) {}

  /// Handles a packet; answers go to `emitter(to, header, payload)`. Joins are accepted from the members' own
  /// addresses only.
  template <class Emit>
  void take(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now,
            Emit&& emitter) {
    packet p;
    if (seal_.read(bytes, p) != reading::good) {
      return;
    }
    header const& h = p.head;
    bool const is_its_number = h.worker < members_.size() && members_[h.worker] == source;
    if (h.kind == kind::join && !(is_its_number && h.workers == members_.size())) {
      return;
    }
    switch_.take(source, bytes, has_ecn_mark, now, emitter);
    if (h.kind == kind::leave && is_its_number) {
      last_heard_ = now;
      has_left_[h.worker] = true;
    } else if (has_joined(source, h.worker)) {
      last_heard_ = now;
      if (h.kind == kind::contribute) {
        list_open(h, now);
      }
    }
  }

  /// Stores a block of weights, for queries and updates.
  void store(std::uint32_t nonce, std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) {
    switch_.store(nonce, k, version, weights);
  }

  /// Asks the members that incomplete sequences lack, the oldest first. Called every few milliseconds.
  template <class Emit>
  void query_members(time_point now, Emit&& emitter) {
    std::size_t remaining = 0;
    std::size_t asked_count = 0;
    for (std::size_t i = 0; i != open_sequences_.size(); ++i) {
      open_sequence w = open_sequences_[i];
      aggregate const* const a = find(w.head);
      if (a == nullptr || !a->has_sequence(w.head.sequence) || a->progress == aggregate::state::complete) {
        if (auto& listed_sequence = listed_sequences_[index_of(w.head)]; listed_sequence == w.head.sequence) {
          listed_sequence.reset();
        }
        continue;
      }
      if (now >= w.next && asked_count < max_at_once) {
        ++asked_count;
        w.next = now + w.interval;
        w.interval = (std::min)(w.interval * 2, longest_interval);
        ask_members(*a, w.head, emitter);
      }
      open_sequences_[remaining++] = w;
    }
    open_sequences_.resize(remaining);
  }

  /// Keeps serving the others from now on.
  void stay(time_point now) noexcept { last_heard_ = now; }
  /// True if some members have not left, and not all have been silent for 300 ms.
  [[nodiscard]] bool is_needed(time_point now) const noexcept {
    return std::find(has_left_.begin() + 1, has_left_.end(), false) != has_left_.end() &&
           now - last_heard_ < longest_silence;
  }

 private:
  static constexpr duration first_interval = std::chrono::milliseconds(5);
  static constexpr duration longest_interval = std::chrono::milliseconds(80);
  static constexpr duration longest_silence = std::chrono::milliseconds(300);
  static constexpr std::size_t max_at_once = 64;

  struct open_sequence {
    header head;
    time_point next;
    duration interval;
  };

  [[nodiscard]] static std::size_t index_of(header const& h) noexcept {
    return std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0);
  }
  [[nodiscard]] bool has_joined(Address const& source, std::uint8_t likely) const noexcept {
    return !switch_.jobs().empty() && switch_.jobs().front().find(source, likely) != max_workers;
  }
  [[nodiscard]] aggregate const* find(header const& h) const noexcept {
    return switch_.jobs().empty() || h.slot >= switch_.jobs().front().slot_table().size()
               ? nullptr
               : &switch_.jobs().front().slot_table().at(h);
  }
  /// Lists a sequence that has begun and is not complete.
  void list_open(header const& h, time_point now) {
    aggregate const* const a = find(h);
    if (a == nullptr || !a->has_sequence(h.sequence) || a->progress != aggregate::state::open ||
        listed_sequences_[index_of(h)] == h.sequence) {
      return;
    }
    listed_sequences_[index_of(h)] = h.sequence;
    open_sequences_.push_back({h, now + first_interval, first_interval});
  }

  /// Sends `missing` to the members that have not contributed; each knows its own worker number.
  template <class Emit>
  void ask_members(aggregate const& a, header h, Emit& emitter) {
    std::array<std::byte, bitmap_bytes(max_workers)> bitmap;
    std::span<std::byte> const payload(bitmap.data(), bitmap_bytes(h.workers));
    a.contributors.write(payload);
    h.kind = kind::missing;
    h.length = static_cast<std::uint16_t>(payload.size());
    h.flags &= flag::phase | flag::in_rank_order;
    worker_set contributors;
    a.contributors.for_each([&](std::uint8_t w) { contributors.add(a.member[w]); });
    for (std::size_t m = 0; m != members_.size(); ++m) {
      if (!contributors.has(static_cast<unsigned>(m))) {
        emitter(members_[m], std::as_const(h), std::span<std::byte const>(payload));
      }
    }
  }

  seal seal_;
  summing_switch<Address> switch_;
  std::vector<Address> members_;
  std::vector<bool> has_left_;
  std::vector<std::optional<std::uint32_t>>
      listed_sequences_;  ///< by slot and phase: the last sequence that is in `open_sequences_`
  std::vector<open_sequence> open_sequences_;
  time_point last_heard_{};
};

}  // namespace tutti::detail::fpga_nic
