// SPDX-License-Identifier: Apache-2.0
#include "../../../test/in_network/fuzz/draw.hpp"
#include "bench.hpp"
#include "frames.hpp"
#include "scenarios.hpp"
#include <tutti/in_network/detail/udp/seal.hpp>

#include <random>
#include <vector>

namespace nic = tutti::detail::fpga_nic;

device::counter_values throw_packets(std::uint64_t seed, std::uint64_t frames) {
  std::mt19937_64 random(seed);
  nic::secret_key key{};
  key[5] = std::byte{7};
  // The device supports no tags. With a key, all packets have one.
  nic::seal const seal = random() % 8 == 0 ? nic::seal(key) : nic::seal();
  draw next([&](std::uint64_t limit) { return random() % limit; }, seal);
  bench b(random() % 2 == 0 ? 0 : 0.3, random() % 2 == 0, seed);
  while (b.frames_given() < frames) {
    auto const packet = next.packet();
    nic::packet p;
    bool const is_read = nic::parse(packet, p);
    auto const source = next.one_in(20) || !is_read ? next.random_below(4) : p.head.worker % 4U;
    auto f = frames::make(frames::station(static_cast<std::uint32_t>(source)), packet, next.one_in(50));
    bool const bad = next.one_in(10) && frames::spoil(f, random);
    b.give(std::move(f), bad);
    if (next.one_in(200)) {
      b.set_enabled(next.random_below(3) != 0);
    } else if (next.one_in(500)) {
      b.reset();
    } else if (!b.is_enabled() && next.one_in(10)) {
      b.set_enabled(true);
    }
    // Sends some packets back to back, others to an idle device.
    for (std::size_t i = next.one_in(3) ? next.random_below(400) : 0; i != 0 || b.waiting() > 8; i -= i != 0 ? 1 : 0) {
      b.step();
    }
  }
  return b.finish();
}
