// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/all_topologies.hpp>
#include <laws/run_as.hpp>
#include <support/hosts_too.hpp>
#include <support/watched.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>

#include <array>
#include <string>
#include <vector>

namespace {

/// An element larger than any transport moves at once.
template <std::size_t Bytes>
struct page {
  std::array<std::uint32_t, Bytes / 4> words;
};

template <std::size_t Bytes>
struct composition_of_pages {
  using value_type = page<Bytes>;
  using accumulator_type = page<Bytes>;
  static constexpr std::string_view name = "compose pages";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;
  [[nodiscard]] value_type identity() const { return {}; }
  [[nodiscard]] value_type lift(value_type const& x) const { return x; }
  [[nodiscard]] value_type combine(value_type const& x, value_type const& y) const {
    value_type sum;
    for (std::size_t i = 0; i < x.words.size(); ++i) {
      sum.words[i] = x.words[i] + y.words[i];
    }
    return sum;
  }
  [[nodiscard]] value_type lower(value_type const& x, tutti::rank_type) const { return x; }
};

/// Word i of page k on rank r.
std::uint32_t word(std::uint32_t r, std::size_t k, std::size_t i) {
  return static_cast<std::uint32_t>((r + 1) * (i * 7 + k * 1'000'003 + 1));
}

/// Sums three pages, larger than any buffer, in place and not, over every topology.
template <class Transport, std::size_t Bytes>
void sums_of_pages(tutti::rank_type n) {
  support::agree<Transport>(n, [](auto& world) {
    return laws::all_topologies::first_complaint([&](auto topology) -> std::string {
      std::vector<page<Bytes>> input(3);
      for (std::size_t k = 0; k < input.size(); ++k) {
        for (std::size_t i = 0; i < input[k].words.size(); ++i) {
          input[k].words[i] = word(world.rank(), k, i);
        }
      }
      auto output = input;
      tutti::allreduce sum{world, laws::run_as(world, topology), composition_of_pages<Bytes>{}};
      sum(input, output);
      sum(input);
      std::uint32_t const factor = world.size() * (world.size() + 1) / 2;
      for (std::size_t k = 0; k < input.size(); ++k) {
        for (std::size_t i = 0; i < input[k].words.size(); ++i) {
          std::uint32_t const expected = word(0, k, i) * factor;
          if (input[k].words[i] != expected || output[k].words[i] != expected) {
            return std::string(topology.name) + ": word " + std::to_string(i) + " of page " + std::to_string(k) +
                   " is wrong";
          }
        }
      }
      return "";
    });
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_of_100_kib, Transport, support::transports_and_hosts) {
  sums_of_pages<Transport, 100 << 10>(3);
}
/// Half the size under the address sanitizer: clang gives each temporary element its own place on a thread's stack.
BOOST_AUTO_TEST_CASE_TEMPLATE(elements_of_1_mib, Transport, support::transports_and_hosts) {
  sums_of_pages<Transport, support::is_watched_by_address_sanitizer ? 1 << 19 : 1 << 20>(4);
}
