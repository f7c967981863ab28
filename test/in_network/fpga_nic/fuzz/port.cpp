// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"
#include "targets.hpp"
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>

#include <algorithm>
#include <cstdio>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace nic = tutti::detail::fpga_nic;
namespace net = tutti::detail::net;

namespace {

/// Sends datagrams to a port and compares hashes, in sending order: one sender over loopback is not reordered.
class thrower {
 public:
  thrower(std::uint64_t seed, bool offload)
      : seed_(seed),
        next_(seed, {}),
        port_(net::resolve("127.0.0.1", 0).front(), {.offload = offload}),
        address_(port_.own_address().for_family(AF_INET)) {}

  void throw_some() {
    sent_datagrams_.clear();
    for (std::size_t n = 1 + next_.random_below(20); n > 0; --n) {
      throw_one(next_.packet());
    }
    std::size_t received_count = 0;
    while (received_count < sent_datagrams_.size()) {
      if (!tutti::detail::wait_ready(port_.descriptor(), POLLIN, tutti::steady_now() + std::chrono::seconds(10))) {
        throw violation(std::to_string(sent_datagrams_.size() - received_count) + " datagrams of seed " +
                        std::to_string(seed_) + " are missing");
      }
      port_.drain([&](nic::endpoint const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
        // A datagram longer than any packet may be truncated, but not to the length of a packet.
        bool const is_cut = received_count < sent_datagrams_.size() && bytes.size() > nic::max_packet &&
                            bytes.size() < sent_datagrams_[received_count].size();
        if (received_count == sent_datagrams_.size() ||
            !std::ranges::equal(bytes, std::span(sent_datagrams_[received_count])
                                           .first(is_cut ? bytes.size() : sent_datagrams_[received_count].size()))) {
          throw violation("datagram " + std::to_string(count_ + received_count) + " of seed " + std::to_string(seed_) +
                          " came as another one");
        }
        ++received_count;
        device_.take(
            source, bytes, has_ecn_mark, tutti::steady_now(),
            [&](auto const& destination, nic::header const& h, auto payload) { port_.send(destination, h, payload); });
      });
      port_.flush();
    }
    count_ += received_count;
    // Drains answers, which are not checked.
    std::byte answer[2048];
    while (::recv(thrower_.get(), answer, sizeof answer, MSG_DONTWAIT) > 0) {
    }
    if (device_.counts().packets != device_.counts().accounted_packets()) {
      throw violation("a datagram is counted in none or in several ways");
    }
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] nic::counters const& counts() const { return device_.counts(); }

 private:
  void throw_one(std::span<std::byte const> packet) {
    // Sends some packets several times, in one burst that the system segments, perhaps not at a packet's end.
    std::size_t const copies = packet.empty() ? 1 : 1 + (next_.one_in(4) ? next_.random_below(8) : 0);
    std::vector<std::byte> burst;
    for (std::size_t i = 0; i < copies; ++i) {
      burst.insert(burst.end(), packet.begin(), packet.end());
    }
    std::size_t const segment =
        copies == 1 ? burst.size() : std::min(burst.size(), packet.size() + next_.random_below(3));
    int const segment_option = copies == 1 ? 0 : static_cast<int>(segment);
    if (::setsockopt(thrower_.get(), IPPROTO_UDP, UDP_SEGMENT, &segment_option, sizeof segment_option) != 0 &&
        segment_option != 0) {
      return;
    }
    if (::sendto(thrower_.get(), burst.data(), burst.size(), 0, address_.data(), address_.size()) < 0) {
      throw violation("cannot send a datagram of " + std::to_string(burst.size()) +
                      " bytes: " + tutti::detail::describe_errno(errno));
    }
    for (std::size_t position = 0; position == 0 || position < burst.size();
         position += std::max<std::size_t>(segment, 1)) {
      std::size_t const size = std::min(segment, burst.size() - position);
      sent_datagrams_.emplace_back(burst.begin() + static_cast<std::ptrdiff_t>(position),
                                   burst.begin() + static_cast<std::ptrdiff_t>(position + size));
    }
  }

  std::uint64_t seed_;
  draw next_;
  nic::udp_port port_;
  net::address address_;
  tutti::detail::descriptor thrower_{[] { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); }};
  nic::summing_switch<nic::endpoint> device_;
  std::vector<std::vector<std::byte>> sent_datagrams_;
  std::uint64_t count_ = 0;
};

}  // namespace

void throw_at_port(std::uint64_t packets, std::uint64_t seed) {
  for (bool const offload : {true, false}) {
    thrower t(seed, offload);
    while (t.count() < packets / 2) {
      t.throw_some();
    }
    std::printf("port %s: %llu datagrams, %llu malformed, %llu refused\n", offload ? "with bursts" : "packet by packet",
                static_cast<unsigned long long>(t.count()),
                static_cast<unsigned long long>(t.counts().malformed_packets),
                static_cast<unsigned long long>(t.counts().total_refusals()));
  }
}
