// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/kills.hpp>
#include <tutti/door.hpp>
#include <tutti/enter.hpp>
#include <tutti/join.hpp>
#include <tutti/shrink.hpp>
#include <tutti/tutti.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <netinet/in.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

/// Lets one world lose and gain ranks at random moments. Members and processes that wait are killed, the host of the
/// members among them, also while they enter, grow or agree; some that wait are stopped for a while. In the end all
/// that live are ranks of one world. No sum is wrong, and nothing of the ended processes is left: no file, no shared
/// memory, no descriptor.
namespace tutti::faults {

/// The place where processes meet.
enum class meeting_place { folder, hosts };

/// The random choices of a trial of cycles.
class cycle_plan {
 public:
  explicit cycle_plan(std::uint64_t seed)
      : random_(static_cast<std::uint_fast32_t>(seed * 2654435761U % 2147483646U + 1)) {
    random_.discard(3);
    has_secret = draw(2) == 0;
    agrees = draw(2) == 0;
    founders = 2 + draw(3);
  }
  std::uint32_t draw(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() >> 8U) % limit; }
  std::chrono::microseconds draw_delay() { return std::chrono::microseconds(draw(draw(2) == 0 ? 4'000 : 40'000)); }

  static constexpr int cycles = 20;           ///< losses and gains
  static constexpr rank_type usual_size = 6;  ///< ranks of the largest world before the end
  bool has_secret;
  bool agrees;  ///< members agree every few sums, and before each `grow`
  rank_type founders;

 private:
  std::minstd_rand random_;
};

enum class activity : int { none, join, enter, sum, grow, agree, end };

[[nodiscard]] inline char const* name_of(activity a) noexcept {
  constexpr char const* names[] = {"no activity", "join", "enter", "sum", "grow", "agree", "end"};
  return names[static_cast<int>(a)];
}

/// The state that all processes of a trial share.
struct cycle_board {
  struct process {
    std::atomic<activity> current;     ///< its present activity
    std::atomic<activity> last;        ///< the activity in which it has to die
    std::atomic<long> delay;           ///< microseconds from the begin of that activity to its death
    std::atomic<std::uint64_t> world;  ///< identity of the last world in which it has summed; 0: none
    std::atomic<rank_type> size;       ///< number of ranks of that world
    std::atomic<rank_type> rank;       ///< its rank in that world
    char complaint[1024];

    /// Notes an activity, and dies in it if that is planned.
    void begin(activity a) {
      current = a;
      if (activity expected = a; last.compare_exchange_strong(expected, activity::none)) {
        die_after(std::chrono::microseconds(delay));
      }
    }
  };
  process processes[128];
  std::atomic<rank_type> limit;  ///< the largest number of ranks
  std::atomic<bool> is_over;
  std::atomic<std::uint64_t> worlds[256];           ///< the identity of each, by the number in its name
  std::atomic<std::uint64_t> agreements[256][256];  ///< the first result of each, by world and number
};

/// A fault that a process of a trial has found.
struct finding {
  std::string text;
};

/// A process of a world that loses and gains ranks.
template <class Transport>
class cycle_member {
 public:
  /// Joins with the other founders, or enters the world that runs.
  cycle_member(cycle_board& board, cycle_board::process& self, bool is_founder, bool agrees)
      : board_(board), self_(self), agrees_(agrees) {
    self.begin(is_founder ? activity::join : activity::enter);
    if (is_founder) {
      world_.emplace(join<Transport>());
      detector_.emplace(*world_, 20s);
    } else {
      auto [world, detector] = enter<Transport>();
      world_.emplace(std::move(world));
      detector_.emplace(std::move(detector));
    }
    entry_.emplace();
  }

  /// Works until the trial is over.
  void run() {
    while (!work()) {
      self_.begin(activity::grow);
      *world_ = detector_->grow(*entry_, board_.limit);
    }
  }

