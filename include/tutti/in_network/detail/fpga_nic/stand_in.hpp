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

/// Rank 0 in place of a device: a switch of one job, which asks members that others wait for. Their answer is their
/// contribution, or the result, if they have got it from the device.
template <class Address>
class stand_in {
 public:
  /// Serves once it has been asked to: then `slots` are allotted. `racks`: see `slots`.
  stand_in(std::uint16_t slot_count, std::vector<Address> members, std::vector<std::uint8_t> const& racks,
           seal const& s)
      : seal_(s),
        switch_({.jobs = 1,
                 .members = static_cast<unsigned>(members.size()),
                 .slot_count = slot_count,
                 .memory = SIZE_MAX,
                 .awaits_weights = true,
                 .racks = rack_places(racks)},
                s),
        members_(std::move(members)),
        left_(members_.size()),
        listed_(std::size_t{slot_count} * 2) {}

  /// Takes a packet; answers go to `emit(to, header, payload)`. Members join from their own addresses, and what others
  /// say is not heeded.
  template <class Emit>
  void take(Address const& from, std::span<std::byte const> bytes, bool congested, time_point now, Emit&& emitter) {
    packet p;
    if (seal_.read(bytes, p) != reading::good) {
      return;
    }
    header const& h = p.head;
    bool const is_its_number = h.worker < members_.size() && members_[h.worker] == from;
    if (h.kind == kind::join && !(is_its_number && h.workers == members_.size())) {
      return;
    }
    switch_.take(from, bytes, congested, now, emitter);
    if (h.kind == kind::leave && is_its_number) {
      heard_ = now;
      left_[h.worker] = true;
    } else if (has_joined(from, h.worker)) {
      heard_ = now;
      if (h.kind == kind::contribute) {
        list(h, now);
      }
    }
  }

  /// Has a block of weights from now on, to answer with and to update.
  void have(std::uint32_t nonce, std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) {
    switch_.store(nonce, k, version, weights);
  }

  /// Asks those that are missing, now and then, the oldest first. To be called every few milliseconds.
  template <class Emit>
  void look(time_point now, Emit&& emitter) {
    std::size_t left = 0;
    std::size_t asked = 0;
    for (std::size_t i = 0; i != open_.size(); ++i) {
      waiting w = open_[i];
      aggregate const* const a = find(w.head);
      if (a == nullptr || !a->is(w.head.sequence) || a->stands == aggregate::state::complete) {
        if (auto& listed = listed_[place(w.head)]; listed == w.head.sequence) {
          listed.reset();
        }
        continue;
      }
      if (now >= w.next && asked < most_at_once) {
        ++asked;
        w.next = now + w.interval;
        w.interval = (std::min)(w.interval * 2, longest_interval);
        ask(*a, w.head, emitter);
      }
      open_[left++] = w;
    }
    open_.resize(left);
  }

  /// Waits for the others from now on.
  void stay(time_point now) noexcept { heard_ = now; }
  /// Whether some members have not left, unless all have been silent for a while.
  [[nodiscard]] bool is_needed(time_point now) const noexcept {
    return std::find(left_.begin() + 1, left_.end(), false) != left_.end() && now - heard_ < longest_silence;
  }

 private:
  static constexpr duration first_interval = std::chrono::milliseconds(5);
  static constexpr duration longest_interval = std::chrono::milliseconds(80);
  static constexpr duration longest_silence = std::chrono::milliseconds(300);
  static constexpr std::size_t most_at_once = 64;

  struct waiting {
    header head;
    time_point next;
    duration interval;
  };

  [[nodiscard]] static std::size_t place(header const& h) noexcept {
    return std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0);
  }
  [[nodiscard]] bool has_joined(Address const& from, std::uint8_t likely) const noexcept {
    return !switch_.jobs().empty() && switch_.jobs().front().find(from, likely) != max_workers;
  }
  [[nodiscard]] aggregate const* find(header const& h) const noexcept {
    return switch_.jobs().empty() || h.slot >= switch_.jobs().front().slot_table().size()
               ? nullptr
               : &switch_.jobs().front().slot_table().at(h);
  }
  /// Notes what has been begun, and is not complete.
  void list(header const& h, time_point now) {
    aggregate const* const a = find(h);
    if (a == nullptr || !a->is(h.sequence) || a->stands != aggregate::state::open || listed_[place(h)] == h.sequence) {
      return;
    }
    listed_[place(h)] = h.sequence;
    open_.push_back({h, now + first_interval, first_interval});
  }

  /// Tells the members that have not contributed; each knows which worker it is.
  template <class Emit>
  void ask(aggregate const& a, header h, Emit& emitter) {
    std::array<std::byte, bitmap_bytes(max_workers)> bitmap;
    std::span<std::byte> const payload(bitmap.data(), bitmap_bytes(h.workers));
    a.arrived.write(payload);
    h.kind = kind::missing;
    h.length = static_cast<std::uint16_t>(payload.size());
    h.flags &= flag::phase | flag::in_rank_order;
    worker_set here;
    a.arrived.each([&](std::uint8_t w) { here.add(a.member[w]); });
    for (std::size_t m = 0; m != members_.size(); ++m) {
      if (!here.has(static_cast<unsigned>(m))) {
        emitter(members_[m], std::as_const(h), std::span<std::byte const>(payload));
      }
    }
  }

  seal seal_;
  summing_switch<Address> switch_;
  std::vector<Address> members_;
  std::vector<bool> left_;
  std::vector<std::optional<std::uint32_t>> listed_;  ///< by slot and phase: the last sequence that is among `open_`
  std::vector<waiting> open_;
  time_point heard_{};
};

}  // namespace tutti::detail::fpga_nic
