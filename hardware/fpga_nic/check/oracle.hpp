// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/frame.hpp"
#include "../registers/device.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

/// The expected answers and counters of the device: `summing_switch`, behind the checks of frames.
class oracle {
 public:
  /// `b`: parameters of the device. Time is in units of 100 us.
  oracle(device::build const& b, frame::place const& address, unsigned lease_ms)
      : address_(address),
        switch_({.jobs = b.jobs,
                 .members = b.workers,
                 .slot_count = static_cast<std::uint16_t>(b.slots),
                 .slots_in_order = static_cast<std::uint16_t>(b.slots_in_order),
                 .keys = b.weights,
                 .lease = std::chrono::milliseconds(lease_ms)}) {}

  /// Circumstances of a received frame.
  struct arrival {
    bool is_bad = false;      ///< marked bad by the station
    bool is_dropped = false;  ///< there was no room for it
    bool is_enabled = true;   ///< the device was enabled at its start
    std::uint64_t now = 0;
  };

  /// A frame that the device must send.
  struct answer {
    std::vector<std::byte> bytes;
    std::uint64_t number = 0;  ///< number of the frame that it answers
    bool has_elements = false;
  };

  /// Handles a received frame. Returns the length of its payload if it is a packet that the device stores.
  std::optional<std::size_t> take(std::uint64_t number, std::span<std::byte const> bytes,
                                  arrival const& circumstances) {
    ++frames_[count_frames];
    fate const f = circumstances.is_dropped    ? fate::no_room
                   : circumstances.is_bad      ? fate::bad
                   : !circumstances.is_enabled ? fate::foreign
                                               : classify(bytes);
    if (f != fate::packet) {
      ++frames_[static_cast<std::size_t>(f)];
      return {};
    }
    std::byte const* const ip = bytes.data() + 14;
    std::size_t const length = std::max<std::size_t>(frame::read_integer<std::uint16_t>(ip + 24), 8) - 8;
    sender source;
    std::copy_n(bytes.begin() + 6, 6, std::as_writable_bytes(std::span(source.place.mac)).begin());
    source.place.ip = frame::read_integer<std::uint32_t>(ip + 12);
    source.place.port = frame::read_integer<std::uint16_t>(ip + 20);
    bool const has_ecn_mark = (static_cast<unsigned>(ip[1]) & 3U) == 3;
    auto const count_refusals = [&] { return switch_.counts().malformed_packets + switch_.counts().invalid_tags; };
    std::uint64_t const refusals_before = count_refusals();
    switch_.take(source, {ip + 28, length}, has_ecn_mark, std::chrono::microseconds(100) * circumstances.now,
                 [&](sender const& receiver, tutti::detail::udp::header const& h, std::span<std::byte const> payload) {
                   expect(number, receiver, h, payload);
                 });
    return count_refusals() == refusals_before ? std::optional(length - tutti::detail::udp::header_bytes)
                                               : std::nullopt;
  }

  /// Frames that the device has not sent yet.
  [[nodiscard]] std::deque<answer>& expected() noexcept { return expected_; }

  [[nodiscard]] device::counter_values counts() const {
    device::counter_values v{};
    std::ranges::copy(frames_, v.begin());
    auto const& c = switch_.counts();
    std::array const switch_counters{
        c.packets,     c.malformed_packets,    c.invalid_tags,      c.joins,       c.leaves,      c.ends,
        c.queries,     c.stored_contributions, c.completed_results, c.repeats,     c.duplicates,  c.busy,
        c.refusals[1], c.refusals[2],          c.refusals[3],       c.refusals[4], c.refusals[5], c.unanswered_refusals,
        c.results,     c.congestion_marks,     sent_frames_,        c.refusals[6], c.stores,      c.pulls,
        c.updates};
    std::ranges::copy(switch_counters, v.begin() + 6);
    return v;
  }

 private:
  /// Numbers are those of the counters.
  enum class fate : std::uint8_t { bad = 1, no_room = 2, foreign = 3, bad_header = 4, bad_checksum = 5, packet = 6 };
  static constexpr std::size_t count_frames = 0;

  /// Identity of a member: IP and port. Its results go to the MAC address of its `join`.
  struct sender {
    frame::place place;

    [[nodiscard]] std::array<std::byte, 6> bytes() const noexcept {
      std::array<std::byte, 6> text{};
      tutti::detail::udp::write_integer(text.data(), place.ip);
      tutti::detail::udp::write_integer(text.data() + 4, place.port);
      return text;
    }

    friend bool operator==(sender const& a, sender const& b) noexcept {
      return a.place.ip == b.place.ip && a.place.port == b.place.port;
    }
  };

  [[nodiscard]] fate classify(std::span<std::byte const> bytes) const {
    if (bytes.size() < frame::headers) {
      return fate::foreign;
    }
    std::byte const* const ip = bytes.data() + 14;
    std::byte const* const udp = ip + 20;
    if (!std::ranges::equal(bytes.first(6), std::as_bytes(std::span(address_.mac))) ||
        frame::read_integer<std::uint16_t>(bytes.data() + 12) != frame::type_ipv4 ||
        static_cast<unsigned>(ip[0]) >> 4 != 4 || static_cast<unsigned>(ip[9]) != 17 ||
        frame::read_integer<std::uint32_t>(ip + 16) != address_.ip ||
        frame::read_integer<std::uint16_t>(udp + 2) != address_.port) {
      return fate::foreign;
    }
    std::size_t const total = frame::read_integer<std::uint16_t>(ip + 2);
    std::size_t const length = frame::read_integer<std::uint16_t>(udp + 4);
    frame::checksum c;
    c.add({ip, 20});
    if ((static_cast<unsigned>(ip[0]) & 15U) != 5 || (frame::read_integer<std::uint16_t>(ip + 6) & 0x3fffU) != 0 ||
        total != 20 + length || 14 + total > bytes.size() || c.value() != 0) {
      return fate::bad_header;
    }
    bool const is_short = length < 8 + tutti::detail::udp::header_bytes;
    bool const is_right =
        is_short || frame::read_integer<std::uint16_t>(udp + 6) == 0 || frame::udp_checksum(ip, length) == 0;
    return is_right ? fate::packet : fate::bad_checksum;
  }

  void expect(std::uint64_t number, sender const& receiver, tutti::detail::udp::header const& h,
              std::span<std::byte const> payload) {
    std::array<std::byte, tutti::detail::udp::max_packet> packet;
    tutti::detail::udp::write(h, packet.data());
    std::ranges::copy(payload, packet.begin() + tutti::detail::udp::header_bytes);
    auto& a = expected_.emplace_back(std::vector<std::byte>(frame::max_size), number);
    a.has_elements = h.kind == tutti::detail::udp::kind::result && !payload.empty();
    auto& f = a.bytes;
    f.resize(frame::write(
        {address_, receiver.place, false, {packet.data(), tutti::detail::udp::header_bytes + payload.size()}},
        f.data()));
    ++sent_frames_;
  }

  frame::place address_;
  tutti::detail::fpga_nic::summing_switch<sender> switch_;
  std::array<std::uint64_t, 6> frames_{};
  std::uint64_t sent_frames_ = 0;
  std::deque<answer> expected_;
};
