// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/multicast/member.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// A member of a multicast group, which sends and receives messages while the two others send it anything. Checks that
/// nothing is written beside a message, that what is shown lies in it, and that its sender's copy stays as it is.
class group_target {
 public:
  group_target(draw& next, std::uint32_t window) : next_(next), member_(port_, {job, window}, 0, {1, 2, 3}, group) {}

  void give_one() {
    switch (next_.random_below(8)) {
      case 0:
        return begin();
      case 1:
        return end();
      case 2:
        return show();
      default:
        return deliver();
    }
  }

 private:
  using medium = tutti::detail::udp::in_process_medium;
  static constexpr std::uint32_t job = 1;
  static constexpr medium::address group = medium::group;
  static constexpr std::size_t longest = 5000;
  static constexpr std::byte filler{0xa5};

  /// Begins a message on a lane, in one of two roles.
  void begin() {
    if (is_open_) {
      return;
    }
    flow_ = {static_cast<std::uint32_t>(next_.random_below(2)), flow_.number + 1};
    auto const root = static_cast<tutti::rank_type>(next_.random_below(3));
    bytes_ = next_.random_below(longest + 1);
    for (tutti::rank_type r = 0; r != 3; ++r) {
      workers_[r] = {.rank = r, .contributes = r == root, .receives = r != root};
    }
    member_.begin(flow_, fingerprint);
    member_.join_aggregation(flow_, {.aggregator = 3,
                                     .workers = workers_,
                                     .worker = 0,
                                     .operation = tutti::network_operation::copy,
                                     .bytes = bytes_});
    if (root == 0 && bytes_ != 0) {
      member_.send_message(flow_.lane, memory_.data(), now_);
    }
    is_open_ = true;
    is_receiver_ = root != 0 && bytes_ != 0;
  }
  void end() {
    if (is_open_) {
      member_.end(flow_);
      is_open_ = is_receiver_ = false;
      std::ranges::fill(memory_, filler);
    }
  }
  void show() {
    if (!is_receiver_) {
      return;
    }
    if (!member_.has_target(flow_.lane)) {
      member_.set_target(flow_.lane, memory_.data());
    }
    if (tutti::chunk const c = member_.view(flow_.lane, 8)) {
      fuzz::expect(c.data >= memory_.data() && c.data + c.bytes <= memory_.data() + bytes_,
                   "what is shown is received");
      member_.release(flow_.lane);
    }
  }

  /// Delivers a packet of the group, or a drawn one.
  void deliver() {
    auto const source = static_cast<medium::address>(next_.one_in(20) ? 1 : 2 + next_.random_below(2));
    std::span<std::byte const> bytes;
    std::vector<std::byte> datagram;
    if (next_.one_in(4)) {
      bytes = next_.packet();
    } else {
      datagram = share(source);
      bytes = datagram;
    }
    packets_.storage.resize(1);
    packets_.count = 1;
    packets_.storage[0].at = 1;
    packets_.storage[0].size = static_cast<std::uint16_t>((std::min)(bytes.size(), packets_.storage[0].bytes.size()));
    std::copy_n(bytes.begin(), packets_.storage[0].size, packets_.storage[0].bytes.begin());
    network_.carry(source, packets_);
    now_ += std::chrono::microseconds(100 * next_.random_below(256));
    member_.advance(now_);
    fuzz::expect(std::ranges::all_of(std::span(memory_).subspan(is_receiver_ ? bytes_ : 0),
                                     [](std::byte b) { return b == filler; }),
                 "nothing is written beside a message");
  }
  std::vector<std::byte> share(medium::address source) {
    using tutti::detail::udp::kind;
    tutti::detail::udp::header h;
    h.kind = std::array{kind::share, kind::share, kind::progress, kind::ask}[next_.random_below(4)];
    h.operation = tutti::network_operation::copy;
    h.job = next_.one_in(50) ? 2 : job;
    h.slot = static_cast<std::uint16_t>(next_.random_below(next_.one_in(10) ? 12 : 2));
    h.sequence = 0U - 100U + static_cast<std::uint32_t>(next_.random_below(256)) - 2;
    h.fingerprint = next_.one_in(20) ? 1 : fingerprint;
    h.worker = static_cast<std::uint8_t>(next_.one_in(20) ? next_.random_below(3) : source - 1);
    h.workers = 3;
    h.flags = next_.one_in(3) ? tutti::detail::udp::flag::phase : 0;
    std::vector<std::byte> payload(h.kind == kind::ask          ? 0
                                   : h.kind == kind::progress   ? next_.random_below(4)
                                   : next_.random_below(4) != 0 ? 1024
                                                                : next_.random_below(1025),
                                   std::byte{static_cast<std::uint8_t>(next_.random_below(256))});
    h.length = static_cast<std::uint16_t>(payload.size());
    std::vector<std::byte> bytes(tutti::detail::udp::max_packet);
    bytes.resize(tutti::detail::udp::seal().write(h, payload, bytes.data()));
    return bytes;
  }

  static constexpr std::uint32_t fingerprint = 77;

  draw& next_;
  medium network_{3, {}, 64};
  tutti::detail::udp::in_process_port port_{network_, 1};
  tutti::detail::multicast::member<tutti::detail::udp::in_process_port> member_;
  medium::datagrams packets_;
  std::array<tutti::aggregation_worker, 3> workers_{};
  std::vector<std::byte> memory_ = std::vector<std::byte>(longest + 64, filler);
  std::size_t bytes_ = 0;
  tutti::flow flow_{};
  tutti::time_point now_{};
  bool is_open_ = false;
  bool is_receiver_ = false;
};
