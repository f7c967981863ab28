// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/child.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/returnable.hpp>
#include <tutti/expects.hpp>
#include <tutti/outcome.hpp>
#include <tutti/rendezvous.hpp>

#include <vector>

namespace tutti::detail {

/// The rendezvous of a rank that is a forked process: asks its parent. Used by one thread at a time.
template <class Channel>
class basic_process_rendezvous {
 public:
  static constexpr bool one_host = true;

  basic_process_rendezvous(Channel& parent, rank_type rank, rank_type size) noexcept
      : parent_(&parent), rank_(rank), size_(size) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view mine) {
    frame answer;
    parent_->queue(bootstrap_frame_kind::text, mine);
    // The parent keeps the time for all. If it dies, so does this process.
    if (parent_->send(time_point::max()) != io::done ||
        parent_->receive(answer, UINT64_MAX, time_point::max()) != io::done) {
      throw error(failure::join, "exchange among processes: the process that started them is gone").between(rank_, {});
    }
    if (answer.kind == bootstrap_frame_kind::table) {
      return unpacker(answer.payload).texts();
    }
    rank_failure why;
    if (!decode(answer.payload, why)) {
      why = {"exchange among processes: the answer makes no sense", failure::protocol, {}};
    }
    throw error(why.kind, why.text).between(rank_, why.at_fault);
  }

 private:
  Channel* parent_;
  rank_type rank_;
  rank_type size_;
};

using process_rendezvous = basic_process_rendezvous<channel>;

/// The parent of a world of processes: starts them, serves their exchanges with its own thread,
/// collects what they return, buries them. It needs no port, no thread and no signal handler.
template <class Channel>
class basic_process_world {
 public:
  basic_process_world(rank_type size, duration patience) : patience_(finite_patience(patience)), ranks_(size) {}

  /// Forks rank r, which runs `body(Channel&)`.
  template <class Body>
  void start(rank_type r, Body&& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      throw error(failure::join, "cannot connect a process: " + describe_errno(errno) +
                                     "; start fewer ranks or allow more descriptors (ulimit -n)");
    }
    ranks_[r].line = Channel(descriptor(ends[0]));
    ranks_[r].process = child::start(descriptor(ends[1]), [&](descriptor own) {
      Channel line(std::move(own));
      body(line);
    });
  }

  /// Serves until every process has ended.
  void serve() {
    std::vector<pollfd> set(ranks_.size());
    while (watch(set)) {
      for (rank_type r = 0; r < ranks_.size(); ++r) {
        listen_to(r);
      }
      answer();
      for (state& s : ranks_) {
        if (s.line && !s.line.flushed() && !s.line.flush()) {
          s.line.close();
        }
      }
    }
  }

  /// What rank r returned, or why it did not. @pre serve() has returned
  template <class R>
  [[nodiscard]] outcome<R> take(rank_type r) {
    if (!ranks_[r].returned) {
      return std::move(ranks_[r].why);
    }
    if constexpr (std::is_void_v<R>) {
      return outcome<R>(std::in_place);
    } else {
      return outcome<R>(std::in_place, decode_result<R>(ranks_[r].result));
    }
  }

 private:
  struct state {
    Channel line;
    child process;
    bool over = false;      ///< it will not exchange any more
    bool buried = false;    ///< its process has ended
    bool here = false;      ///< it has come to the exchange that is being collected
    bool returned = false;  ///< it has come to its end
    std::string text;       ///< its part of that exchange
    std::string result;
    rank_failure why;
  };

  /// Waits for something to happen. False: all have ended.
  bool watch(std::vector<pollfd>& set) {
    bool running = false;
    bool ending = false;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      state& s = ranks_[i];
      running = running || !s.buried;
      ending = ending || (!s.buried && !s.line);
      set[i] = {s.line.fd(), static_cast<short>(s.line.flushed() ? POLLIN : POLLIN | POLLOUT), 0};
    }
    if (!running) {
      return false;
    }
    // A hang-up announces the end of a process by a moment. The long pause is for one whose socket
    // lives on in a process that it forked itself.
    time_point const look = steady_now() + std::chrono::milliseconds(ending ? 1 : 200);
    poll_until(set.data(), set.size(), collecting_ && deadline_ < look ? deadline_ : look);
    return true;
  }

  void listen_to(rank_type r) {
    state& s = ranks_[r];
    bool const ended = !s.buried && s.process.has_ended();  // asked first: what it sent is then all there
    for (io got = io::done; s.line && got == io::done;) {
      got = s.line.fill();
      if (!take_frames(r) || got == io::closed) {
        s.line.close();
      }
    }
    if (ended) {
      s.line.close();
      s.buried = true;
      if (!s.over) {
        end(r, {"rank " + std::to_string(r) + " (pid " + std::to_string(s.process.pid()) + ") " + s.process.end_text() +
                    " before it gave a result",
                failure::peer_lost,
                {r},
                s.process.signal(),
                s.process.status()});
      }
    }
  }

  /// False: these bytes are none of ours.
  bool take_frames(rank_type r) {
    state& s = ranks_[r];
    frame f;
    for (;;) {
      typename Channel::found const found = s.line.next(f, UINT64_MAX);
      if (found != Channel::found::frame) {
        return found == Channel::found::nothing;
      }
      rank_failure why;
      if (f.kind == bootstrap_frame_kind::text) {
        s.text = std::move(f.payload);
        s.here = true;
      } else if (f.kind == bootstrap_frame_kind::result) {
        s.result = std::move(f.payload);
        s.returned = true;
        end(r, {"rank " + std::to_string(r) + " has ended without it"});
      } else if (f.kind == bootstrap_frame_kind::failure && decode(f.payload, why)) {
        end(r, std::move(why));
      } else {
        return false;
      }
    }
  }

  /// Rank r will not exchange any more, so neither will the others.
  void end(rank_type r, rank_failure why) {
    ranks_[r].over = true;
    bool const told = why.text.starts_with("rank " + std::to_string(r) + " ");
    break_up((told ? "" : "rank " + std::to_string(r) + " failed before: ") + why.text, {r});
    ranks_[r].why = std::move(why);
  }

  [[nodiscard]] bool broken() const noexcept { return broken_.kind != failure::none; }

  void break_up(std::string const& why, std::vector<rank_type> at_fault) {
    if (!broken()) {
      broken_ = {"exchange among processes: " + why, failure::join, std::move(at_fault)};
    }
  }

  /// Completes the exchange that is under way, or tells its members why it cannot be.
  void answer() {
    std::vector<rank_type> absent;
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      if (!ranks_[r].here) {
        absent.push_back(r);
      }
    }
    bool const started = absent.size() < ranks_.size();
    if (started && !std::exchange(collecting_, started)) {
      deadline_ = steady_now() + patience_;
    }
    if (!started || (!absent.empty() && !broken() && steady_now() < deadline_)) {
      return;
    }
    if (!absent.empty()) {
      break_up(list_ranks(absent) + " of " + std::to_string(ranks_.size()) + " did not come within " +
                   seconds_text(patience_),
               absent);
    }
    packer table;
    table.number(ranks_.size());
    for (state const& s : ranks_) {
      table.text(s.text);
    }
    std::string const reply = broken() ? encode(broken_) : table.take();
    for (state& s : ranks_) {
      if (s.here) {
        s.line.queue(broken() ? bootstrap_frame_kind::failure : bootstrap_frame_kind::table, reply);
        s.text.clear();
        s.here = false;
      }
    }
    collecting_ = false;
  }

  duration patience_;
  std::vector<state> ranks_;
  bool collecting_ = false;
  time_point deadline_{};
  rank_failure broken_;  ///< why no exchange can succeed any more
};

