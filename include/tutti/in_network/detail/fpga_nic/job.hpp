// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_layout.hpp>
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// State of one job in a device: its members and its slots.
template <class Address>
class job {
 public:
  struct member {
    Address at{};
    duration lease{};
    time_point lease_end{};  ///< end of its lease
    bool is_present = false;
    bool has_ecn_mark = false;  ///< its packets came with ECN marks, which it has not been told

    friend bool operator==(member const&, member const&) = default;
  };

  /// `racks`: see slot_table. `creator`: address of the first join, at the time `start`.
  job(std::uint32_t nonce, std::uint8_t members, bool in_rank_order, std::uint16_t slot_count, bool awaits_weights,
      rack_layout const& racks, Address const& creator, time_point start)
      : nonce_(nonce),
        creator_(creator),
        start_(start),
        in_rank_order_(in_rank_order),
        members_(members),
        slots_(slot_count, in_order(in_rank_order), awaits_weights, racks) {}

  /// Memory of a job's slots.
  [[nodiscard]] static std::size_t bytes(std::uint16_t slot_count, bool in_rank_order,
                                         rack_layout const& racks) noexcept {
    return slot_table::bytes(slot_count, in_order(in_rank_order), racks);
  }

  [[nodiscard]] std::uint32_t nonce() const noexcept { return nonce_; }
  /// The address that sent the first join.
  [[nodiscard]] Address const& begun_by() const noexcept { return creator_; }
  [[nodiscard]] time_point start() const noexcept { return start_; }
  /// True for a mere claim: no operation of several workers has been completed yet.
  [[nodiscard]] bool is_claim() const noexcept { return is_claim_; }
  /// Marks the job as used.
  void serve() noexcept { is_claim_ = false; }
  [[nodiscard]] bool in_rank_order() const noexcept { return in_rank_order_; }
  [[nodiscard]] std::uint8_t size() const noexcept { return static_cast<std::uint8_t>(members_.size()); }
  [[nodiscard]] member& operator[](std::uint8_t i) noexcept { return members_[i]; }
  [[nodiscard]] fpga_nic::slot_table& slot_table() noexcept { return slots_; }
  [[nodiscard]] fpga_nic::slot_table const& slot_table() const noexcept { return slots_; }

  /// The number of the member at this address, or `max_workers`. Tries `likely` first.
  [[nodiscard]] std::uint8_t find(Address const& at, std::uint8_t likely) const noexcept {
    auto const is_at = [&](member const& m) { return m.is_present && m.at == at; };
    if (likely < members_.size() && is_at(members_[likely])) {
      return likely;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (is_at(members_[i])) {
        return static_cast<std::uint8_t>(i);
      }
    }
    return max_workers;
  }

  /// The first present member, or `max_workers`.
  [[nodiscard]] std::uint8_t first_member() const noexcept {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].is_present) {
        return static_cast<std::uint8_t>(i);
      }
    }
    return max_workers;
  }
  /// True if no member's lease is running.
  [[nodiscard]] bool is_abandoned(time_point now) const noexcept {
    for (member const& m : members_) {
      if (m.is_present && now < m.lease_end) {
        return false;
      }
    }
    return true;
  }

  friend bool operator==(job const&, job const&) = default;

 private:
  [[nodiscard]] static constexpr unsigned in_order(bool is_enabled) noexcept {
    return is_enabled ? max_workers_in_order : 0;
  }

  std::uint32_t nonce_;
  Address creator_;
  time_point start_;
  bool is_claim_ = true;
  bool in_rank_order_;
  std::vector<member> members_;
  fpga_nic::slot_table slots_;
};

}  // namespace tutti::detail::fpga_nic
