// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"
#include "frames.hpp"
#include "scenarios.hpp"
#include "workers.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Packets under way to the device, unordered.
struct frame_in_flight {
  std::vector<std::byte> frame;
  bool bad;
};

}  // namespace

work do_work(std::uint64_t seed, std::uint64_t frames, unsigned min_workers, unsigned max_workers) {
  std::mt19937_64 random(seed);
  auto const random_below = [&](std::uint64_t n) { return random() % n; };
  constexpr std::array losses{0.0, 0.01, 0.05, 0.2};
  constexpr std::array pauses{0.0, 0.1, 0.6};
  double const loss = losses[random_below(losses.size())];
  bool const reorders = random_below(2) == 0;
  auto const happens = [&](double share) { return static_cast<double>(random() >> 11) * 0x1p-53 < share; };
  bench b(pauses[random_below(pauses.size())], random_below(3) == 0, seed);

  std::vector<workers> jobs;
  std::vector<std::uint32_t> sequences;
  for (unsigned j = 0; j < b.build().jobs; ++j) {
    auto const members = static_cast<std::uint8_t>(min_workers + random_below(max_workers - min_workers + 1));
    bool const in_order = members <= nic::max_workers_in_order && random_below(2) == 0;
    bool const updates = b.build().weights != 0 && random_below(2) == 0;
    unsigned const max_slots = in_order ? b.build().slots_in_order : b.build().slots;
    unsigned const slots = updates ? std::min(max_slots, b.build().weights) : max_slots;
    workers::plan const p{.nonce = 0x1000U + j,
                          .first_station = 100 + 64 * j,
                          .members = members,
                          .first_worker = static_cast<std::uint8_t>(members > 2 ? random_below(2) : 0),
                          .in_rank_order = in_order,
                          .slots = static_cast<std::uint16_t>(1 + random_below(slots)),
                          .begin = random_below(2) == 0 ? 0 : 0U - 20U,  // near wrap-around in half of the cases
                          .sequences = static_cast<std::uint32_t>(1 + frames / (4U * members * b.build().jobs)),
                          .is_short = random_below(3) == 0,
                          .updates = updates};
    jobs.emplace_back(p, random());
    sequences.push_back(p.sequences);
  }

  auto const receive = [&](std::span<std::byte const> bytes) {
    frame::datagram d;
    nic::packet p;
    if (!frame::read(bytes, d) || !nic::parse(d.payload, p)) {
      throw std::runtime_error("the device has sent what a station does not read");
    }
    if (happens(loss)) {
      return;
    }
    std::uint32_t const station = d.destination.ip - frames::station(0).ip;
    for (workers& w : jobs) {
      if (w.is_member(station)) {
        w.take(static_cast<std::uint8_t>(station - w.first_station()), p);
      }
    }
  };

  std::vector<frame_in_flight> network;
  auto const is_over = [&] { return std::ranges::all_of(jobs, [](workers const& w) { return w.is_done(); }); };
  while (!is_over()) {
    if (b.frames_given() > 40 * frames + 10'000) {
      throw std::runtime_error("workers do not get on: " + std::to_string(b.frames_given()) + " frames");
    }
    if (b.waiting() < 6) {
      workers& w = jobs[random_below(jobs.size())];
      auto const m = static_cast<std::uint8_t>(random_below(w.size()));
      frame_in_flight u{frames::make(w.place(m), w.next_packet(m), random_below(50) == 0), false};
      if (random_below(40) == 0) {
        u.bad = frames::spoil(u.frame, random);
      }
      if (random_below(30) == 0) {
        network.push_back(u);
      }
      network.push_back(std::move(u));
    }
    while (network.size() > (reorders ? 12U : 0U)) {
      std::size_t const i = reorders ? random_below(network.size()) : 0;
      if (!happens(loss)) {
        b.give(std::move(network[i].frame), network[i].bad);
      }
      network.erase(network.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::uint64_t i = 1 + (random_below(8) == 0 ? random_below(40) : 0); i != 0; --i) {
      b.step(receive);
    }
  }
  work result;
  result.counters = b.finish();
  result.frames = b.frames_given();
  for (std::uint32_t const s : sequences) {
    result.sequences += s;
  }
  return result;
}
