// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>

#include <algorithm>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <vector>

namespace nic = tutti::detail::fpga_nic;
namespace net = tutti::detail::net;

/// A UDP port. Checks that it delivers each datagram unchanged, in bursts and alone. One sender over loopback is not
/// reordered.
class port_target {
 public:
  port_target(draw& next, bool offload)
      : next_(next),
        port_(net::resolve("127.0.0.1", 0).front(), {.offload = offload}),
        address_(port_.own_address().for_family(AF_INET)) {}

  void give_some() {
    sent_datagrams_.clear();
    for (std::size_t n = 1 + next_.random_below(20); n > 0; --n) {
      give_one(next_.packet());
    }
    std::size_t received_count = 0;
    while (received_count < sent_datagrams_.size()) {
      fuzz::expect(
          tutti::detail::wait_ready(port_.descriptor(), POLLIN, tutti::steady_now() + std::chrono::seconds(10)),
          "each datagram arrives");
      port_.drain([&](nic::endpoint const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
        // A datagram longer than any packet may be truncated, but not to the length of a packet.
        bool const is_cut = received_count < sent_datagrams_.size() && bytes.size() > nic::max_packet &&
                            bytes.size() < sent_datagrams_[received_count].size();
        fuzz::expect(
            received_count != sent_datagrams_.size() &&
                std::ranges::equal(bytes, std::span(sent_datagrams_[received_count])
                                              .first(is_cut ? bytes.size() : sent_datagrams_[received_count].size())),
            "each datagram arrives as it was sent");
        ++received_count;
        device_.take(
            source, bytes, has_ecn_mark, tutti::steady_now(),
            [&](auto const& destination, nic::header const& h, auto payload) { port_.send(destination, h, payload); });
      });
      port_.flush();
    }
    // Drains answers, which are not checked.
    std::byte answer[2048];
    while (::recv(sender_.get(), answer, sizeof answer, MSG_DONTWAIT) > 0) {
    }
    fuzz::expect(device_.counts().packets == device_.counts().accounted_packets(), "a packet is counted in one way");
  }

 private:
  void give_one(std::span<std::byte const> packet) {
    // Sends some packets several times, in one burst that the system segments, perhaps not at a packet's end.
    std::size_t const copies = packet.empty() ? 1 : 1 + (next_.one_in(4) ? next_.random_below(8) : 0);
    std::vector<std::byte> burst;
    for (std::size_t i = 0; i < copies; ++i) {
      burst.insert(burst.end(), packet.begin(), packet.end());
    }
    std::size_t const segment =
        copies == 1 ? burst.size() : std::min(burst.size(), packet.size() + next_.random_below(3));
    int const segment_option = copies == 1 ? 0 : static_cast<int>(segment);
    if (::setsockopt(sender_.get(), IPPROTO_UDP, UDP_SEGMENT, &segment_option, sizeof segment_option) != 0 &&
        segment_option != 0) {
      return;
    }
    fuzz::expect(::sendto(sender_.get(), burst.data(), burst.size(), 0, address_.data(), address_.size()) >= 0,
                 "a datagram can be sent");
    for (std::size_t position = 0; position == 0 || position < burst.size();
         position += std::max<std::size_t>(segment, 1)) {
      std::size_t const size = std::min(segment, burst.size() - position);
      sent_datagrams_.emplace_back(burst.begin() + static_cast<std::ptrdiff_t>(position),
                                   burst.begin() + static_cast<std::ptrdiff_t>(position + size));
    }
  }

  draw& next_;
  nic::udp_port port_;
  net::address address_;
  tutti::detail::descriptor sender_{[] { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); }};
  nic::summing_switch<nic::endpoint> device_{{.jobs = 2, .slot_count = draw::slots, .memory = draw::memory}};
  std::vector<std::vector<std::byte>> sent_datagrams_;
};
