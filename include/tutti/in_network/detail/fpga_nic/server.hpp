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

/// A device, or the stand-in, as a member sees it: whether it has let the member join, and whether it answers.
template <port Port>
class server {
 public:
  using address = typename Port::address;

  /// @param at none: there is no such server
  /// @param place none, unless the server is a rack's; then `me` and `members` are those of the rack
  server(Port& by, job_terms const& terms, rank_type me, std::size_t members, std::optional<address> at,
         rack_place place = {})
      : port_(by), at_(at.value_or(address{})), place_(place), exists_(at.has_value()) {
    join_ = {.kind = kind::join,
             .job = terms.nonce,
             .length = fpga_nic::terms::bytes,
             .worker = static_cast<std::uint8_t>(me),
             .workers = static_cast<std::uint8_t>(members)};
    join_.flags = static_cast<std::uint16_t>(flag::in_rank_order | (place.exists() ? flag::of_racks : 0));
    asked_for_ = {static_cast<std::uint32_t>(terms.lease / std::chrono::milliseconds(1)),
                  static_cast<std::uint16_t>(terms.slot_count * collective_lanes)};
  }

  [[nodiscard]] bool exists() const noexcept { return exists_; }
  [[nodiscard]] bool joined() const noexcept { return joined_; }
  [[nodiscard]] bool is(address const& from) const noexcept { return exists_ && from == at_; }

  /// False if the port takes no more.
  bool send(header h, std::span<std::byte const> payload) {
    h.job = join_.job;
    h.length = static_cast<std::uint16_t>(payload.size());
    return port_.send(at_, h, payload);
  }

  /// Asks it to let this member join, now and then.
  void ask_to_join(time_point now) {
    if (!std::exchange(wanted_, true)) {
      wanted_since_ = now;
    }
    if (now - asked_ < between_joins && asked_ != time_point{}) {
      return;
    }
    asked_ = now;
    std::array<std::byte, fpga_nic::terms::bytes + rack_place::bytes> payload;
    write(asked_for_, payload.data());
    write(place_, payload.data() + fpga_nic::terms::bytes);
    send(join_, std::span(payload).first(fpga_nic::terms::bytes + (place_.exists() ? rack_place::bytes : 0)));
  }
  /// Asks again, if it was asked and has not answered.
  void go_on_asking(time_point now) {
    if (exists_ && !joined_ && wanted_) {
      ask_to_join(now);
    }
  }
  /// It wants to know whether this member receives at its address, before it lets it join.
  void prove(header const& asked, time_point now) {
    if (join_.fingerprint != asked.fingerprint) {
      join_.fingerprint = asked.fingerprint;
      asked_ = {};
    }
    ask_to_join(now);
  }
  /// What it has answered. True if this member has joined by that. One that grants fewer slots than that is not used.
  bool grant(fpga_nic::terms const& given) noexcept {
    bool const before = std::exchange(joined_, given.slot_count >= asked_for_.slot_count);
    wanted_ = !joined_;
    return joined_ && !before;
  }
  void forget() noexcept { joined_ = false; }
  /// Nothing is sent to it any more.
  void leave() {
    header h = join_;
    h.kind = kind::leave;
    h.flags = 0;
    send(h, {});
    joined_ = wanted_ = false;
  }

  void hear(time_point now) noexcept { heard_ = now; }
  void question(time_point now) noexcept { questioned_ = questioned_ <= heard_ ? now : questioned_; }
  /// Whether it has not answered for that long, though it was asked.
  [[nodiscard]] bool is_silent(time_point now, duration limit) const noexcept {
    return questioned_ > heard_ && now - questioned_ >= limit;
  }
  [[nodiscard]] bool answers_no_join(time_point now, duration limit) const noexcept {
    return exists_ && !joined_ && wanted_ && now - wanted_since_ >= limit;
  }

 private:
  static constexpr duration between_joins = std::chrono::milliseconds(50);

  Port& port_;
  address at_;
  rack_place place_;
  header join_{};
  fpga_nic::terms asked_for_{};
  bool exists_;
  bool joined_ = false;
  bool wanted_ = false;        ///< it is asked to let this member join
  time_point wanted_since_{};  ///< since then
  time_point asked_{};         ///< for the last time
  time_point heard_{};         ///< of it
  time_point questioned_{};    ///< the oldest question since then, or `heard_`
};

}  // namespace tutti::detail::fpga_nic
