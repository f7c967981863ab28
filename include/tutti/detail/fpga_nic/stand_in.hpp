// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/summing_switch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::detail::fpga_nic {

/// Rank 0 in place of a device: a switch of one job, which asks members that others wait for. Their answer is their
/// contribution, or the result, if they have got it from the device.
template <class Address>
class stand_in {
 public:
  stand_in(std::uint16_t slots, std::vector<Address> members, seal const& s)
      : seal_(s), switch_({.jobs = 1, .slots = slots}, s), members_(std::move(members)) {}

  /// Takes a packet; answers go to `emit(to, header, payload)`.
  template <class Emit>
  void take(Address const& from, std::span<std::byte const> bytes, bool congested, time_point now, Emit&& emit) {
    switch_.take(from, bytes, congested, now, emit);
    heard_ = now;
    packet p;
    if (seal_.read(bytes, p) == reading::good && p.head.kind == kind::contribute && opens(p.head)) {
      open_.push_back({p.head, now});
    }
  }

  /// Asks those that are missing, now and then. To be called every few milliseconds.
  template <class Emit>
  void look(time_point now, Emit&& emit) {
    std::size_t left = 0;
    for (std::size_t i = 0; i != open_.size(); ++i) {
      waiting w = open_[i];
      aggregate const* const a = find(w.head);
      if (a == nullptr || !a->is(w.head.sequence) || a->stands == aggregate::state::complete) {
        continue;
      }
      if (now - w.since >= between_questions) {
        w.since = now;
        ask(*a, w.head, emit);
      }
      open_[left++] = w;
    }
    open_.resize(left);
  }
  /// Whether some members have not left, and one of them has been heard since then.
  [[nodiscard]] bool is_needed(time_point since) const noexcept { return !switch_.jobs().empty() && heard_ > since; }

 private:
  static constexpr duration between_questions = std::chrono::milliseconds(5);

  struct waiting {
    header head;
    time_point since;
  };

  [[nodiscard]] aggregate const* find(header const& h) const noexcept {
    return switch_.jobs().empty() || h.slot >= switch_.jobs().front().slots().size()
               ? nullptr
               : &switch_.jobs().front().slots().at(h);
  }
  /// Whether it is the first that came of a sequence that is not complete.
  [[nodiscard]] bool opens(header const& h) const noexcept {
    aggregate const* const a = find(h);
    return a != nullptr && a->is(h.sequence) && a->stands == aggregate::state::open && a->count == 1;
  }

  /// Who is missing is told to all: a member knows which worker it is.
  template <class Emit>
  void ask(aggregate const& a, header h, Emit& emit) {
    std::array<std::byte, bitmap_bytes(most_workers)> bitmap;
    std::span<std::byte> const payload(bitmap.data(), bitmap_bytes(h.workers));
    a.arrived.write(payload);
    h.kind = kind::missing;
    h.length = static_cast<std::uint16_t>(payload.size());
    h.flags &= flag::phase | flag::in_rank_order;
    for (Address const& to : members_) {
      emit(to, std::as_const(h), std::span<std::byte const>(payload));
    }
  }

  seal seal_;
  summing_switch<Address> switch_;
  std::vector<Address> members_;
  std::vector<waiting> open_;
  time_point heard_{};
};

}  // namespace tutti::detail::fpga_nic
