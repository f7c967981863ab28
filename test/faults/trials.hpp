// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tutti::faults {

/// The first complaint among the results of the ranks of a world.
template <class Results>
std::string first_complaint(Results const& results, char const* place) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    if (!complaint.empty()) {
      return std::string(place) + ", rank " + std::to_string(r) + ": " + complaint;
    }
  }
  return {};
}

/// Runs `trial(seed)` for seed, seed + 1, ... and reports each that fails with the seed that repeats it:
///
///     int main(int argc, char** argv) {
///       return run_trials(argc, argv, "what a trial does", 40, [](std::uint64_t seed) -> support::verdict { ... });
///     }
///
/// `usual` is the number of trials in the test suite: a few seconds' worth. `--trials N --seed S` on the command line
/// override it. A failed trial ends none of the others; the exit status is 1 if any failed, and 2 if the command line
/// is wrong.
template <class Trial>
int run_trials(int argc, char** argv, char const* description, std::uint64_t usual, Trial const& trial) {
  using clock = std::chrono::steady_clock;
  std::uint64_t trials = usual;
  std::uint64_t first = 1;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const option = argv[i];
    std::uint64_t* const value = option == "--trials" ? &trials : option == "--seed" ? &first : nullptr;
    std::string_view const text = i + 1 < argc ? argv[i + 1] : "";
    if (value == nullptr || text.empty() ||
        std::from_chars(text.data(), text.data() + text.size(), *value).ptr != text.data() + text.size()) {
      std::fprintf(stderr, "%s: %s\nusage: %s [--trials N (%llu)] [--seed S (1)]\n", argv[0], description, argv[0],
                   static_cast<unsigned long long>(usual));
      return 2;
    }
  }

  std::uint64_t failure_count = 0;
  auto last_report = clock::now();
  for (std::uint64_t k = 0; k < trials; ++k) {
    if (support::verdict const complaint = trial(first + k); !complaint.empty()) {
      ++failure_count;
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(first + k), complaint.c_str());
    }
    if (clock::now() - last_report > std::chrono::seconds(10)) {
      last_report = clock::now();
      std::printf("%llu of %llu trials, %llu failed\n", static_cast<unsigned long long>(k + 1),
                  static_cast<unsigned long long>(trials), static_cast<unsigned long long>(failure_count));
    }
    std::fflush(stdout);
  }
  std::printf("%llu trials from seed %llu, %llu failed\n", static_cast<unsigned long long>(trials),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failure_count));
  return failure_count == 0 ? 0 : 1;
}

}  // namespace tutti::faults
