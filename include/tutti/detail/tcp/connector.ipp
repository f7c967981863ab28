// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/socket_options.hpp>

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
  if (!prover_.has_key()) {
    listener_.tell_version();
  }
}

TUTTI_DECL hello connector::make_hello(hello_kind kind, rank_type peer) const noexcept {
  hello message;
  message.world = directions_.world;
  message.kind = kind;
  message.sender = rank_;
  message.receiver = peer;
  message.flags = options_.encryption ? hello::encrypts : 0U;
  message.fault = handler_.fault().pack();
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
    establish(attempt.take_socket(), attempt.request(), answer);
  } else if (answer.kind == hello_kind::revoke) {
    attempt.wait_for_peer();
    handler_.receive_fault(tutti::fault::unpack(answer.fault));
  } else {
    attempt.wait_for_peer();
  }
}

/// Takes a pending connection whose hello is complete.
TUTTI_DECL void connector::arrive(descriptor socket, hello const& peer_hello) {
  char const* objection = objection_to(peer_hello);
  bool const is_answer = peer_hello.kind == hello_kind::welcome || peer_hello.kind == hello_kind::collision;
  objection = objection != nullptr ? objection
              : is_answer          ? "an invalid greeting"
                                   : prover_.objection_to_request(peer_hello);
  if (objection != nullptr) {
    return refuse(socket, objection);
  }
  if (peer_hello.kind == hello_kind::excuse) {
    return handler_.receive_excuse(peer_hello.sender, tutti::fault::unpack(peer_hello.fault));
  }
  if (peer_hello.kind == hello_kind::revoke) {
    handler_.receive_fault(tutti::fault::unpack(peer_hello.fault));
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
    establish(std::move(socket), peer_hello, answer);
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
  attempts_[peer].reset();  // `request` may be in it
  std::erase(connecting_, peer);
  handler_.add_connection(peer, std::move(bytes), peer_hello);
}

}  // namespace tutti::detail::tcp
