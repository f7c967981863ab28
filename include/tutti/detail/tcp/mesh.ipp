// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/mesh.hpp>

#include <cerrno>
#include <poll.h>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void mesh::probe() {
  connector_.accept_connections();
  continue_connecting(true);
  time_point const now = steady_now();
  bool const checks_silence = now >= next_silence_check();
  last_silence_check_ = checks_silence ? now : last_silence_check_;
  for (std::size_t i = 0; i < connected_peers_.size(); ++i) {
    rank_type const peer = connected_peers_[i];
    service(peer);
    if (checks_silence && !connections_[peer]->is_closed && connections_[peer]->is_silent(options_.silence)) {
      lose(peer, failure::peer_lost, ETIMEDOUT);
    }
  }
}

TUTTI_DECL void mesh::detect_mismatch(rank_type peer, flow s) {
  connection* const link = fault() || s.lane == transfer_lane ? nullptr : reach(peer);
  if (link == nullptr) {
    return;
  }
  try {
    link->reader.call_checks.check_reply(s, calls[s.lane].description);
  } catch (error const&) {
    revoke({failure::mismatch, peer, rank_});
    throw;
  }
  if (link->reader.call_checks.begin_query(s.lane)) {
    link->writer.queue_control_frame({.kind = frame_kind::call_query, .lane = static_cast<std::uint8_t>(s.lane)});
    link->flush();
    watch(peer);
  }
}

TUTTI_DECL bool mesh::is_delivered() const noexcept {
  for (rank_type const peer : connected_peers_) {
    connection const& link = *connections_[peer];
    if (!link.is_closed && !link.fault_relayed && !link.is_delivered()) {
      return false;
    }
  }
  return broadcast_.is_complete();
}

TUTTI_DECL void mesh::lose(rank_type peer, failure kind, int code) {
  if (is_collecting_faults_) {
    return;  // first all connections must be read
  }
  if (!fault()) {
    is_collecting_faults_ = true;
    connector_.accept_all_connections();
    for (std::size_t i = 0; i < connected_peers_.size(); ++i) {
      if (connection& link = *connections_[connected_peers_[i]]; !link.is_closed) {
        link.drain_control_frames();
        handle_events(connected_peers_[i]);
      }
    }
    is_collecting_faults_ = false;
  }
  revoke({.kind = kind, .culprit = peer, .reporter = rank_, .code = code});
}

TUTTI_DECL void mesh::receive_excuse(rank_type peer, tutti::fault const& cause) {
  excuses_.resize(size());
  excuses_[peer] = fault_broadcast::sanitize(cause, size());
}

TUTTI_DECL tutti::fault mesh::leave_reason_of(rank_type peer) const noexcept {
  if (peer >= size()) {
    return {};
  }
  if (connections_[peer] != nullptr && connections_[peer]->reader.leave_reason()) {
    return fault_broadcast::sanitize(connections_[peer]->reader.leave_reason(), size());
  }
  if (excuses_.empty()) {
    return {};
  }
  return excuses_[peer];
}

TUTTI_DECL void mesh::adopt_fault(tutti::fault const& cause, bool to_all) {
  if (!broadcast_.adopt(cause)) {
    return;
  }
  for (rank_type r = 0; r < size(); ++r) {
    bool const is_gone = cause.kind == failure::peer_lost && cause.culprit == r;
    if (connections_[r] != nullptr) {
      send_fault(r);
    } else if (r != rank_ && !is_gone && (to_all || connector_.is_connecting(r))) {
      open_broadcast_connection(r);
    }
  }
  // A connection may have been reset on its way: its peer lives, and its own end stays open in silence.
  if (cause.kind == failure::peer_lost && cause.reporter == rank_ && cause.code == 0 && cause.culprit < size() &&
      connections_[cause.culprit] != nullptr && !connections_[cause.culprit]->reader.has_said_bye()) {
    open_broadcast_connection(cause.culprit);
  }
}

TUTTI_DECL void mesh::add_connection(rank_type peer, wire bytes, hello const& peer_hello) {
  waiter_.add(bytes.fd(), waiter::source::connection, peer, false);
  connections_[peer] = owner<connection>(new connection(std::move(bytes), peer_hello, options_, pool_));
  connected_peers_.push_back(peer);
  if (fault()) {
    send_fault(peer);
  } else if (is_leaving_) {
    say_bye(peer);
  }
}

TUTTI_DECL void mesh::say_bye(rank_type peer) {
  if (!connections_[peer]->writer.is_mid_piece()) {
    connections_[peer]->writer.queue_control_frame(frame::with_fault(frame_kind::bye, leave_reason_));
  }
}

