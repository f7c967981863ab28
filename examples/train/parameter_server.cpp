// SPDX-License-Identifier: Apache-2.0
#include "parameter_server.hpp"

#include <cstdio>

namespace ps = tutti::nn::parameter_server;

namespace {

void show_histogram(char const* what, ps::histogram const& numbers) {
  if (numbers.total() == 0) {
    return;
  }
  std::printf("%s\n ", what);
  std::size_t const last = numbers.largest();
  for (std::size_t i = 0; i <= last; ++i) {
    if (numbers[i] != 0) {
      std::printf(" %zu%s: %.1f %%", i, i + 1 == ps::histogram::places ? " or more" : "",
                  100 * static_cast<double>(numbers[i]) / static_cast<double>(numbers.total()));
    }
  }
  std::printf("\n");
}

}  // namespace

void show(ps::summary const& all, ps::roles const& who, std::vector<std::string> const& names) {
  std::printf("\n     busy     waited    steps       sent   received\n");
  for (std::size_t r = 0; r != all.ranks.size(); ++r) {
    auto const& one = all.ranks[r];
    std::printf("%7.2f s  %7.2f s %8llu %6.1f MiB %6.1f MiB  %s, %s\n", one.busy, one.waited,
                static_cast<unsigned long long>(one.steps), static_cast<double>(one.moved.bytes_sent) / (1 << 20),
                static_cast<double>(one.moved.bytes_received) / (1 << 20),
                who.name(static_cast<tutti::rank_type>(r)).c_str(), names[r].c_str());
  }
  show_histogram("clocks ahead of the slowest when weights were read", all.lead());
  show_histogram("updates that a gradient had not seen when it was pushed", all.missed());
  for (auto const& one : all.lost) {
    std::printf("lost: worker %u: %s\n", one.worker, one.why.c_str());
  }
  std::fflush(stdout);
}
