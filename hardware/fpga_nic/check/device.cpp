// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device against its model, `summing_switch`.
#include "../registers/device.hpp"

#include "../../../tools/common/real_range.hpp"
#include "scenarios.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace {

/// @throws std::runtime_error that names the seed
template <class F>
auto run_with_seed(char const* scenario, std::uint64_t seed, F const& f) {
  try {
    return f();
  } catch (std::exception const& e) {
    throw std::runtime_error(std::string(scenario) + " with seed " + std::to_string(seed) + ": " + e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  double frames = 1e5;
  double work_frames = 0;
  std::uint64_t seed = 1;
  std::pair<unsigned, unsigned> workers{2, 8};
  CLI::App app{
      "Gives frames to the device in hardware, as Verilator has translated it, and to its model in C++: each frame\n"
      "that it sends must have the same bytes, and all that it counts must be the same."};
  app.option_defaults()->always_capture_default();
  app.add_option("--frames", frames, "Of each kind of traffic: packets that are spoilt, and workers that sum")
      ->check(real_range(1.0, 1e12));
  app.add_option("--worked", work_frames, "Of workers that sum, where they are to be other than --frames; 0: as many")
      ->check(real_range(0.0, 1e12));
  app.add_option("--workers", workers, "How many a job has, from and to");
  app.add_option("--seed", seed, "What all is drawn from");
  CLI11_PARSE(app, argc, argv);
  try {
    auto const frame_count = static_cast<std::uint64_t>(frames);
    device::counter_values total{};
    auto const add = [&](device::counter_values const& v) {
      for (std::size_t k = 0; k != v.size(); ++k) {
        total[k] += v[k];
      }
    };
    std::uint64_t thrown_frames = 0;
    for (std::uint64_t s = seed; thrown_frames < frame_count; ++s) {
      std::uint64_t const n = std::min<std::uint64_t>(2000, frame_count - thrown_frames);
      add(run_with_seed("thrown packets", s, [&] { return throw_packets(s, n); }));
      thrown_frames += n;
    }
    work sums;
    auto const work_count = work_frames != 0 ? static_cast<std::uint64_t>(work_frames) : frame_count;
    for (std::uint64_t s = seed; sums.frames < work_count; ++s) {
      work const w = run_with_seed("work", s, [&] { return do_work(s, 2000, workers.first, workers.second); });
      add(w.counters);
      sums.frames += w.frames;
      sums.sequences += w.sequences;
    }
    std::printf("device: %llu frames thrown, %llu worked for %llu sums; all answers and counts are the model's\n",
                static_cast<unsigned long long>(thrown_frames), static_cast<unsigned long long>(sums.frames),
                static_cast<unsigned long long>(sums.sequences));
    device::print(total);
    // Frames without room only occur with DROP_WHEN_FULL, and weights only with memory for them.
    auto const may_come = [](std::string_view name) {
      bool const is_of_weights = name == "stores" || name == "pulls" || name == "updates";
      return name == "no room" ? CHECK_DROP_WHEN_FULL != 0 : CHECK_WEIGHTS != 0 || !is_of_weights;
    };
    for (std::size_t k = 0; k != total.size() && std::min(frame_count, work_count) >= 50'000; ++k) {
      if (total[k] == 0 && may_come(device::counter_names[k])) {
        throw std::runtime_error("nothing was counted as " + std::string(device::counter_names[k]) +
                                 ": frames are drawn too narrowly");
      }
    }
  } catch (std::exception const& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "device: %s\n", e.what());
    return 1;
  }
  return 0;
}
