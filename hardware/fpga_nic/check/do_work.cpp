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
struct under_way {
  std::vector<std::byte> frame;
  bool bad;
};

}  // namespace

work do_work(std::uint64_t seed, std::uint64_t frames, unsigned least, unsigned most) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::uint64_t n) { return random() % n; };
  constexpr std::array losses{0.0, 0.01, 0.05, 0.2};
  constexpr std::array pauses{0.0, 0.1, 0.6};
  double const loss = losses[below(losses.size())];
  bool const reorders = below(2) == 0;
  auto const happens = [&](double share) { return static_cast<double>(random() >> 11) * 0x1p-53 < share; };
  bench b(pauses[below(pauses.size())], below(3) == 0, seed);

  std::vector<workers> jobs;
  std::vector<std::uint32_t> sequences;
  for (unsigned j = 0; j < b.built().jobs; ++j) {
    auto const members = static_cast<std::uint8_t>(least + below(most - least + 1));
    bool const in_order = members <= nic::max_workers_in_order && below(2) == 0;
    bool const updates = b.built().weights != 0 && below(2) == 0;
    unsigned const all_slots = in_order ? b.built().slots_in_order : b.built().slots;
    unsigned const slots = updates ? std::min(all_slots, b.built().weights) : all_slots;
    workers::plan const p{.nonce = 0x1000U + j,
                          .first_station = 100 + 64 * j,
                          .members = members,
                          .first_worker = static_cast<std::uint8_t>(members > 2 ? below(2) : 0),
                          .in_rank_order = in_order,
                          .slots = static_cast<std::uint16_t>(1 + below(slots)),
                          .begin = below(2) == 0 ? 0 : 0U - 20U,  // near wrap-around in half of the cases
                          .sequences = static_cast<std::uint32_t>(1 + frames / (4U * members * b.built().jobs)),
                          .is_short = below(3) == 0,
                          .updates = updates};
    jobs.emplace_back(p, random());
    sequences.push_back(p.sequences);
  }

  auto const got = [&](std::span<std::byte const> bytes) {
    frame::datagram d;
    nic::packet p;
    if (!frame::read(bytes, d) || !nic::parse(d.payload, p)) {
      throw std::runtime_error("the device has sent what a station does not read");
    }
    if (happens(loss)) {
      return;
    }
    std::uint32_t const station = d.to.ip - frames::station(0).ip;
    for (workers& w : jobs) {
      if (w.is_member(station)) {
        w.take(static_cast<std::uint8_t>(station - w.first_station()), p);
      }
    }
  };

  std::vector<under_way> network;
  auto const is_over = [&] { return std::ranges::all_of(jobs, [](workers const& w) { return w.is_done(); }); };
  while (!is_over()) {
    if (b.given() > 40 * frames + 10'000) {
      throw std::runtime_error("workers do not get on: " + std::to_string(b.given()) + " frames");
    }
    if (b.waiting() < 6) {
      workers& w = jobs[below(jobs.size())];
      auto const m = static_cast<std::uint8_t>(below(w.size()));
      under_way u{frames::of(w.place(m), w.next_of(m), below(50) == 0), false};
      if (below(40) == 0) {
        u.bad = frames::spoil(u.frame, random);
      }
      if (below(30) == 0) {
        network.push_back(u);
      }
      network.push_back(std::move(u));
    }
    while (network.size() > (reorders ? 12U : 0U)) {
      std::size_t const i = reorders ? below(network.size()) : 0;
      if (!happens(loss)) {
        b.give(std::move(network[i].frame), network[i].bad);
      }
      network.erase(network.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::uint64_t i = 1 + (below(8) == 0 ? below(40) : 0); i != 0; --i) {
      b.step(got);
    }
  }
  work done;
  done.counted = b.finish();
  done.frames = b.given();
  for (std::uint32_t const s : sequences) {
    done.sequences += s;
  }
  return done;
}