  /// Ends all but the detector, which has one descriptor, its listener.
  void leave() {
    world_.reset();
    entry_.reset();
  }

 private:
  enum class step { go_on, grow, end };

  /// Works in one world. Returns true if the trial is over, false if a rank is gone or processes wait.
  bool work() {
    identity_ = 0;
    agreements_ = 0;
    world_->deadline(30s);
    for (std::size_t turn = 0;; ++turn) {
      self_.begin(activity::sum);
      bool is_whole = true;
      step next = sum(turn, is_whole);
      // A rank may be one sum ahead of one that finds a fault: both agree before they grow.
      if (agrees_ && next != step::end && (next == step::grow || turn % 4 == 3)) {
        self_.begin(activity::agree);
        next = agree(is_whole) ? next : step::grow;
      }
      if (next != step::go_on) {
        return next == step::end;
      }
    }
  }

  step sum(std::size_t turn, bool& is_whole) {
    bool const has_room = world_->size() < board_.limit;
    std::vector<std::uint64_t> v(3 + (std::size_t{1} << (turn % 14)), 1);
    v[0] = world_->rank() == 0 ? draw_identity() : 0;
    v[1] = has_room && entry_->waiting() != 0 ? 1 : 0;
    v[2] = board_.is_over ? 1 : 0;
    try {
      allreduce{*world_, doubling{}, tutti::sum<std::uint64_t>{}}(v);
    } catch (error const& e) {
      if (e.kind() == failure::deadline || e.kind() == failure::mismatch) {
        throw finding{std::string(e.kind() == failure::deadline ? hang : "") + e.what()};
      }
      is_whole = false;
      return step::grow;
    }
    if (std::count(v.begin() + 3, v.end(), world_->size()) != static_cast<std::ptrdiff_t>(v.size() - 3)) {
      throw finding{std::string(wrong_number) + "a sum of " + std::to_string(world_->size()) + " ones is " +
                    std::to_string(v[3])};
    }
    note_world(v[0]);
    return v[1] != 0 ? step::grow : v[2] != 0 ? step::end : step::go_on;
  }

  /// Compares the identity of this world with the one that others found under its name.
  void note_world(std::uint64_t identity) {
    if (identity_ != 0 && identity_ != identity) {
      throw finding{std::string(wrong_number) + "one world has two identities"};
    }
    identity_ = identity;
    self_.size = world_->size();
    self_.rank = world_->rank();
    self_.world = identity;
    if (std::size_t const n = number(); n < std::size(board_.worlds)) {
      compare(board_.worlds[n], identity, "two worlds have the name " + std::string(world_->name()));
    }
  }

  /// Agrees with the other members. Returns false if one of them is not whole.
  bool agree(bool is_whole) {
    auto const value_of = [](rank_type r) { return 0xffffffffU & ~(std::uint64_t{2} << (r % 30)); };
    auto const result = detector_->agree(is_whole ? value_of(world_->rank()) : value_of(world_->rank()) & ~1U);
    std::uint64_t losses = 0;
    for (rank_type const r : result.lost_ranks) {
      losses |= std::uint64_t{1} << r;
    }
    for (rank_type const r : detector_->members()) {
      if ((result.value & ~value_of(r) & 0xffffffffU) != 0) {
        throw finding{std::string(wrong_number) + "a member's value is not in the result"};
      }
    }
    std::size_t const world = number();
    if (world < std::size(board_.agreements) && agreements_ < std::size(board_.agreements[world])) {
      compare(board_.agreements[world][agreements_], std::uint64_t{1} << 63 | losses << 32 | result.value,
              "agreement " + std::to_string(agreements_) + " of " + std::string(world_->name()) + " has two results");
    }
    ++agreements_;
    return (result.value & 1U) != 0;
  }

  static void compare(std::atomic<std::uint64_t>& first, std::uint64_t value, std::string const& text) {
    std::uint64_t expected = 0;
    if (!first.compare_exchange_strong(expected, value) && expected != value) {
      throw finding{std::string(wrong_number) + text};
    }
  }

