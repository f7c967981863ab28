// SPDX-License-Identifier: Apache-2.0
// test: plain (processes are killed, stopped or unknown peers)
//
// Unknown peers at the ports of a world over TCP while it meets, connects and works: connections that send nothing,
// too little, too much, too slowly, the words of another job or world, or random bytes. The world still meets, every
// sum is right, and no rank holds much memory.
#include "trials.hpp"
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <atomic>
#include <deque>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;
using namespace std::chrono_literals;

constexpr rank_type most_ranks = 4;
constexpr std::size_t most_held = 400;   ///< connections held by the unknown peers at a time
constexpr int most_connections = 2'000;  ///< connections made by them in a trial
constexpr long most_memory_kib = 32 << 10;
constexpr rlim_t few_descriptors = 256;

/// The state shared by all processes of a trial.
struct trial_state {
  std::atomic<std::uint16_t> port[most_ranks];  ///< ports of the ranks' own listeners
  std::atomic<bool> has_begun;                  ///< the unknown peers have begun
  std::atomic<bool> is_over;
};

using dice = std::mt19937_64;

[[nodiscard]] std::string some_bytes(dice& d, std::size_t limit) {
  std::string text(d() % limit, '\0');
  for (char& c : text) {
    c = static_cast<char>(d());
  }
  return text;
}
[[nodiscard]] std::string frame_of(std::uint32_t kind, std::uint64_t length, std::string_view payload) {
  std::string text = "tut1";
  for (int i = 0; i < 4; ++i) {
    text += static_cast<char>(kind >> (8 * i));
  }
  for (int i = 0; i < 8; ++i) {
    text += static_cast<char>(length >> (8 * i));
  }
  return text.append(payload);
}