using process_world = basic_process_world<channel>;

/// Runs f(process_rendezvous&) as n ranks, each a forked process of its own, and waits for all of
/// them. Returns in rank order what each returned, or why it did not: what it threw, the signal that
/// killed it, the status it exited with. Only the result comes back, not what f changed in memory.
///
/// `patience` bounds every exchange. A rank that ends before an exchange makes it fail at once on
/// the others. A child is killed if its parent dies; it runs no exit handlers and flushes nothing
/// but stdout and stderr (a std::cout that was unhooked from stdout flushes itself in f).
///
/// @pre n >= 1; no other thread of this process holds a lock that f needs, as ever with fork
/// @throws error(failure::join) if the system gives no more processes; those that run are killed
template <class F>
[[nodiscard]] auto run_processes(rank_type n, F&& f, duration patience = join_timeout)
    -> std::vector<outcome<std::invoke_result_t<F&, process_rendezvous&>>> {
  using result = std::invoke_result_t<F&, process_rendezvous&>;
  static_assert(returnable<result>,
                "a rank that is a process returns void, a trivially copyable type that is no pointer or view, "
                "std::string, or std::vector of such a type: nothing else comes back out of its memory");
  expects(n >= 1, "run_processes: a world has at least one rank");
  process_world world(n, patience);
  for (rank_type r = 0; r < n; ++r) {
    world.start(r, [&](channel& parent) {
      try {
        process_rendezvous at(parent, r, n);
        if constexpr (std::is_void_v<result>) {
          f(at);
          parent.queue(bootstrap_frame_kind::result, {});
        } else {
          parent.queue(bootstrap_frame_kind::result, encode_result<result>(f(at)));
        }
      } catch (...) {
        parent.queue(bootstrap_frame_kind::failure, encode(current_failure()));
      }
      parent.send(time_point::max());
    });
  }
  world.serve();
  std::vector<outcome<result>> out;
  out.reserve(n);
  for (rank_type r = 0; r < n; ++r) {
    out.push_back(world.template take<result>(r));
  }
  return out;
}

}  // namespace tutti::detail
