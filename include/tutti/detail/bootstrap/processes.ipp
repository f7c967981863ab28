// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <cerrno>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::vector<std::string> process_rendezvous::exchange(std::string_view mine) {
  bootstrap_frame answer;
  parent_->queue(bootstrap_frame_kind::text, mine);
  // The parent's deadline covers all. If the parent dies, so does this process.
  if (parent_->send((time_point::max)()) != io::done ||
      parent_->receive(answer, UINT64_MAX, (time_point::max)()) != io::done) {
    throw error(failure::join, "exchange among processes: the process that started them is gone").set_ranks(rank_, {});
  }
  if (answer.kind == bootstrap_frame_kind::table) {
    return unpacker(answer.payload).texts();
  }
  rank_failure why;
  if (!decode(answer.payload, why)) {
    why = {"exchange among processes: the process that started them sent an answer that is not of tutti",
           failure::protocol,
           {}};
  }
  throw error(why.kind, why.text).set_ranks(rank_, why.at_fault);
}

TUTTI_DECL process_world::process_world(rank_type size, duration patience)
    : patience_(finite_patience(patience)), ranks_(size) {}

TUTTI_DECL process_world::~process_world() = default;

TUTTI_DECL void process_world::start(rank_type r, body const& what) {
  auto const size = static_cast<rank_type>(ranks_.size());
  ranks_[r].process = child::start(connect(r), [&](descriptor own) {
    channel parent(std::move(own));
    try {
      process_rendezvous at(parent, r, size);
      parent.queue(bootstrap_frame_kind::result, what.call(what.of, at));
    } catch (...) {
      if (is_forced_unwind()) {
        parent.queue(bootstrap_frame_kind::failure, encode(unwound_failure()));
        parent.send((time_point::max)());
        throw;
      }
      parent.queue(bootstrap_frame_kind::failure, encode(current_failure()));
    }
    parent.send((time_point::max)());
  });
}

/// Connects this process with rank r; returns rank r's end.
TUTTI_DECL descriptor process_world::connect(rank_type r) {
  auto [here, there] = stream_pair();
  if (!here) {
    throw error(failure::join, "cannot connect to the process of rank " + std::to_string(r) + ": " +
                                   describe_errno(errno) + "; start fewer ranks or allow more descriptors (ulimit -n)");
  }
  ranks_[r].line = channel(std::move(here));
  return std::move(there);
}

TUTTI_DECL void process_world::serve() {
  uncancelled const between_points;
  std::vector<pollfd> set(ranks_.size());
  while (watch(set)) {
    uncancelled::point();
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

/// Waits for an event. Returns false if all processes have ended.
TUTTI_DECL bool process_world::watch(std::vector<pollfd>& set) {
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
  // A hang-up shortly precedes the end of its process. The long pause is for a process whose socket lives on in a fork
  // of its own.
  time_point const look = steady_now() + std::chrono::milliseconds(ending ? 1 : 200);
  poll_until(set, collecting_ && deadline_ < look ? deadline_ : look);
  return true;
}

TUTTI_DECL void process_world::listen_to(rank_type r) {
  state& s = ranks_[r];
  // Before reading: a process that has ended has sent everything.
  bool const ended = !s.buried && s.process.has_ended();
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

/// Returns false if the bytes are no frames of a rank.
TUTTI_DECL bool process_world::take_frames(rank_type r) {
  state& s = ranks_[r];
  bootstrap_frame f;
  for (;;) {
    channel::found const found = s.line.next(f, UINT64_MAX);
    if (found != channel::found::frame) {
      return found == channel::found::nothing;
    }
    rank_failure why;
    if (f.kind == bootstrap_frame_kind::text) {
      s.text = std::move(f.payload);
      s.here = true;
    } else if (f.kind == bootstrap_frame_kind::result) {
      s.result = std::move(f.payload);
      s.returned = true;
      end(r, {"rank " + std::to_string(r) + " ended without taking part"});
    } else if (f.kind == bootstrap_frame_kind::failure && decode(f.payload, why)) {
      end(r, std::move(why));
    } else {
      return false;
    }
  }
}

/// Marks rank r as unable to exchange, which fails the exchanges of all.
TUTTI_DECL void process_world::end(rank_type r, rank_failure why) {
  ranks_[r].over = true;
  bool const told = why.text.starts_with("rank " + std::to_string(r) + " ");
  break_up((told ? "" : "rank " + std::to_string(r) + " failed before: ") + why.text, {r});
  ranks_[r].why = std::move(why);
}

TUTTI_DECL void process_world::break_up(std::string const& why, std::vector<rank_type> at_fault) {
  if (!broken()) {
    broken_ = {"exchange among processes: " + why, failure::join, std::move(at_fault)};
  }
}

/// Completes the current exchange, or tells its members why it fails.
TUTTI_DECL void process_world::answer() {
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
    break_up(
        list_ranks(absent) + " of " + std::to_string(ranks_.size()) + " did not come within " + seconds_text(patience_),
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

}  // namespace tutti::detail::bootstrap