TUTTI_DECL void mesh::throw_starved(rank_type peer) {
  int const code = connector_.resource_error();
  revoke({.kind = failure::cancelled, .culprit = rank_, .reporter = rank_, .code = code});
  throw error(failure::join, "no connection to rank " + std::to_string(peer) +
                                 " can be made: " + advise_on_errno(code) +
                                 "; a rank needs a descriptor for each peer, and this one has " +
                                 std::to_string(connections()) + " of " + std::to_string(size() - 1))
      .set_ranks(rank_, {rank_});
}

TUTTI_DECL void mesh::close(connection& link) noexcept {
  link.is_closed = true;
  link.write_watched = false;
  waiter_.remove(link.fd());
}

TUTTI_DECL void mesh::record_malformed(rank_type peer) {
  bool const is_encrypted = connections_[peer]->bytes.is_encrypted();
  connector_.record_incident("rank " + std::to_string(peer) +
                             (is_encrypted ? ", or somebody on the path, sent bytes that cannot be decrypted"
                                           : " sent bytes that are not a frame of tutti"));
}

TUTTI_DECL bool mesh::has_hidden_input() const noexcept {
  for (rank_type const peer : connected_peers_) {
    if (!connections_[peer]->is_closed && connections_[peer]->bytes.has_input()) {
      return true;
    }
  }
  return false;
}

TUTTI_DECL void mesh::take_hidden_input() {
  for (std::size_t i = 0; i < connected_peers_.size(); ++i) {
    connection const& link = *connections_[connected_peers_[i]];
    if (!link.is_closed && link.bytes.has_input() && !link.reader.has_waiting_reader()) {
      service(connected_peers_[i]);
    }
  }
}

TUTTI_DECL void mesh::send_fault(rank_type peer) {
  if (!broadcast_.send(*connections_[peer])) {
    relay_fault(peer);
  }
}

TUTTI_DECL void mesh::relay_fault(rank_type peer) {
  connections_[peer]->fault_relayed = true;
  open_broadcast_connection(peer);
}

TUTTI_DECL void mesh::open_broadcast_connection(rank_type peer) {
  hello own_hello = connector_.make_hello(fault() ? hello_kind::revoke : hello_kind::excuse, peer);
  if (!fault()) {
    own_hello.set_fault(leave_reason_);
  }
  broadcast_.connect(waiter_, connector_.address_of(peer), own_hello, connector_.prover(), options_);
}

TUTTI_DECL void mesh::leave() {
  constexpr duration usual_delay = std::chrono::milliseconds(20);  // to deliver a fault, or to confirm a connection
  is_leaving_ = true;
  if (!fault()) {
    for (rank_type const peer : connected_peers_) {
      say_bye(peer);
    }
    for (rank_type r = 0; leave_reason_ && r < size(); ++r) {
      if (r != rank_ && r != leave_reason_.culprit && connections_[r] == nullptr) {
        open_broadcast_connection(r);
      }
    }
  }
  // After a fault ranks wait only for the fault. Bytes before it on a connection may never be read, so a broadcast
  // connection carries it.
  duration const limit = fault() ? (std::min<duration>)(options_.linger, std::chrono::seconds(1)) : options_.linger;
  time_point const begin = steady_now();
  for (;;) {
    duration const wait_time = steady_now() - begin;
    continue_connecting(true);
    connector_.read_confirmations();
    if (fault()) {
      connector_.accept_connections();
    }
    bool all_delivered = true;
    for (std::size_t i = 0; i < connected_peers_.size(); ++i) {  // service() may add connections
      rank_type const peer = connected_peers_[i];
      service(peer);
      connection const& link = *connections_[peer];
      bool const has_fault_to_tell = fault() || leave_reason_;
      // The peer may never read what is queued.
      bool const is_unreadable = link.writer.is_mid_piece() || !link.bytes.is_open() || fault();
      bool const is_done =
          link.is_closed || link.is_delivered() || (is_unreadable && (link.fault_relayed || !has_fault_to_tell));
      if (!is_done && !link.fault_relayed && has_fault_to_tell && wait_time > usual_delay) {
        relay_fault(peer);
      }
      all_delivered = all_delivered && is_done;
    }
    bool const awaits_peers = connector_.awaits_confirmation() && !fault() && wait_time < usual_delay;
    if ((all_delivered && broadcast_.is_complete() && !awaits_peers) || wait_time > limit) {
      return;
    }
    pollfd handle{arm(), POLLIN, 0};
    ::poll(&handle, 1, 1);
    disarm();
  }
}

}  // namespace tutti::detail::tcp