  /// The number in the name of the world, "world+7".
  [[nodiscard]] std::size_t number() const {
    std::string const name(world_->name());
    auto const sign = name.find('+');
    return sign == name.npos ? 0 : std::stoul(name.substr(sign + 1));
  }

  /// The identity of a world whose rank 0 is this one.
  [[nodiscard]] std::uint64_t draw_identity() {
    return identity_ != 0 ? identity_ : std::uint64_t{std::random_device()()} << 16U | 1U;
  }

  cycle_board& board_;
  cycle_board::process& self_;
  bool agrees_;
  std::optional<communicator<Transport>> world_;
  std::optional<failure_detector<Transport>> detector_;
  std::optional<door> entry_;
  std::uint64_t identity_ = 0;
  std::size_t agreements_ = 0;
};

/// The program of a process of a trial.
template <class Transport>
verdict work_in_cycles(cycle_board& board, cycle_board::process& self, bool is_founder, bool agrees) {
  return without_open_descriptors([&]() -> verdict {
    std::size_t const initial_count = names_in("/proc/self/fd").size();
    try {
      cycle_member<Transport> member(board, self, is_founder, agrees);
      member.run();
      member.leave();
      self.begin(activity::end);
      std::size_t const count = names_in("/proc/self/fd").size();
      return count <= initial_count + 1
                 ? ""
                 : std::string(leak) + "the detector has " + std::to_string(count - initial_count) + " descriptors";
    } catch (finding const& f) {
      return f.text;
    } catch (error const& e) {
      return std::string(name_of(self.current)) + ": " + e.what();
    }
  });
}

/// A trial: starts, stops and kills processes, and compares what they report.
template <class Transport>
class cycle_trial {
 public:
  cycle_trial(std::uint64_t seed, meeting_place place)
      : plan_(seed), place_(place), page_(map()), board_(*::new(page_) cycle_board{}) {
    std::string folder = (std::filesystem::temp_directory_path() / "tutti-cycles-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), folder);
    }
    folder_ = folder;
    board_.limit = cycle_plan::usual_size;
    ::setenv("TUTTI_JOB", folder.c_str(), 1);
    ::setenv("TUTTI_TIMEOUT", "60", 1);
    if (plan_.has_secret) {
      ::setenv("TUTTI_SECRET", "zRk2nq0d8mQeYwLwq3vPq0o3m3cWb1g7c4cYyq5Jx9E=", 1);
    }
    if (place == meeting_place::folder) {
      ::setenv("TUTTI_STORE", ("file:" + folder).c_str(), 1);
    } else {
      plan_.founders = cycle_plan::usual_size;  // one for each entry of the list
      reserve_ports();
    }
  }
  cycle_trial(cycle_trial const&) = delete;
  cycle_trial& operator=(cycle_trial const&) = delete;
  ~cycle_trial() {
    std::error_code code;
    std::filesystem::remove_all(folder_, code);
    ::munmap(page_, sizeof(cycle_board));
  }

  verdict run() {
    verdict complaint = try_cycles();
    for (child const& c : children_) {
      ::kill(c.pid, SIGKILL);
      ::waitpid(c.pid, nullptr, 0);
    }
    if (complaint.empty()) {
      for (auto const& file : std::filesystem::recursive_directory_iterator(folder_)) {
        complaint += "; " + std::string(leak) + file.path().string() + " is left";
      }
    }
    return complaint.empty() ? complaint
                             : std::string(Transport::name) + (plan_.has_secret ? ", secret" : "") +
                                   (plan_.agrees ? ", agreeing" : "") + complaint;
  }

 private:
  struct child {
    pid_t pid;
    std::size_t id;
    rank_type entry;  ///< its number in the list of hosts
    bool is_doomed;   ///< it has to die when it begins its next activity of one kind
  };

