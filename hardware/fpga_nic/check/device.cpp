// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device against its model, `summing_switch`.
#include "../registers/device.hpp"

#include "../../../tools/common/within.hpp"
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
auto of_seed(char const* what, std::uint64_t seed, F const& f) {
  try {
    return f();
  } catch (std::exception const& e) {
    throw std::runtime_error(std::string(what) + " with seed " + std::to_string(seed) + ": " + e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  double frames = 1e5;
  double worked = 0;
  std::uint64_t seed = 1;
  std::pair<unsigned, unsigned> workers{2, 8};
  CLI::App app{
      "Gives frames to the device in hardware, as Verilator has translated it, and to its model in C++: each frame\n"
      "that it sends must have the same bytes, and all that it counts must be the same."};
  app.option_defaults()->always_capture_default();
  app.add_option("--frames", frames, "Of each kind of traffic: packets that are spoilt, and workers that sum")
      ->check(within(1.0, 1e12));
  app.add_option("--worked", worked, "Of workers that sum, where they are to be other than --frames; 0: as many")
      ->check(within(0.0, 1e12));
  app.add_option("--workers", workers, "How many a job has, from and to");
  app.add_option("--seed", seed, "What all is drawn from");
  CLI11_PARSE(app, argc, argv);
  try {
    auto const wanted = static_cast<std::uint64_t>(frames);
    device::counter_values all{};
    auto const add = [&](device::counter_values const& v) {
      for (std::size_t k = 0; k != v.size(); ++k) {
        all[k] += v[k];
      }
    };
    std::uint64_t thrown = 0;
    for (std::uint64_t s = seed; thrown < wanted; ++s) {
      std::uint64_t const n = std::min<std::uint64_t>(2000, wanted - thrown);
      add(of_seed("thrown packets", s, [&] { return throw_packets(s, n); }));
      thrown += n;
    }
    work done;
    auto const to_work = worked != 0 ? static_cast<std::uint64_t>(worked) : wanted;
    for (std::uint64_t s = seed; done.frames < to_work; ++s) {
      work const w = of_seed("work", s, [&] { return do_work(s, 2000, workers.first, workers.second); });
      add(w.counted);
      done.frames += w.frames;
      done.sequences += w.sequences;
    }
    std::printf("device: %llu frames thrown, %llu worked for %llu sums; all answers and counts are the model's\n",
                static_cast<unsigned long long>(thrown), static_cast<unsigned long long>(done.frames),
                static_cast<unsigned long long>(done.sequences));
    device::print(all);
    // Frames without room only occur with DROP_WHEN_FULL, and weights only with memory for them.
    auto const may_come = [](std::string_view name) {
      bool const is_of_weights = name == "stores" || name == "pulls" || name == "updates";
      return name == "no room" ? CHECK_DROP_WHEN_FULL != 0 : CHECK_WEIGHTS != 0 || !is_of_weights;
    };
    for (std::size_t k = 0; k != all.size() && std::min(wanted, to_work) >= 50'000; ++k) {
      if (all[k] == 0 && may_come(device::counter_names[k])) {
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
