// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/child.hpp>
#include <tutti/detail/bootstrap/returnable.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The rendezvous of a rank that is a forked process; its parent serves it. Used by one thread at a time.
class process_rendezvous {
 public:
  static constexpr bool one_host = true;

  process_rendezvous(channel& parent, rank_type rank, rank_type size, world_secret const& secret) noexcept
      : parent_(&parent), rank_(rank), size_(size), secret_(secret) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view text);

  /// The secret that the parent has drawn for this world; none if the program has no <tutti/secure.hpp>.
  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }

 private:
  channel* parent_;
  rank_type rank_;
  rank_type size_;
  world_secret secret_;
};

/// The parent of a world of processes: starts them, serves their exchanges with its own thread, collects their results
/// and reaps them. It needs no port, no thread and no signal handler.
class process_world {
 public:
  process_world(rank_type size, duration patience);

  ~process_world();
  process_world(process_world const&) = delete;
  process_world& operator=(process_world const&) = delete;

  /// The work of every rank: a function that returns the bytes of its result.
  struct body {
    void* object;
    std::string (*call)(void* object, process_rendezvous& at);
  };

  /// Forks rank r, which calls `work` and sends its result or its failure.
  void start(rank_type r, body const& work);

  /// Serves until every process has ended.
  void serve();

  /// The result of rank r, or the reason why it has none. @pre serve() has returned
  template <class R>
  [[nodiscard]] outcome<R> take(rank_type r) {
    if (!ranks_[r].has_result) {
      return std::move(ranks_[r].cause);
    }
    if constexpr (std::is_void_v<R>) {
      return outcome<R>(std::in_place);
    } else {
      return outcome<R>(std::in_place, decode_result<R>(ranks_[r].result));
    }
  }

 private:
  struct state {
    channel line;
    child process;
    bool is_over = false;     ///< takes part in no further exchange
    bool is_reaped = false;   ///< the process has ended and is reaped
    bool is_present = false;  ///< has joined the current exchange
    bool has_result = false;  ///< has sent its result
    std::string text;         ///< the rank's part of the current exchange
    std::string result;
    rank_failure cause;
  };

  [[nodiscard]] descriptor connect(rank_type r);
  bool watch(std::vector<pollfd>& set);
  void listen_to(rank_type r);
  bool take_frames(rank_type r);
  void end(rank_type r, rank_failure cause);
  [[nodiscard]] bool is_broken() const noexcept { return breakdown_.kind != failure::none; }
  void break_up(std::string const& reason, std::vector<rank_type> at_fault);
  void answer();

  duration patience_;
  world_secret secret_;
  std::vector<state> ranks_;
  bool collecting_ = false;
  time_point deadline_{};
  rank_failure breakdown_;  ///< the reason why no exchange can succeed any more
};

/// Runs f(process_rendezvous&) as n ranks, each in a forked process, and waits for all of them. Returns, in rank
/// order, each rank's result or failure: its exception, the signal that killed it, or its exit status. Only the result
/// comes back, not changes that f made in memory.
///
/// `patience` bounds every exchange. If a rank ends before an exchange, the exchange fails at once on the others. A
/// child is killed if its parent dies; it runs no exit handlers and flushes only stdout and stderr (f itself must
/// flush a std::cout that was unhooked from stdout).
///
/// @pre n >= 1; no other thread of this process holds a lock that f needs, as ever with fork
/// @throws error(failure::join) if the system gives no more processes; running ones are killed
template <class F>
[[nodiscard]] auto run_processes(rank_type n, F&& function, duration patience = join_timeout)
    -> std::vector<outcome<std::invoke_result_t<F&, process_rendezvous&>>> {
  using result = std::invoke_result_t<F&, process_rendezvous&>;
  static_assert(returnable<result>,
                "a rank that is a process returns void, a trivially copyable type that is no pointer or view, "
                "std::string, or std::vector of such a type: nothing else comes back out of its memory");
  expects(n >= 1, "spawn: a world has at least one rank, not 0");
  auto call = [&function](process_rendezvous& at) -> std::string {
    if constexpr (std::is_void_v<result>) {
      function(at);
      return {};
    } else {
      return encode_result<result>(function(at));
    }
  };
  process_world::body const rank_body{
      &call, [](void* object, process_rendezvous& at) { return (*static_cast<decltype(call)*>(object))(at); }};
  process_world world(n, patience);
  for (rank_type r = 0; r < n; ++r) {
    world.start(r, rank_body);
  }
  world.serve();
  std::vector<outcome<result>> outcomes;
  outcomes.reserve(n);
  for (rank_type r = 0; r < n; ++r) {
    outcomes.push_back(world.take<result>(r));
  }
  return outcomes;
}

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/processes.ipp>
#endif
