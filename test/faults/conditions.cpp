// SPDX-License-Identifier: Apache-2.0
// test: plain (processes meet unknown peers, faulty networks and limits of the system)
//
// Ranks that work while their network or their system fails. Where the fault can be survived, every sum is right.
// Where it cannot, every rank gets an error that names a rank beyond the fault. No rank waits for ever.
#include <faults/cable.hpp>
#include <faults/relay.hpp>
#include <faults/trials.hpp>
#include <faults/unknown_peers.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

namespace {

std::int64_t clock_shift[2] = {};  ///< nanoseconds that the clocks of this process have jumped: real time, the others

}  // namespace

/// Stands in front of the C library's: the clocks of a process jump.
extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  if (::syscall(SYS_clock_gettime, clock, t) != 0) {
    return -1;
  }
  constexpr std::int64_t second = 1'000'000'000;
  std::int64_t const nanoseconds = t->tv_sec * second + t->tv_nsec + clock_shift[clock == CLOCK_REALTIME ? 0 : 1];
  t->tv_sec = static_cast<std::time_t>(nanoseconds / second);
  t->tv_nsec = static_cast<long>(nanoseconds % second);
  return 0;
}

namespace {

using namespace std::chrono_literals;
using namespace tutti::faults;
using tutti::failure;
using tutti::rank_type;
using tutti::detail::file_rendezvous;
using tutti::detail::membership;
using tutti::detail::process_rendezvous;
using tutti::detail::tcp_rendezvous;
using tutti::support::verdict;

enum class condition {
  flood,
  pause,
  reset,
  half_open,
  part,
  heal,
  slow,
  corrupt,
  packets,
  pulled,
  descriptors,
  memory,
  disk,
  forks,
  clocks,
};

constexpr char const* names[] = {
    "unknown peers flood the ports",
    "stopped for a while",
    "connection reset",
    "half-open connection",
    "partition",
    "partition that heals",
    "slow, late and small packets",
    "frame corrupted by a relay",
    "IP packets lost, repeated, late, corrupted",
    "cable pulled",
    "no descriptors",
    "no memory",
    "full disk, or limit of file sizes",
    "ranks that fork",
    "clocks that jump",
};

/// The random choices of one trial.
struct plan {
  explicit plan(std::uint64_t number) : seed(number), dice(number * 0x9E3779B97F4A7C15ULL) {
    kind = static_cast<condition>(seed % std::size(names));
    ranks = 2 + draw(kind == condition::flood ? most_flooded - 1 : max_ranks - 1);
    victim = draw(ranks);
    side = 1 + draw((1U << ranks) - 2);  // neither none nor all
    schedule = draw(8);
    is_early = draw(2) == 0;
    delay = std::chrono::microseconds(draw(draw(2) == 0 ? 1'000 : 20'000));
    amount = draw(1U << draw(15));
    uses_tcp = draw(2) == 0 || (kind >= condition::reset && kind <= condition::pulled) || kind == condition::flood;
    if (kind == condition::pulled || kind == condition::packets) {
      side = 0b010101U;
    }
  }
  std::uint32_t draw(std::uint32_t limit) { return static_cast<std::uint32_t>(dice() >> 8U) % limit; }

  /// True if the ranks cannot continue.
  [[nodiscard]] bool is_fatal() const {
    return kind == condition::reset || kind == condition::half_open || kind == condition::part ||
           kind == condition::corrupt || kind == condition::pulled;
  }
  /// True if one rank, or a disk, may lack what the work takes.
  [[nodiscard]] bool may_fail() const { return kind >= condition::descriptors && kind <= condition::disk; }
  [[nodiscard]] bool is_relayed() const { return kind >= condition::reset && kind <= condition::corrupt; }
  [[nodiscard]] bool has_cable() const { return kind == condition::packets || kind == condition::pulled; }

  std::uint64_t seed;
  std::mt19937_64 dice;
  condition kind;
  rank_type ranks = 0;
  rank_type victim = 0;
  std::uint32_t side = 0;  ///< a bit for each rank of one side of a cut
  std::uint32_t schedule = 0;
  bool is_early = false;  ///< the victim lacks something before it joins, or else in the middle of its work
  std::chrono::microseconds delay{};
  std::uint32_t amount = 0;  ///< the rest of what the victim lacks
  bool uses_tcp = false;
};

/// Gives a resource of this process a limit during its lifetime.
class low_limit {
 public:
  low_limit(decltype(RLIMIT_AS) resource, rlim_t limit) : resource_(resource) {
    ::getrlimit(resource_, &usual_);
    rlimit const low{limit, usual_.rlim_max};
    ::setrlimit(resource_, &low);
  }
  low_limit(low_limit const&) = delete;
  low_limit& operator=(low_limit const&) = delete;
  ~low_limit() { ::setrlimit(resource_, &usual_); }

