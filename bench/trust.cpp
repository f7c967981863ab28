// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a world's secret, and of encryption, over the loopback interface. See usage() below, and
// bench/results/trust.md.
#include "common/clock.hpp"
#include "common/numbers.hpp"
#include "common/settings.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/join.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/secure.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <netinet/in.h>
#include <numeric>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::string_view usage = R"(usage: trust [name=value...]

  Starts processes that join a world at 127.0.0.1, as three kinds that take turns: tcp without a secret, tcp with one,
  and secure_tcp (TLS 1.3). Prints medians, and the ratio to tcp without a secret in the same round.

  joiners=16         ranks of the world whose joining, and first alltoall, is measured
  ranks=2            ranks of the world whose allreduces are measured
  bytes=4,65536,1048576
  rounds=15
)";

/// The ways in which a world is made.
enum class kind { open, secret, encrypted };
constexpr std::array kinds{kind::open, kind::secret, kind::encrypted};
constexpr std::array<char const*, 3> names{"tcp", "tcp, secret", "secure_tcp"};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// A port of 127.0.0.1 at which nothing listens.
std::string free_port() {
  int const s = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(s, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(s, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no port of 127.0.0.1 is free");
  }
  ::close(s);
  return std::to_string(ntohs(address.sin_port));
}

/// The times of one world, in milliseconds: of joining, of the first alltoall, and of an allreduce of each length.
using times = std::vector<double>;

template <class Transport>
times measure(std::int64_t begin, std::vector<std::size_t> const& lengths) {
  auto const milliseconds_since = [](std::int64_t t) { return static_cast<double>(bench::now() - t) * 1e-6; };
  times result;
  auto world = tutti::join<Transport>();
  result.push_back(milliseconds_since(begin));
  std::int64_t const joined_at = bench::now();
  std::vector<tutti::rank_type> const own_numbers(world.size(), world.rank());
  std::vector<tutti::rank_type> numbers(world.size());
  tutti::alltoall{world, tutti::direct{}}(own_numbers, numbers);
  result.push_back(milliseconds_since(joined_at));
  for (tutti::rank_type r = 0; r < world.size(); ++r) {
    if (numbers[r] != r) {
      throw std::runtime_error("an alltoall was wrong");
    }
  }
  for (std::size_t const bytes : lengths) {
    std::vector<float> v(bytes / sizeof(float), 0.F);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::size_t const count = std::clamp<std::size_t>((std::size_t{1} << 26U) / (bytes + 20000), 20, 2000);
    for (std::size_t i = 0; i < count / 4; ++i) {
      sum(v);
    }
    std::fill(v.begin(), v.end(), world.rank() == 0 ? 1.F : 0.F);
    std::int64_t const t = bench::now();
    for (std::size_t i = 0; i < count; ++i) {
      sum(v);
      if (world.rank() != 0) {
        std::fill(v.begin(), v.end(), 0.F);
      }
    }
    result.push_back(milliseconds_since(t) / static_cast<double>(count));
    if (v.back() != (world.rank() == 0 ? 1.F : 0.F)) {
      throw std::runtime_error("a sum was wrong");
    }
  }
  return result;
}

/// The longest time of any rank, for each measurement. @throws std::runtime_error if a rank has failed
times run_world(kind k, std::size_t ranks, std::vector<std::size_t> const& lengths) {
  ::setenv("TUTTI_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("TUTTI_MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("TUTTI_MASTER_PORT", free_port().c_str(), 1);
  ::setenv("TUTTI_JOB", "bench", 1);
  k == kind::open ? ::unsetenv("TUTTI_SECRET") : ::setenv("TUTTI_SECRET", "a secret of this benchmark alone", 1);
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe");
  }
  std::size_t const count = 2 + lengths.size();
  std::int64_t const begin = bench::now();
  for (std::size_t r = 0; r < ranks; ++r) {
    if (::fork() == 0) {
      times durations(count, -1);
      try {
        ::setenv("TUTTI_RANK", std::to_string(r).c_str(), 1);
        durations =
            k == kind::encrypted ? measure<tutti::secure_tcp>(begin, lengths) : measure<tutti::tcp>(begin, lengths);
      } catch (std::exception const& e) {
        std::fprintf(stderr, "rank %zu: %s\n", r, e.what());
      }
      ssize_t const bytes = static_cast<ssize_t>(count * sizeof(double));
      std::_Exit(::write(ends[1], durations.data(), count * sizeof(double)) == bytes ? 0 : 1);
    }
  }
  ::close(ends[1]);
  times longest(count, 0);
  bool has_failed = false;
  for (std::size_t r = 0; r < ranks; ++r) {
    times of_rank(count, -1);
    has_failed =
        ::read(ends[0], of_rank.data(), count * sizeof(double)) != static_cast<ssize_t>(count * sizeof(double)) ||
        of_rank[0] < 0 || has_failed;
    for (std::size_t i = 0; i < count; ++i) {
      longest[i] = std::max(longest[i], of_rank[i]);
    }
  }
  ::close(ends[0]);
  while (::wait(nullptr) > 0) {
  }
  if (has_failed) {
    throw std::runtime_error("a rank has failed");
  }
  return longest;
}

/// Prints a row for each measurement: the medians of all kinds, and their ratios to the first.
void report(std::size_t ranks, std::vector<std::size_t> const& lengths, std::size_t rounds, bool joins) {
  std::vector<std::string> titles{"join", "first alltoall"};
  for (std::size_t const bytes : lengths) {
    titles.push_back("allreduce " + std::to_string(bytes) + " B");
  }
  std::vector<std::array<std::vector<double>, 3>> durations(titles.size());
  std::vector<std::array<std::vector<double>, 3>> ratios(titles.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    std::array<times, 3> turn;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::size_t const k = (round + i) % kinds.size();
      turn[k] = run_world(kinds[k], ranks, lengths);
    }
    for (std::size_t i = 0; i < titles.size(); ++i) {
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        durations[i][k].push_back(turn[k][i]);
        ratios[i][k].push_back(turn[k][i] / turn[0][i]);
      }
    }
  }
  std::printf("\n%zu ranks, %zu rounds; ms, and ratio to tcp\n%-24s", ranks, rounds, "");
  for (char const* const name : names) {
    std::printf(" %20s", name);
  }
  for (std::size_t i = joins ? 0 : 2; i < titles.size(); ++i) {
    std::printf("\n%-24s", titles[i].c_str());
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      std::printf(" %11.4f (%6.2f)", median(durations[i][k]), median(ratios[i][k]));
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bench::settings options;
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--help") {
        std::fputs(usage.data(), stdout);
        return 0;
      }
      options.add(argv[i]);
    }
    std::size_t const rounds = options.number("rounds", 15);
    report(options.number("joiners", 16), {}, rounds, true);
    report(options.number("ranks", 2), bench::wholes("bytes", options.text("bytes", "4,65536,1048576")), rounds, false);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "trust: %s\n%s", e.what(), usage.data());
    return 1;
  }
}
