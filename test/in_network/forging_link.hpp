// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/rendezvous.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace support {

namespace udp = tutti::detail::udp;

/// A datagram of a forger.
using datagram = std::vector<std::byte>;

[[nodiscard]] inline datagram make_datagram(udp::header const& h, std::span<std::byte const> payload,
                                            udp::seal const& seal) {
  datagram bytes(udp::max_packet);
  bytes.resize(seal.write(h, payload, bytes.data()));
  return bytes;
}

/// Makes datagrams out of one that a rank is about to receive: others of its form with another content, without a tag
/// and with one of another key, and one that the rank has received before.
class forger {
 public:
  std::vector<datagram> operator()(std::span<std::byte const> bytes) {
    udp::packet p;
    if (!udp::parse(bytes, p)) {
      return {};
    }
    datagram payload(p.payload.begin(), p.payload.end());
    for (std::byte& b : payload) {
      b ^= std::byte{0x5a};
    }
    if (p.head.kind == udp::kind::progress || p.head.kind == udp::kind::ask) {
      p.head.sequence += 10;
    }
    history_.emplace_back(bytes.begin(), bytes.end());
    return {make_datagram(p.head, payload, udp::seal()), make_datagram(p.head, payload, udp::seal(udp::secret_key{})),
            history_[random_() % history_.size()]};
  }

 private:
  std::vector<datagram> history_;
  std::mt19937 random_{1};
};

/// A network within this process with a forger: what it makes out of a datagram arrives just before and just after that
/// one, from the same address.
template <class Link>
struct forging_link : Link {
  struct options : Link::options {
    std::function<std::vector<datagram>(std::span<std::byte const>)> forge{};
  };

  struct port : Link::port {
    port(options const& o, tutti::rank_type r) : Link::port(*o.network, r + 1), forge(o.forge) {}

    template <class F>
    std::size_t drain(F f) {
      return Link::port::drain([&](auto const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
        auto const forgeries = forge(bytes);
        auto const deliver_forgeries = [&] {
          for (datagram const& forgery : forgeries) {
            f(source, std::span<std::byte const>(forgery), false);
          }
        };
        deliver_forgeries();
        f(source, bytes, has_ecn_mark);
        deliver_forgeries();
      });
    }

    std::function<std::vector<datagram>(std::span<std::byte const>)> forge;
  };

  template <tutti::rendezvous M>
  forging_link(M const& meet, options const& o) : Link(meet, o), port_(o, meet.rank()) {}
  [[nodiscard]] port& own_port() noexcept { return port_; }

  port port_;
};

}  // namespace support