/// The bytes that an unknown peer sends to rank 0's meeting port.
[[nodiscard]] std::string words_at_the_meeting(dice& d) {
  auto const rank = static_cast<rank_type>(d() % 6);
  std::string const hello = tcp_hello{rank, 77, "", {"h", 1, ""}}.encode();
  std::string const other = tcp_hello{rank, 3, "another job", {"h", 1, ""}}.encode();
  std::string const whole = frame_of(1, hello.size(), hello);
  switch (d() % 7) {
    case 0:
      return "";
    case 1:
      return some_bytes(d, 100'000);
    case 2:
      return whole;
    case 3:
      return frame_of(1, other.size(), other);
    case 4:
      return whole.substr(0, d() % whole.size());
    case 5:
      return frame_of(1, d(), std::string(10'000, 'x'));
    default:
      return "tut1" + some_bytes(d, 5'000);
  }
}
/// The bytes that an unknown peer sends to a rank's own listener.
[[nodiscard]] std::string words_at_a_listener(dice& d) {
  detail::tcp::hello h;
  h.world = {d(), d()};
  h.kind = static_cast<detail::tcp::hello_kind>(d() % 6);
  h.sender = static_cast<rank_type>(d() % most_ranks);
  h.receiver = static_cast<rank_type>(d() % most_ranks);
  std::string const whole(reinterpret_cast<char const*>(&h), sizeof h);
  switch (d() % 6) {
    case 0:
      return "";
    case 1:
      return some_bytes(d, 100'000);
    case 2:
      return whole;
    case 3:
      return whole.substr(0, d() % whole.size());
    case 4:
      return whole + some_bytes(d, 10'000);
    default:
      return whole.substr(0, 8) + some_bytes(d, 5'000);
  }
}

/// A connection that sends its words at once, or slowly: some at first, and a byte in each later call.
struct unknown_peer {
  descriptor socket;
  std::string words;

  void say(std::size_t limit) {
    std::string_view const part = std::string_view(words).substr(0, limit);
    words.erase(0, write_some(socket.get(), bytes_of(part)).bytes);
  }
};

/// Floods the ports until the world is over or enough connections were made.
void flood(std::uint64_t seed, rank_type n, std::uint16_t meeting, trial_state& state) {
  dice d(seed);
  // The first peer sends a valid hello, and then bytes without end.
  std::string const hello = tcp_hello{1, n, "", {"h", 1, ""}}.encode();
  unknown_peer first{net::connect(net::resolve("127.0.0.1", meeting).front(), steady_now() + 1s),
                     frame_of(1, hello.size(), hello) + std::string(64 << 20, 'y')};
  first.say(first.words.size());
  state.has_begun = true;
  std::deque<unknown_peer> connections;
  std::size_t const capacity = d() % most_held;
  for (int count = 0; count < most_connections && !state.is_over; ++count) {
    std::size_t const target = d() % (most_ranks + 1);
    std::uint16_t const port = target == most_ranks ? meeting : state.port[target].load();
    if (port == 0) {
      std::this_thread::yield();
      continue;
    }
    unknown_peer s{net::connect(net::resolve("127.0.0.1", port).front(), steady_now() + 100ms),
                   target == most_ranks ? words_at_the_meeting(d) : words_at_a_listener(d)};
    if (s.socket) {
      s.say(d() % 3 == 0 ? 1 : s.words.size());
      connections.push_back(std::move(s));
    }
    while (connections.size() > capacity) {
      connections.pop_front();
    }
    first.say(1 << 20);
    if (!connections.empty()) {
      connections[d() % connections.size()].say(1);
    }
    if (d() % 50 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(d() % 2'000));
    }
  }
  while (!state.is_over) {
    std::this_thread::sleep_for(1ms);  // held connections stay open for all of the trial
  }
}

/// The peak memory of this process.
[[nodiscard]] long memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::stol(line.substr(6));
    }
  }
  return 0;
}

/// Joins and works, late at each stage by times drawn from the seed. Returns a complaint, or "".
[[nodiscard]] support::verdict work(std::uint64_t seed, rank_type me, rank_type n, descriptor listener,
                                    std::uint16_t meeting, trial_state& state) {
  rlimit const descriptor_limit{few_descriptors, few_descriptors};
  ::setrlimit(RLIMIT_NOFILE, &descriptor_limit);
  dice d(seed * 31 + me);
  auto const dawdle = [&] { std::this_thread::sleep_for(std::chrono::microseconds(d() % 20'000)); };
  dawdle();
  membership const member{.rank = me, .size = n, .job = "", .patience = 30s};
  tcp_rendezvous meet =
      me == 0 ? tcp_rendezvous(std::move(listener), member) : tcp_rendezvous({"127.0.0.1", meeting}, member);
  world_options<tutti::tcp> o;
  o.deadline = 30s;
  tutti::communicator<tutti::tcp> world(meet, o);
  tutti::host_port at;
  if (!net::parse(world.transport().address(), at)) {
    return "no address";
  }
  state.port[me] = at.port;
  dawdle();
  allreduce sum{world, direct{}, tutti::sum<int>{}};
  auto const ranks = static_cast<int>(n);
  for (int k = 0; k < 200; ++k) {
    std::vector<int> v(1 + static_cast<std::size_t>(k) * 37, static_cast<int>(me) + k);
    sum(v);
    for (int const x : v) {
      if (x != ranks * k + ranks * (ranks - 1) / 2) {
        return "rank " + std::to_string(me) + " has a wrong sum";
      }
    }
  }
  long const kib = memory_kib();
  return kib < most_memory_kib ? "" : "rank " + std::to_string(me) + " held " + std::to_string(kib) + " KiB";
}

[[nodiscard]] support::verdict trial(std::uint64_t seed) {
  void* const page = ::mmap(nullptr, sizeof(trial_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return "no memory";
  }
  trial_state& state = *::new (page) trial_state{};
  int const listener = net::listen(std::uint16_t{0}).release();  // for rank 0 to inherit
  std::uint16_t const meeting = net::local_address(listener).port();
  rank_type const n = 2 + static_cast<rank_type>(seed % (most_ranks - 1));

  pid_t const crowd = ::fork();
  if (crowd == 0) {
    ::close(listener);
    flood(seed, n, meeting, state);
    ::_exit(0);
  }
  while (!state.has_begun) {
    std::this_thread::yield();
  }
  auto const ends = run_processes(
      n,
      [&](process_rendezvous& at) -> support::verdict {
        descriptor own_listener([&] { return listener; });
        if (at.rank() != 0) {
          own_listener.reset();
        }
        return work(seed, at.rank(), n, std::move(own_listener), meeting, state);
      },
      60s);
  state.is_over = true;
  ::waitpid(crowd, nullptr, 0);
  ::close(listener);
  ::munmap(page, sizeof(trial_state));
  support::verdict bad;
  for (auto const& e : ends) {
    bad += e.has_value() ? e.value() : e.failure().text + "; ";
  }
  return bad;
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::faults::run_trials(argc, argv, "unknown peers flood the ports of a world over tcp", 12, trial);
}
