// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/socket_options.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL connector::connector(tcp_options const& options, address const& at, rank_type rank, rank_type size,
                                waiter& event_waiter, handler& target)
    : options_(options),
      rank_(rank),
      waiter_(event_waiter),
      handler_(target),
      listener_(at, event_waiter, options.handshake),
      attempts_(size) {
  size_buffers(listener_.fd(), options);
}

TUTTI_DECL void connector::meet(directions world) {
  directions_ = std::move(world);
  prover_ = hello_prover(directions_.key, size());
  listener_.open(!prover_.has_key());
}

TUTTI_DECL hello connector::make_hello(hello_kind kind, rank_type peer) const noexcept {
  hello message;
  message.world = directions_.world;
  message.kind = kind;
  message.sender = rank_;
  message.receiver = peer;
  message.flags = options_.encryption ? hello::encrypts : 0U;
  message.set_fault(handler_.fault());
  message.window = options_.window;
  return message;
}

TUTTI_DECL char const* connector::objection_to(hello const& message) const noexcept {
  char const* const objection = message.objection(directions_.world, rank_, size());
  bool const is_alike = message.flags == (options_.encryption ? hello::encrypts : 0U);
  return objection != nullptr || is_alike ? objection : "another choice of encryption";
}

TUTTI_DECL std::string connector::describe_address(rank_type peer) const {
  std::string place = address_of(peer).text();
  connect_attempt const* const attempt = attempts_[peer].get();
  if (attempt == nullptr) {
    return place;
  }
  auto const milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(attempt->age()).count();
  return place + (milliseconds < 10'000 ? ", tried for " + std::to_string(milliseconds) + " ms"
                                        : ", tried for " + std::to_string(milliseconds / 1000) + " s");
}

TUTTI_DECL void connector::record_incident(std::string text) {
  if (incidents_.size() < max_incidents) {
    incidents_.push_back(std::move(text));
  }
}

TUTTI_DECL void connector::connect(rank_type peer) {
  // A refused connection is tried again for this time: the peer's reason to leave may still be on its way, through a
  // rank that is not scheduled at the moment.
  constexpr duration broadcast_time = std::chrono::milliseconds(100);
  resource_error_ = 0;
  if (leaves_it_to(peer)) {
    return;
  }
  if (attempts_[peer] == nullptr) {
    attempts_[peer] = owner<connect_attempt>(new connect_attempt(
        waiter_, address_of(peer), make_hello(hello_kind::connect, peer), prover_, options_, broadcast_time));
    connecting_.push_back(peer);
  }
  connect_attempt& attempt = *attempts_[peer];
  attempt.advance();
  if (attempt.resource_error() != 0 && listener_.close_pending(*this)) {
    attempt.advance();
  }
  resource_error_ = attempt.resource_error();
  if (attempt.current_state() == connect_attempt::state::peer_gone) {
    return handler_.lose(peer, attempt.is_reachable() ? failure::peer_lost : failure::unreachable,
                         attempt.error_code());
  }
  if (attempt.current_state() != connect_attempt::state::has_answer) {
    return;
  }
  hello const answer = attempt.answer();
  char const* objection = answer.sender == peer ? objection_to(answer) : "another rank";
  objection = objection != nullptr ? objection : prover_.objection_to_answer(answer, attempt.request());
  if (objection != nullptr) {
    record_incident("where rank " + std::to_string(peer) + " listened, another program answers: " + objection);
    handler_.lose(peer, failure::peer_lost, 0);
  } else if (answer.kind == hello_kind::welcome) {
    if (prover_.has_key()) {
      proof const confirmation = prover_.confirm(attempt.request(), answer);
      io_result const m = write_some(attempt.fd(), confirmation);
      if (m.state != io::complete) {  // a new connection has room for it, unless it is broken
        attempt.fail(errno);
        return connect(peer);
      }
    }
    establish(attempt.take_socket(), attempt.request(), answer);
  } else if (answer.kind == hello_kind::revoke) {
    attempt.end();
    handler_.receive_fault(answer.get_fault());
  } else {
    attempt.wait_for_peer(options_.handshake);
  }
}

/// Takes a pending connection whose hello is complete.
TUTTI_DECL char const* connector::arrive(descriptor& socket, hello const& peer_hello) {
  char const* objection = objection_to(peer_hello);
  bool const is_answer = peer_hello.kind == hello_kind::welcome || peer_hello.kind == hello_kind::collision;
  objection = objection != nullptr ? objection
              : is_answer          ? "an invalid greeting"
                                   : prover_.objection_to_request(peer_hello);
  if (objection != nullptr) {
    return objection;
  }
  if (peer_hello.kind == hello_kind::excuse) {
    handler_.receive_excuse(peer_hello.sender, peer_hello.get_fault());
    return nullptr;
  }
  if (peer_hello.kind == hello_kind::revoke) {
    handler_.receive_fault(peer_hello.get_fault());
  }
  connect_attempt const* const own_attempt = attempts_[peer_hello.sender].get();
  bool const is_crossed = handler_.is_connected(peer_hello.sender) ||
                          (own_attempt != nullptr && own_attempt->has_sent() && rank_ < peer_hello.sender);
  hello_kind const kind = handler_.fault() ? hello_kind::revoke
                          : is_crossed     ? hello_kind::collision
                                           : hello_kind::welcome;
  hello answer = make_hello(kind, peer_hello.sender);
  prover_.prove_answer(answer, peer_hello);
  io_result const m = write_some(socket.get(), std::as_bytes(std::span(&answer, 1)));
  if (m.state == io::complete && kind == hello_kind::welcome) {
    if (prover_.has_key()) {
      await_confirmation(std::move(socket), peer_hello, answer);
    } else {
      establish(std::move(socket), peer_hello, answer);
    }
  }
  return nullptr;
}

