// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/mesh.hpp>

#include <cerrno>
#include <poll.h>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void mesh::look() {
  connector_.accept_connections();
  keep_calling(true);
  time_point const now = steady_now();
  bool const ask = now >= next_question();
  last_asked_ = ask ? now : last_asked_;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    rank_type const peer = up_[i];
    service(peer);
    if (ask && !connections_[peer]->over && connections_[peer]->silent(options_.silence)) {
      lose(peer, failure::peer_lost, ETIMEDOUT);
    }
  }
}

TUTTI_DECL void mesh::inquire(rank_type peer, flow s) {
  connection* const l = fault() || s.lane == transfer_lane ? nullptr : reach(peer);
  if (l == nullptr) {
    return;
  }
  try {
    l->in.calls.check_answer(s, calls[s.lane].what);
  } catch (error const&) {
    revoke({failure::mismatch, peer, rank_});
    throw;
  }
  if (l->in.calls.ask(s.lane)) {
    l->out.tell({.kind = frame_kind::inquiry, .lane = static_cast<std::uint8_t>(s.lane)});
    l->flush();
    watch(peer);
  }
}

TUTTI_DECL bool mesh::delivered() const noexcept {
  for (rank_type const peer : up_) {
    connection const& l = *connections_[peer];
    if (!l.over && !l.relayed && !l.delivered()) {
      return false;
    }
  }
  return broadcast_.spread();
}

TUTTI_DECL void mesh::lose(rank_type peer, failure kind, int code) {
  if (asking_around_) {
    return;  // whether a fault is being told is not known before all have been heard
  }
  if (!fault()) {
    asking_around_ = true;
    connector_.accept_all_connections();
    for (std::size_t i = 0; i < up_.size(); ++i) {
      if (connection& l = *connections_[up_[i]]; !l.over) {
        l.dig();
        attend(up_[i]);
      }
    }
    asking_around_ = false;
  }
  revoke({.kind = kind, .culprit = peer, .reporter = rank_, .code = code});
}

TUTTI_DECL void mesh::hear_excuse(rank_type peer, tutti::fault const& why) {
  excuses_.resize(size());
  excuses_[peer] = fault_broadcast::heard(why, size());
}

TUTTI_DECL tutti::fault mesh::reason_of(rank_type peer) const noexcept {
  if (peer >= size()) {
    return {};
  }
  if (connections_[peer] != nullptr && connections_[peer]->in.reason()) {
    return fault_broadcast::heard(connections_[peer]->in.reason(), size());
  }
  if (excuses_.empty()) {
    return {};
  }
  return excuses_[peer];
}

TUTTI_DECL void mesh::adopt(tutti::fault const& why, bool to_all) {
  if (!broadcast_.adopt(why)) {
    return;
  }
  for (rank_type r = 0; r < size(); ++r) {
    bool const gone = why.kind == failure::peer_lost && why.culprit == r;
    if (connections_[r] != nullptr) {
      spread(r);
    } else if (r != rank_ && !gone && (to_all || connector_.calls(r))) {
      open_broadcast_connection(r);
    }
  }
}

TUTTI_DECL void mesh::established(rank_type peer, descriptor socket, hello const& theirs) {
  waiter_.add(socket.get(), waiter::what::connection, peer, false);
  connections_[peer] = owned<connection>(new connection(std::move(socket), theirs, options_, pool_));
  up_.push_back(peer);
  if (fault()) {
    spread(peer);
  }
}

TUTTI_DECL void mesh::starve(rank_type peer) {
  int const code = connector_.starved();
  revoke({.kind = failure::cancelled, .culprit = rank_, .reporter = rank_, .code = code});
  throw error(failure::join, "no connection to rank " + std::to_string(peer) +
                                 " can be made: " + advise_on_errno(code) +
                                 "; a rank takes a descriptor for each peer, and this one has " +
                                 std::to_string(connections()) + " of " + std::to_string(size() - 1))
      .between(rank_, {rank_});
}

TUTTI_DECL void mesh::close(connection& l) noexcept {
  l.over = true;
  l.watched = false;
  waiter_.remove(l.fd());
}

TUTTI_DECL void mesh::spread(rank_type peer) {
  if (!broadcast_.tell(*connections_[peer])) {
    relay(peer);
  }
}

TUTTI_DECL void mesh::relay(rank_type peer) {
  connections_[peer]->relayed = true;
  open_broadcast_connection(peer);
}

TUTTI_DECL void mesh::open_broadcast_connection(rank_type peer) {
  hello greeting = connector_.greet(fault() ? greeting::revoke : greeting::excuse, peer);
  greeting.fault = fault() ? greeting.fault : reason_.pack();
  broadcast_.connect(waiter_, connector_.of(peer), greeting, options_);
}

TUTTI_DECL void mesh::leave() {
  constexpr duration moment = std::chrono::milliseconds(20);  // telling the fault takes that if nothing is in the way
  leaving_ = true;
  if (!fault()) {
    for (rank_type const peer : up_) {
      if (!connections_[peer]->out.torn()) {
        connections_[peer]->out.tell({.kind = frame_kind::bye, .bytes = reason_.pack()});
      }
    }
    for (rank_type r = 0; reason_ && r < size(); ++r) {
      if (r != rank_ && r != reason_.culprit && connections_[r] == nullptr) {
        open_broadcast_connection(r);
      }
    }
  }
  // After a fault no rank waits for data, only for the fault: what is still in the way of it soon will be for longer,
  // so a broadcast connection takes it.
  duration const patience = fault() ? (std::min<duration>)(options_.linger, std::chrono::seconds(1)) : options_.linger;
  time_point const begin = steady_now();
  for (;;) {
    duration const waited = steady_now() - begin;
    keep_calling(true);
    if (fault()) {
      connector_.accept_connections();
    }
    bool delivered = true;
    for (std::size_t i = 0; i < up_.size(); ++i) {  // there may come to be more
      rank_type const peer = up_[i];
      service(peer);
      connection const& l = *connections_[peer];
      bool const tells = fault() || reason_;
      bool const hopeless = l.out.torn() || fault();  // what is in the way is never read
      bool const done = l.over || l.delivered() || (hopeless && (l.relayed || !tells));
      if (!done && !l.relayed && tells && waited > moment) {
        relay(peer);
      }
      delivered = delivered && done;
    }
    if ((delivered && broadcast_.spread()) || waited > patience) {
      return;
    }
    pollfd handle{arm(), POLLIN, 0};
    ::poll(&handle, 1, 1);
    disarm();
  }
}

}  // namespace tutti::detail::tcp
