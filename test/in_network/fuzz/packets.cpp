// SPDX-License-Identifier: Apache-2.0
//
// Packets at the parts of a device in the network, and at a member of a multicast group. The first byte picks one; the
// others decide how packets are drawn (docs/hardware/fpga-nic-protocol.md).
#include "draw.hpp"
#include "group.hpp"
#include "port.hpp"
#include "racks.hpp"
#include "slots.hpp"
#include "switch.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/extend/time.hpp>

namespace {

/// Datagrams as they are, from four addresses.
void feed_raw(fuzz::input& words, nic::seal const& seal) {
  nic::summing_switch<std::uint32_t> device(
      {.jobs = 2, .slot_count = draw::slots, .keys = draw::blocks, .memory = draw::memory}, seal);
  tutti::time_point now{};
  while (words.size() != 0) {
    auto const source = static_cast<std::uint32_t>(words.choice(4));
    now += std::chrono::milliseconds(words.number());
    std::string_view const bytes = words.text();
    device.take(source, std::as_bytes(std::span(bytes)), false, now,
                [](std::uint32_t, nic::header const& h, std::span<std::byte const> payload) {
                  fuzz::expect(h.length == payload.size(), "an answer is as long as it says");
                });
    fuzz::expect(device.counts().packets == device.counts().accounted_packets(), "a packet is counted in one way");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 22) + 64 * size);
  fuzz::input words(data, size);
  std::size_t const target = words.choice(6);
  nic::secret_key key{};
  key[3] = std::byte{42};
  nic::seal const seal = words.choice(2) == 0 ? nic::seal() : nic::seal(key);
  if (target == 0) {
    feed_raw(words, seal);
    return 0;
  }
  // The first packet has the number of one shortly before sequences wrap around, or any other.
  std::uint64_t const first = words.choice(2) == 0 ? 20'000 * 40 - 60 : words.number(3);
  draw next([&](std::uint64_t limit_of_number) { return words.choice(static_cast<std::size_t>(limit_of_number)); },
            target == 1 || target == 4 || target == 5 ? nic::seal() : seal, first);
  auto const give_all = [&](auto&& part, auto give) {
    while (words.size() != 0) {
      (part.*give)();
    }
  };
  switch (target) {
    case 1:
      give_to_slots(next, words);
      break;
    case 2:
      give_all(switch_target(next, seal), &switch_target::give_one);
      break;
    case 3:
      give_all(racks_target(next, seal), &racks_target::give_one);
      break;
    case 4:
      give_all(port_target(next, words.choice(2) == 0), &port_target::give_some);
      break;
    default:
      give_all(group_target(next, static_cast<std::uint32_t>(1 + words.choice(16))), &group_target::give_one);
  }
  return 0;
}