  static void* map() {
    void* const page = ::mmap(nullptr, sizeof(cycle_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
    return page;
  }

  /// Makes the list of hosts. Bound sockets, which do not listen, keep its ports from other programs.
  void reserve_ports() {
    std::string list;
    for (rank_type entry = 0; entry < cycle_plan::usual_size; ++entry) {
      int const enable = 1;
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      auto* const name = reinterpret_cast<sockaddr*>(&at);
      socklen_t length = sizeof at;
      detail::descriptor const& s =
          ports_.emplace_back([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
      if (!s || ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &enable, sizeof enable) != 0 ||
          ::bind(s.get(), name, length) != 0 || ::getsockname(s.get(), name, &length) != 0) {
        throw std::system_error(errno, std::generic_category(), "a port");
      }
      list += (entry == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(ntohs(at.sin_port));
    }
    ::setenv("TUTTI_HOSTS", list.c_str(), 1);
  }

  verdict try_cycles() {
    for (rank_type r = 0; r < plan_.founders; ++r) {
      start(r, true, activity::none);
    }
    if (!await([&] { return are_in_one_world(children_); })) {
      return describe("the founders do not work");
    }
    for (int cycle = 0; cycle < cycle_plan::cycles;) {
      std::this_thread::sleep_for(plan_.draw_delay());
      reap();
      if (!failures_.empty()) {
        return describe("");
      }
      cycle += (plan_.draw(2) == 0 ? lose() || gain() : gain() || lose()) ? 1 : 0;
    }
    for (child& c : children_) {
      bool const is_spared = c.is_doomed && process_of(c).last.exchange(activity::none) != activity::none;
      c.is_doomed = c.is_doomed && !is_spared;
    }
    board_.limit = no_rank;
    if (!await([&] { return are_in_one_world(children_); })) {
      return describe("they do not come together in one world");
    }
    std::vector<child> const members = children_;
    board_.is_over = true;
    if (!await([&] { return children_.empty(); })) {
      return describe("not all end");
    }
    return are_in_one_world(members) ? verdict() : describe(std::string(wrong_number) + "they end in two worlds");
  }

  /// Starts a process, which dies in its first activity of this kind.
  void start(rank_type entry, bool is_founder, activity last) {
    if (process_count_ == std::size(board_.processes)) {
      throw std::logic_error("the board is too small");
    }
    std::size_t const id = process_count_++;
    plan_death(board_.processes[id], last);
    pid_t const pid = ::fork();
    if (pid == 0) {
      auto const set = [](char const* name, rank_type value) { ::setenv(name, std::to_string(value).c_str(), 1); };
      if (place_ == meeting_place::hosts || is_founder) {
        set("TUTTI_RANK", entry);
      }
      if (place_ == meeting_place::folder && is_founder) {
        set("TUTTI_SIZE", plan_.founders);
        set("TUTTI_LOCAL_RANK", entry);
        set("TUTTI_LOCAL_SIZE", plan_.founders);
      }
      cycle_board::process& self = board_.processes[id];
      verdict const complaint = work_in_cycles<Transport>(board_, self, is_founder, plan_.agrees);
      std::snprintf(self.complaint, sizeof self.complaint, "%s", complaint.c_str());
      ::_exit(complaint.empty() ? 0 : 1);
    }
    children_.push_back({pid, id, entry, last != activity::none});
  }

  void plan_death(cycle_board::process& p, activity last) {
    p.delay = plan_.draw(plan_.draw(2) == 0 ? 300 : 5000);
    p.last = last;
  }

  /// Starts a process that enters the world. Returns false if there is no place for it.
  bool gain() {
    rank_type entry = 0;
    while (std::any_of(children_.begin(), children_.end(), [&](child const& c) { return c.entry == entry; })) {
      ++entry;
    }
    if (entry == cycle_plan::usual_size + (place_ == meeting_place::folder ? 1 : 0)) {
      return false;
    }
    std::uint32_t const fate = plan_.draw(4);
    start(entry, false, fate == 0 ? activity::enter : activity::none);
    if (fate == 1) {
      std::this_thread::sleep_for(plan_.draw_delay());
      ::kill(children_.back().pid, SIGSTOP);
      std::this_thread::sleep_for(plan_.draw(8) == 0 ? 1200ms : plan_.draw_delay());
      ::kill(children_.back().pid, SIGCONT);
    }
    return true;
  }

  /// Kills a process, or plans its death. One member survives. Returns false if none has been chosen.
  bool lose() {
    auto const is_member = [&](child const& c) { return process_of(c).world != 0 && !c.is_doomed; };
    bool const may_lose_members = std::count_if(children_.begin(), children_.end(), is_member) > 1;
    std::vector<std::size_t> victims;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (!is_member(children_[i]) || may_lose_members) {
        victims.push_back(i);
      }
    }
    if (victims.empty()) {
      return false;
    }
    std::size_t victim = victims[plan_.draw(static_cast<std::uint32_t>(victims.size()))];
    if (plan_.draw(3) == 0) {
      for (std::size_t const i : victims) {
        victim = is_member(children_[i]) && process_of(children_[i]).rank == 0 ? i : victim;
      }
    }
    child& c = children_[victim];
    bool const was_doomed = std::exchange(c.is_doomed, true);
    if (!was_doomed && plan_.draw(2) == 0) {
      plan_death(process_of(c), plan_.agrees && plan_.draw(2) == 0 ? activity::agree : activity::grow);
      return true;
    }
    ::kill(c.pid, SIGKILL);
    ::waitpid(c.pid, nullptr, 0);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(victim));
    return !was_doomed;
  }

  /// Removes the children that have ended. Notes each one that should live.
  void reap() {
    std::erase_if(children_, [&](child const& c) {
      int status = 0;
      if (::waitpid(c.pid, &status, WNOHANG) != c.pid) {
        return false;
      }
      bool const is_planned = c.is_doomed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                          : board_.is_over && WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (!is_planned) {
        failures_ += "; process " + std::to_string(c.id) + " has ended with status " + std::to_string(status) + ": " +
                     process_of(c).complaint;
      }
      return true;
    });
  }

  /// Waits until a condition holds, for at most a minute. Returns false then, or if a process fails.
  template <class Condition>
  bool await(Condition&& condition) {
    for (time_point const end = steady_now() + 60s; steady_now() < end; std::this_thread::sleep_for(1ms)) {
      reap();
      if (!failures_.empty()) {
        return false;
      }
      if (condition()) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] cycle_board::process& process_of(child const& c) const { return board_.processes[c.id]; }

  /// True if all of these processes are to live, and their last sums were in one world without others.
  [[nodiscard]] bool are_in_one_world(std::vector<child> const& list) const {
    return std::all_of(list.begin(), list.end(), [&](child const& c) {
      cycle_board::process const& p = process_of(c);
      return !c.is_doomed && p.world != 0 && p.world == process_of(list.front()).world && p.size == list.size();
    });
  }

  /// The failures of processes; if there are none, a complaint with the activity of each.
  [[nodiscard]] verdict describe(std::string const& text) const {
    std::string result = failures_;
    if (failures_.empty()) {
      result = "; " + std::string(text.starts_with('[') ? "" : hang) + text;
    }
    for (child const& c : children_) {
      cycle_board::process const& p = process_of(c);
      result += "; process " + std::to_string(c.id) + ": " + name_of(p.current) + ", last rank " +
                std::to_string(p.rank) + " of " + std::to_string(p.size) + (c.is_doomed ? ", has to die" : "");
    }
    return result;
  }

  cycle_plan plan_;
  meeting_place place_;
  void* page_;
  cycle_board& board_;
  std::string folder_;
  std::vector<detail::descriptor> ports_;
  std::vector<child> children_;
  std::size_t process_count_ = 0;
  verdict failures_;
};

}  // namespace tutti::faults