 private:
  decltype(RLIMIT_AS) resource_;
  rlimit usual_{};
};

/// A number of /proc/self/status.
[[nodiscard]] rlim_t own_status(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) {
      return std::stoul(line.substr(key.size() + 1));
    }
  }
  return 0;
}

/// The children that a rank forks while it works. Each ends at once, uses the world, which must refuse it, or lives
/// until its parent has ended its work.
class children {
 public:
  children() {
    if (::pipe(lifeline_) != 0) {
      throw std::runtime_error("no pipe");
    }
  }
  children(children const&) = delete;
  children& operator=(children const&) = delete;
  ~children() { std::ignore = end(); }

  /// @param use adds with the other ranks
  template <class Use>
  void start(std::uint32_t kind, Use const& use) {
    pid_t const child = ::fork();
    if (child != 0) {
      pids_.push_back(child);
      return;
    }
    char c = 0;
    int status = 0;
    ::close(lifeline_[1]);
    if (kind == 0) {
      try {
        use();
        status = 1;
      } catch (std::exception const&) {
      }
    } else if (kind == 1) {
      [[maybe_unused]] ssize_t const end = ::read(lifeline_[0], &c, 1);
    }
    ::_exit(status);
  }
  [[nodiscard]] std::size_t count() const noexcept { return pids_.size(); }

  /// Ends all. Returns a complaint about one, or "".
  [[nodiscard]] verdict end() {
    ::close(std::exchange(lifeline_[1], -1));
    verdict complaint;
    for (pid_t const child : std::exchange(pids_, {})) {
      int status = 0;
      ::waitpid(child, &status, 0);
      complaint += status == 0 ? "" : "a forked child has summed with others, or was killed; ";
    }
    ::close(std::exchange(lifeline_[0], -1));
    return complaint;
  }

 private:
  int lifeline_[2] = {-1, -1};
  std::vector<pid_t> pids_;
};