/// Keeps a welcomed connection until its sender confirms.
///
/// This rank must not confirm an answer to a request of its own that is under way: both ranks would use connections of
/// their own. The next one is declined while the peer's is.
TUTTI_DECL void connector::await_confirmation(descriptor socket, hello const& request, hello const& answer) {
  rank_type const peer = request.sender;
  drop_unconfirmed(peer, request.number, "the rank has connected again since");
  if (attempts_[peer] != nullptr) {
    attempts_[peer]->restart();
  }
  keep_alive(socket.get(), options_.silence);
  waiter_.add(socket.get(), waiter::source::pending_connection, static_cast<rank_type>(socket.get()), false);
  unconfirmed_connections_.push_back({std::move(socket), request, answer, steady_now()});
}

/// True if the peer is about to confirm: connecting to it would cross its connection.
TUTTI_DECL bool connector::leaves_it_to(rank_type peer) {
  for (std::size_t i = unconfirmed_connections_.size(); i-- > 0;) {
    if (i < unconfirmed_connections_.size() && unconfirmed_connections_[i].request.sender == peer) {
      read_confirmation(i);
    }
  }
  time_point latest{};
  for (unconfirmed_connection const& u : unconfirmed_connections_) {
    latest = u.request.sender == peer ? u.begin : latest;
  }
  if (latest != time_point{} && steady_now() - latest < options_.handshake) {
    waiter_.wake_at(latest + options_.handshake);
    return true;
  }
  return handler_.is_connected(peer);
}

TUTTI_DECL bool connector::is_connecting(rank_type peer) const noexcept {
  return attempts_[peer] != nullptr || std::any_of(unconfirmed_connections_.begin(), unconfirmed_connections_.end(),
                                                   [&](auto const& u) { return u.request.sender == peer; });
}

TUTTI_DECL void connector::read_pending(rank_type descriptor_number) {
  auto const fd = static_cast<int>(descriptor_number);
  for (std::size_t i = 0; i < unconfirmed_connections_.size(); ++i) {
    if (unconfirmed_connections_[i].socket.get() == fd) {
      return read_confirmation(i);
    }
  }
  listener_.read_pending(fd, *this);
}

TUTTI_DECL void connector::read_confirmations() {
  for (std::size_t i = unconfirmed_connections_.size(); i-- > 0;) {
    if (i < unconfirmed_connections_.size()) {  // one that is confirmed ends its copies
      read_confirmation(i);
    }
  }
}

TUTTI_DECL void connector::read_confirmation(std::size_t i) {
  unconfirmed_connection& connection = unconfirmed_connections_[i];
  io_result const m =
      read_some(connection.socket.get(), std::span(connection.confirmation).subspan(connection.received_bytes));
  connection.received_bytes += m.bytes;
  if (m.state == io::hangup) {
    refuse(take_unconfirmed(i), "it closed before it proved that the greeting is its own");
  } else if (m.state == io::complete) {
    unconfirmed_connection complete = take_unconfirmed(i);
    if (prover_.accepts(complete.confirmation, complete.request, complete.answer)) {
      establish(std::move(complete.socket), complete.request, complete.answer);
    } else {
      refuse(complete, "no proof that the greeting is its own");
    }
  }
}

/// Closes the connections of a peer with requests before the one with the number `number_limit`.
TUTTI_DECL void connector::drop_unconfirmed(rank_type peer, std::uint64_t number_limit, char const* reason) {
  for (std::size_t i = unconfirmed_connections_.size(); i-- > 0;) {
    if (unconfirmed_connections_[i].request.sender == peer &&
        unconfirmed_connections_[i].request.number < number_limit) {
      refuse(take_unconfirmed(i), reason);
    }
  }
}

TUTTI_DECL connector::unconfirmed_connection connector::take_unconfirmed(std::size_t i) {
  unconfirmed_connection connection = std::move(unconfirmed_connections_[i]);
  unconfirmed_connections_.erase(unconfirmed_connections_.begin() + static_cast<std::ptrdiff_t>(i));
  waiter_.remove(connection.socket.get());
  return connection;
}

TUTTI_DECL void connector::refuse(unconfirmed_connection const& connection, char const* reason) {
  if (incidents_.size() < max_incidents) {
    record_incident("closed a connection from " + peer_address(connection.socket.get()).text() +
                    " with a greeting of rank " + std::to_string(connection.request.sender) + ": " + reason);
  }
}

TUTTI_DECL void connector::refuse(descriptor const& socket, char const* reason) {
  if (incidents_.size() < max_incidents) {  // a flood must not cost address lookups
    record_incident("refused a connection from " + peer_address(socket.get()).text() + ": " + reason);
  }
}

/// Takes a connection that one of two ranks has requested and the other one has welcomed.
TUTTI_DECL void connector::establish(descriptor socket, hello const& request, hello const& answer) {
  bool const is_client = request.sender == rank_;
  hello const peer_hello = is_client ? answer : request;
  rank_type const peer = peer_hello.sender;
  keep_alive(socket.get(), options_.silence);
  size_buffers(socket.get(), options_);
  if (local_address(socket.get()).host() == peer_address(socket.get()).host()) {
    suit_one_host(socket.get(), options_);
  }
  wire bytes = options_.encryption
                   ? wire(std::move(socket), *registered_streams, is_client, prover_.derive_stream_key(request, answer))
                   : wire(std::move(socket));
  drop_unconfirmed(peer, UINT64_MAX, "the rank has another connection");
  attempts_[peer].reset();  // `request` may be in it
  std::erase(connecting_, peer);
  handler_.add_connection(peer, std::move(bytes), peer_hello);
}

}  // namespace tutti::detail::tcp
