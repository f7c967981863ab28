// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <cerrno>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::vector<std::string> process_rendezvous::exchange(std::string_view text) {
  bootstrap_frame answer;
  parent_->queue(bootstrap_frame_kind::text, text);
  // The parent's deadline covers all. If the parent dies, so does this process.
  if (parent_->send((time_point::max)()) != io::complete ||
      parent_->receive(answer, UINT64_MAX, (time_point::max)()) != io::complete) {
    throw error(failure::join, "exchange among processes: the process that started them is gone").set_ranks(rank_, {});
  }
  if (answer.kind == bootstrap_frame_kind::table) {
    return unpacker(answer.payload).texts();
  }
  rank_failure cause;
  if (!decode(answer.payload, cause)) {
    cause = {"exchange among processes: the process that started them sent an answer that is not of tutti",
             failure::protocol,
             {}};
  }
  throw error(cause.kind, cause.text).set_ranks(rank_, cause.at_fault);
}

TUTTI_DECL process_world::process_world(rank_type size, duration patience)
    : patience_(finite_patience(patience)), secret_(net::draw_secret()), ranks_(size) {}

TUTTI_DECL process_world::~process_world() = default;

TUTTI_DECL void process_world::start(rank_type r, body const& work) {
  auto const size = static_cast<rank_type>(ranks_.size());
  ranks_[r].process = child::start(connect(r), [&](descriptor child_end) {
    channel parent(std::move(child_end));
    try {
      process_rendezvous at(parent, r, size, secret_);
      parent.queue(bootstrap_frame_kind::result, work.call(work.object, at));
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
  auto [parent_end, child_end] = stream_pair();
  if (!parent_end) {
    throw error(failure::join, "cannot connect to the process of rank " + std::to_string(r) + ": " +
                                   describe_errno(errno) + "; start fewer ranks or allow more descriptors (ulimit -n)");
  }
  ranks_[r].line = channel(std::move(parent_end));
  return std::move(child_end);
}

TUTTI_DECL void process_world::serve() {
  cancellation_shield const between_points;
  std::vector<pollfd> set(ranks_.size());
  while (watch(set)) {
    cancellation_shield::point();
    for (rank_type r = 0; r < ranks_.size(); ++r) {
      listen_to(r);
    }
    answer();
    for (state& s : ranks_) {
      if (s.line && !s.line.is_flushed() && !s.line.flush()) {
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
    running = running || !s.is_reaped;
    ending = ending || (!s.is_reaped && !s.line);
    set[i] = {s.line.fd(), static_cast<short>(s.line.is_flushed() ? POLLIN : POLLIN | POLLOUT), 0};
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
  bool const has_ended = !s.is_reaped && s.process.has_ended();
  for (io progress = io::complete; s.line && progress == io::complete;) {
    progress = s.line.fill();
    if (!take_frames(r) || progress == io::hangup) {
      s.line.close();
    }
  }
  if (has_ended) {
    s.line.close();
    s.is_reaped = true;
    if (!s.is_over) {
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
    channel::parse_result const result = s.line.next(f, UINT64_MAX);
    if (result != channel::parse_result::frame) {
      return result == channel::parse_result::incomplete;
    }
    rank_failure cause;
    if (f.kind == bootstrap_frame_kind::text) {
      s.text = std::move(f.payload);
      s.is_present = true;
    } else if (f.kind == bootstrap_frame_kind::result) {
      s.result = std::move(f.payload);
      s.has_result = true;
      end(r, {"rank " + std::to_string(r) + " ended without taking part"});
    } else if (f.kind == bootstrap_frame_kind::failure && decode(f.payload, cause)) {
      end(r, std::move(cause));
    } else {
      return false;
    }
  }
}

/// Marks rank r as unable to exchange, which fails the exchanges of all.
TUTTI_DECL void process_world::end(rank_type r, rank_failure cause) {
  ranks_[r].is_over = true;
  bool const names_rank = cause.text.starts_with("rank " + std::to_string(r) + " ");
  break_up((names_rank ? "" : "rank " + std::to_string(r) + " failed before: ") + cause.text, {r});
  ranks_[r].cause = std::move(cause);
}

TUTTI_DECL void process_world::break_up(std::string const& reason, std::vector<rank_type> at_fault) {
  if (!is_broken()) {
    breakdown_ = {"exchange among processes: " + reason, failure::join, std::move(at_fault)};
  }
}

/// Completes the current exchange, or tells its members why it fails.
TUTTI_DECL void process_world::answer() {
  std::vector<rank_type> absent;
  for (rank_type r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].is_present) {
      absent.push_back(r);
    }
  }
  bool const has_begun = absent.size() < ranks_.size();
  if (has_begun && !std::exchange(collecting_, has_begun)) {
    deadline_ = steady_now() + patience_;
  }
  if (!has_begun || (!absent.empty() && !is_broken() && steady_now() < deadline_)) {
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
  std::string const reply = is_broken() ? encode(breakdown_) : table.take();
  for (state& s : ranks_) {
    if (s.is_present) {
      s.line.queue(is_broken() ? bootstrap_frame_kind::failure : bootstrap_frame_kind::table, reply);
      s.text.clear();
      s.is_present = false;
    }
  }
  collecting_ = false;
}

}  // namespace tutti::detail::bootstrap