/// Joins and sums, for ever if the fault is fatal. Returns a complaint, or "".
template <class Transport, class Meet>
[[nodiscard]] verdict sum_up(Meet& meet, plan p, board& state, tutti::world_options<Transport> const& options) {
  rank_type const me = meet.rank();
  bool const is_victim = me == p.victim;
  p.dice.seed(p.seed * 31 + me);
  std::optional<low_limit> limit;
  auto const lack = [&] {
    if (p.kind == condition::descriptors) {
      int const next = ::dup(0);
      ::close(next);
      limit.emplace(RLIMIT_NOFILE, static_cast<rlim_t>(next) + p.amount % 14);
    } else if (p.kind == condition::memory) {
      limit.emplace(RLIMIT_AS, (own_status("VmSize:") + p.amount) << 10);
    } else if (p.kind == condition::disk) {
      limit.emplace(RLIMIT_FSIZE, p.amount % 100);
    }
  };
  if (is_victim && p.is_early) {
    lack();
  }
  tutti::communicator<Transport> world(meet, options);
  state.pid[me] = ::getpid();
  if constexpr (std::is_same_v<Transport, tutti::tcp>) {
    tutti::host_port at;
    if (p.kind == condition::flood && tutti::detail::net::parse(world.transport().address(), at)) {
      state.port[me] = at.port;
    }
  }
  tutti::allreduce sum{world, tutti::selection(tutti::all_schedule_kinds[p.schedule]), tutti::sum<int>{}};
  children forked_children;
  std::mt19937_64 lengths(p.seed);  // equal on all ranks
  std::size_t const longest = p.kind == condition::slow ? 2'000 : p.kind == condition::packets ? 20'000 : 100'000;
  int const operations = p.kind == condition::flood ? 200 : p.kind == condition::packets ? 12 : 40;
  auto const n = static_cast<int>(world.size());
  for (int k = 0; k < operations || p.is_fatal(); ++k) {
    if (is_victim && !p.is_early && k == 3 + static_cast<int>(p.seed % 5)) {
      lack();
    }
    if (p.kind == condition::forks && p.draw(4) == 0 && forked_children.count() < 4) {
      forked_children.start(p.draw(3), [&] {
        int x = 1;
        sum(std::span(&x, 1));
      });
    }
    if (p.kind == condition::clocks && p.draw(2) == 0) {
      constexpr std::int64_t second = 1'000'000'000;
      clock_shift[0] = (std::int64_t{p.draw(2'000'000'000)} - 1'000'000'000) * second;
      clock_shift[1] += std::int64_t{p.draw(100)} * second / 1000;
    }
    ++state.operations[me];
    std::vector<int> v(1 + lengths() % (1 + lengths() % longest), static_cast<int>(me) + k);
    sum(v);
    int const expected = n * k + n * (n - 1) / 2;
    if (std::ranges::count(v, expected) != static_cast<std::ptrdiff_t>(v.size())) {
      return std::string(wrong_number) + "a sum is not " + std::to_string(expected);
    }
  }
  limit.reset();
  if (verdict complaint = forked_children.end(); !complaint.empty()) {
    return complaint;
  }
  constexpr rlim_t most_memory_kib = 32 << 10;
  rlim_t const kib = p.kind == condition::flood ? own_status("VmHWM:") : 0;
  return kib < most_memory_kib ? "" : std::string(leak) + "it held " + std::to_string(kib) + " KiB";
}

/// A folder for a meeting, on a disk of its own that has little room where this process may mount one.
class small_disk {
 public:
  explicit small_disk(plan const& p) {
    char name[] = "/tmp/tutti-faults-XXXXXX";
    path_ = ::mkdtemp(name) == nullptr ? "" : name;
    std::string const room = p.is_early ? "size=1m,mode=700"
                                        : "size=" + std::to_string(4 + p.amount % 200) +
                                              "k,nr_inodes=" + std::to_string(3 + p.amount % 40) + ",mode=700";
    bool const is_private =
        ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    is_mounted_ = is_private && ::mount("tutti-faults", path_.c_str(), "tmpfs", 0, room.c_str()) == 0;
  }
  small_disk(small_disk const&) = delete;
  small_disk& operator=(small_disk const&) = delete;
  ~small_disk() {
    if (is_mounted_) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
    std::filesystem::remove_all(path_);
  }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  std::string path_;
  bool is_mounted_ = false;
};

/// The means of a trial, made before its processes.
struct means {
  explicit means(plan const& p) {
    if (p.is_relayed()) {
      for (rank_type r = 0; r < p.ranks; ++r) {
        listeners.push_back(tutti::detail::net::listen(tutti::detail::net::resolve("127.0.0.1", 0).front()).release());
      }
    }
    if (p.kind == condition::flood) {
      listeners.push_back(tutti::detail::net::listen(std::uint16_t{0}).release());
    }
    if (p.kind == condition::disk) {
      disk.emplace(p);
    }
    if (p.has_cable()) {
      wire.emplace();
    }
  }
  means(means const&) = delete;
  means& operator=(means const&) = delete;
  ~means() {
    for (int const listener : listeners) {
      ::close(listener);
    }
  }
  [[nodiscard]] std::uint16_t port(rank_type r) const { return tutti::detail::net::local_address(listeners[r]).port(); }

  std::vector<int> listeners;  ///< listeners of the relay by rank, or the listener of the meeting
  std::optional<small_disk> disk;
  std::optional<cable> wire;
};

/// Does to the ranks what is planned, in a process of its own.
void disturb(plan p, means& m, board& state) {
  if (p.kind == condition::flood) {
    std::uint16_t const meeting = m.port(0);
    ::close(m.listeners[0]);
    return flood(p.seed, p.ranks, meeting, state);
  }
  if (p.is_relayed()) {
    auto const harm_kind = static_cast<harm>(static_cast<int>(p.kind) - static_cast<int>(condition::reset));
    relay::plan const r{harm_kind, p.ranks, p.side, p.delay, p.delay * 20, p.seed};
    return relay(r, m.listeners, state).run();
  }
  if (p.has_cable()) {
    return m.wire->run(state, p.ranks, p.kind == condition::pulled, p.delay, p.seed);
  }
  for (int stops = 0; stops < 4 && !state.is_over;) {
    if (!state.is_under_way(p.ranks)) {
      std::this_thread::yield();
      continue;
    }
    // The time is the trial itself.
    std::this_thread::sleep_for(p.delay / 4);
    ::kill(state.pid[p.victim], SIGSTOP);
    std::this_thread::sleep_for(p.delay * 4);
    ::kill(state.pid[p.victim], SIGCONT);
    ++stops;
  }
}

/// The program of a rank.
[[nodiscard]] verdict work(process_rendezvous& at, plan const& p, means& m, board& state) {
  tutti::world_options<tutti::tcp> tcp;
  tutti::world_options<tutti::shared_memory> memory;
  tcp.deadline = memory.deadline = p.kind == condition::part ? 500ms : 40s;
  if (p.kind == condition::flood) {
    low_limit const descriptors(RLIMIT_NOFILE, 256);
    std::mt19937_64 late(p.seed * 31 + at.rank());
    std::this_thread::sleep_for(std::chrono::microseconds(late() % 20'000));
    membership const member{.rank = at.rank(), .size = p.ranks, .job = "", .patience = 30s};
    tutti::detail::descriptor listener([&] { return at.rank() == 0 ? ::dup(m.listeners[0]) : -1; });
    tcp_rendezvous meet =
        at.rank() == 0 ? tcp_rendezvous(std::move(listener), member) : tcp_rendezvous({"127.0.0.1", m.port(0)}, member);
    return sum_up<tutti::tcp>(meet, p, state, tcp);
  }
  if (p.kind == condition::disk) {
    file_rendezvous meet(m.disk->path(), {.rank = at.rank(), .size = p.ranks, .job = "faults", .patience = 20s});
    return sum_up<tutti::shared_memory>(meet, p, state, memory);
  }
  if (p.is_relayed()) {
    relayed_rendezvous meet(at, m.port(at.rank()), state);
    return sum_up<tutti::tcp>(meet, p, state, tcp);
  }
  if (p.has_cable()) {
    m.wire->enter(at.rank() % 2);
    tcp.transport.network_interface = cable::interface;
    tcp.transport.silence = p.kind == condition::pulled ? 1s : 30s;
    tcp.transport.connect = p.kind == condition::pulled ? 2s : 30s;
  }
  return p.uses_tcp ? sum_up<tutti::tcp>(at, p, state, tcp) : sum_up<tutti::shared_memory>(at, p, state, memory);
}

/// The complaint about an error of rank r, or "".
[[nodiscard]] verdict judge(plan const& p, board const& state, rank_type r, tutti::rank_failure const& f) {
  if (p.may_fail() && r == p.victim && f.signal == 0) {
    return "";  // it lacks memory, or says what it lacks
  }
  bool const is_late = f.kind == failure::deadline;
  if (is_late != (p.kind == condition::part)) {
    return std::string(is_late ? hang : "") + f.text;
  }
  if (!p.is_fatal() && !p.may_fail()) {
    return f.text;
  }
  std::uint32_t const all_ranks = (1U << p.ranks) - 1;
  std::uint32_t const own_side = (p.side >> r & 1U) != 0 ? p.side : ~p.side;
  std::uint32_t const possible = p.kind == condition::part || p.kind == condition::pulled ? all_ranks & ~own_side
                                 : p.kind == condition::disk                              ? all_ranks
                                 : p.may_fail()                                           ? 1U << p.victim
                                                                                          : state.struck_ranks.load();
  bool is_right = !f.at_fault.empty();
  for (rank_type const culprit : f.at_fault) {
    is_right = is_right && culprit < p.ranks && (possible >> culprit & 1U) != 0;
  }
  return is_right ? "" : std::string(wrong_name) + f.text;
}

[[nodiscard]] verdict trial(std::uint64_t seed) {
  plan const p(seed);
  shared_board const state;
  means m(p);
  if (m.wire && !m.wire->complaint().empty()) {
    return std::string(not_tried) + m.wire->complaint();
  }
  bool const is_disturbed = p.is_relayed() || p.has_cable() || p.kind == condition::flood || p.kind == condition::pause;
  pid_t const disturber = is_disturbed ? ::fork() : -1;
  if (disturber == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    disturb(p, m, *state);
    ::_exit(0);
  }
  while (p.kind == condition::flood && !state->has_begun) {
    std::this_thread::yield();
  }
  auto const ends = tutti::detail::run_processes(
      p.ranks, [&](process_rendezvous& at) { return without_open_descriptors([&] { return work(at, p, m, *state); }); },
      60s);
  state->is_over = true;
  if (is_disturbed) {
    ::waitpid(disturber, nullptr, 0);
  }
  verdict complaints;
  for (rank_type r = 0; r < p.ranks; ++r) {
    verdict const complaint = !ends[r]                                  ? judge(p, *state, r, ends[r].failure())
                              : ends[r].value().empty() && p.is_fatal() ? "it did not fail"
                                                                        : ends[r].value();
    complaints += complaint.empty() ? "" : "rank " + std::to_string(r) + ": " + complaint + "; ";
  }
  // A rank that cannot write leaves a mark for ranks that are on their way.
  bool const has_met = std::ranges::all_of(ends, [](auto const& end) { return end.has_value(); });
  if (m.disk && has_met && !std::filesystem::is_empty(m.disk->path())) {
    complaints += std::string(leak) + "files of the meeting are left";
  }
  return complaints.empty()
             ? complaints
             : std::to_string(p.ranks) + (p.uses_tcp ? " ranks over tcp" : " ranks") + ", victim " +
                   std::to_string(p.victim) + ", " + std::string(tutti::name(tutti::all_schedule_kinds[p.schedule])) +
                   ", side " + std::to_string(p.side) + ": " + complaints;
}

[[nodiscard]] std::string kind(std::uint64_t seed) {
  return names[seed % std::size(names)];
}

}  // namespace

int main(int argc, char** argv) {
  return run_trials(argc, argv, "ranks work while their network or their system fails", 30, kind, trial);
}
