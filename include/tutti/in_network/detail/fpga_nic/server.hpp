// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A server, the device or the stand-in, as a member sees it: membership, and whether the server answers.
template <port Port>
class server {
 public:
  using address = typename Port::address;

  /// @param at empty: there is no such server
  /// @param position the rack of a rack's device, whose `me` and `members` count within the rack; otherwise empty
  server(Port& port, job_terms const& terms, rank_type me, std::size_t members, std::optional<address> at,
         rack_position position = {})
      : port_(port), address_(at.value_or(address{})), position_(position), exists_(at.has_value()) {
    join_ = {.kind = kind::join,
             .job = terms.nonce,
             .length = fpga_nic::terms::bytes,
             .worker = static_cast<std::uint8_t>(me),
             .workers = static_cast<std::uint8_t>(members)};
    join_.flags = static_cast<std::uint16_t>(flag::in_rank_order | (position.exists() ? flag::of_racks : 0));
    requested_terms_ = {static_cast<std::uint32_t>(terms.lease / std::chrono::milliseconds(1)),
                        static_cast<std::uint16_t>(terms.slot_count * collective_lanes)};
  }

  [[nodiscard]] bool exists() const noexcept { return exists_; }
  [[nodiscard]] bool has_joined() const noexcept { return has_joined_; }
  [[nodiscard]] bool has_address(address const& source) const noexcept { return exists_ && source == address_; }

  /// False if the port is full.
  bool send(header h, std::span<std::byte const> payload) {
    h.job = join_.job;
    h.length = static_cast<std::uint16_t>(payload.size());
    return port_.send(address_, h, payload);
  }

  /// Sends a join, at most every 50 ms.
  void join(time_point now) {
    if (!std::exchange(joining_, true)) {
      joining_since_ = now;
    }
    if (now - last_join_ < join_interval && last_join_ != time_point{}) {
      return;
    }
    last_join_ = now;
    std::array<std::byte, fpga_nic::terms::bytes + rack_position::bytes> payload;
    write(requested_terms_, payload.data());
    write(position_, payload.data() + fpga_nic::terms::bytes);
    send(join_, std::span(payload).first(fpga_nic::terms::bytes + (position_.exists() ? rack_position::bytes : 0)));
  }
  void repeat_join(time_point now) {
    if (exists_ && !has_joined_ && joining_) {
      join(now);
    }
  }
  /// Repeats the join with the proof that the server demands: this member receives at its address.
  void prove(header const& demand, time_point now) {
    if (join_.fingerprint != demand.fingerprint) {
      join_.fingerprint = demand.fingerprint;
      last_join_ = {};
    }
    join(now);
  }
  /// Handles granted terms. True if this member has joined by them. A server that grants too few slots is not used.
  bool grant(fpga_nic::terms const& granted_terms) noexcept {
    bool const was_joined = std::exchange(has_joined_, granted_terms.slot_count >= requested_terms_.slot_count);
    joining_ = !has_joined_;
    return has_joined_ && !was_joined;
  }
  void forget() noexcept { has_joined_ = false; }
  void leave() {
    header h = join_;
    h.kind = kind::leave;
    h.flags = 0;
    send(h, {});
    has_joined_ = joining_ = false;
  }

  void note_heard(time_point now) noexcept { heard_time_ = now; }
  void note_query(time_point now) noexcept { query_time_ = query_time_ <= heard_time_ ? now : query_time_; }
  /// True if a query has not been answered for this time.
  [[nodiscard]] bool is_silent(time_point now, duration limit) const noexcept {
    return query_time_ > heard_time_ && now - query_time_ >= limit;
  }
  [[nodiscard]] bool answers_no_join(time_point now, duration limit) const noexcept {
    return exists_ && !has_joined_ && joining_ && now - joining_since_ >= limit;
  }

 private:
  static constexpr duration join_interval = std::chrono::milliseconds(50);

  Port& port_;
  address address_;
  rack_position position_;
  header join_{};
  fpga_nic::terms requested_terms_{};
  bool exists_;
  bool has_joined_ = false;
  bool joining_ = false;        ///< a join is under way
  time_point joining_since_{};  ///< start of the joins
  time_point last_join_{};      ///< last join
  time_point heard_time_{};     ///< last answer
  time_point query_time_{};     ///< oldest query since the last answer; not after it if there is none
};

}  // namespace tutti::detail::fpga_nic
