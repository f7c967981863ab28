// SPDX-License-Identifier: Apache-2.0
#include "parameter_server.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace ps = tutti::nn::parameter_server;

namespace {

void show_histogram(char const* title, ps::histogram const& numbers) {
  if (numbers.total() == 0) {
    return;
  }
  std::printf("%s\n ", title);
  // Each small number by itself, larger ones from one power of 2 to the next.
  for (std::size_t first = 0, end = 1; first < ps::histogram::places; first = end, end = end < 4 ? end + 1 : 2 * end) {
    std::uint64_t count = 0;
    for (std::size_t i = first; i < std::min(end, ps::histogram::places); ++i) {
      count += numbers[i];
    }
    if (count != 0) {
      std::string const range = end - first == 1 && end < ps::histogram::places ? std::to_string(first)
                                : end < ps::histogram::places ? std::to_string(first) + "-" + std::to_string(end - 1)
                                                              : std::to_string(first) + " or more";
      std::printf("  %s: %.1f %%", range.c_str(),
                  100 * static_cast<double>(count) / static_cast<double>(numbers.total()));
    }
  }
  std::printf("\n");
}

}  // namespace

void show(ps::summary const& sum, ps::roles const& roles, std::vector<std::string> const& names) {
  std::printf("\n     busy     waited    steps       sent   received\n");
  for (std::size_t r = 0; r != sum.ranks.size(); ++r) {
    auto const& rank_summary = sum.ranks[r];
    if (std::ranges::any_of(sum.lost_workers,
                            [&](auto const& lost_worker) { return roles.rank_of_worker(lost_worker.worker) == r; })) {
      std::printf("      -           - %8llu          -          -  %s, %s, lost\n",
                  static_cast<unsigned long long>(rank_summary.steps),
                  roles.name(static_cast<tutti::rank_type>(r)).c_str(), names[r].c_str());
      continue;
    }
    std::printf("%7.2f s  %7.2f s %8llu %6.1f MiB %6.1f MiB  %s, %s\n", rank_summary.busy_seconds,
                rank_summary.waiting_seconds, static_cast<unsigned long long>(rank_summary.steps),
                static_cast<double>(rank_summary.communication.bytes_sent) / (1 << 20),
                static_cast<double>(rank_summary.communication.bytes_received) / (1 << 20),
                roles.name(static_cast<tutti::rank_type>(r)).c_str(), names[r].c_str());
  }
  show_histogram("clocks ahead of the slowest when weights were read", sum.lead());
  show_histogram("updates that a gradient had not seen when it was pushed", sum.missed_updates());
  for (auto const& lost_worker : sum.lost_workers) {
    std::printf("lost: worker %u: %s\n", lost_worker.worker, lost_worker.reason.c_str());
  }
  std::fflush(stdout);
}
