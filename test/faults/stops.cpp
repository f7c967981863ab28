// SPDX-License-Identifier: Apache-2.0
// test: plain waits one_compiler (processes are killed, stopped or unknown peers)
#include <faults/trials.hpp>
#include <laws/late.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <random>

namespace {

using tutti::rank_type;

/// Stops a rank at a random moment, or lets it never call.
template <class Transport, class Topology>
std::string trial_of(Topology topology, std::mt19937_64& dice) {
  constexpr std::size_t counts[] = {1, 20, 1000, 30'000, 300'000};
  auto const n = static_cast<rank_type>(3 + dice() % 6);
  auto const victim = static_cast<rank_type>(dice() % n);
  std::size_t const count = counts[dice() % 5];
  if (dice() % 4 == 0) {
    return laws::a_late_rank<Transport>(topology, n, victim, count);
  }
  laws::moment const stop_moment{static_cast<int>(dice() % 50), std::chrono::nanoseconds(dice() % 300'000)};
  return laws::a_stopped_rank<Transport>(topology, n, victim, count, stop_moment);
}

template <class Transport>
std::string trial_over(std::mt19937_64& dice) {
  switch (dice() % 9) {
    case 0:
      return trial_of<Transport>(tutti::ring{}, dice);
    case 1:
      return trial_of<Transport>(tutti::chain{}, dice);
    case 2:
      return trial_of<Transport>(tutti::binary_tree{}, dice);
    case 3:
      return trial_of<Transport>(tutti::double_tree{}, dice);
    case 4:
      return trial_of<Transport>(tutti::doubling{}, dice);
    case 5:
      return trial_of<Transport>(tutti::butterfly{}, dice);
    case 6:
      return trial_of<Transport>(tutti::star{}, dice);
    case 7:
      return trial_of<Transport>(tutti::direct{}, dice);
    default:
      return trial_of<Transport>(tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, 2}, dice);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::faults::run_trials(
      argc, argv, "every survivor of a rank that is stopped, or never calls, names it and no other rank", 9,
      "stopped, or never calls", [](std::uint64_t seed) -> tutti::support::verdict {
        std::mt19937_64 dice(seed);
        std::string const complaint =
            seed % 3 == 0   ? trial_over<tutti::shared_memory>(dice)
            : seed % 3 == 1 ? trial_over<tutti::tcp>(dice)
                            : trial_over<tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>>(dice);
        return complaint.empty() ? complaint : std::string(tutti::faults::wrong_name) + complaint;
      });
}
