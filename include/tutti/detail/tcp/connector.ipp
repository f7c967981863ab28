// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/tuning.hpp>

#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL connector::connector(tcp_options const& o, address const& at, rank_type rank, rank_type size, waiter& w,
                                owner& to)
    : options_(o), rank_(rank), waiter_(w), owner_(to), listener_(at, w, o.handshake), attempts_(size) {
  size_buffers(listener_.fd(), o);
}

TUTTI_DECL hello connector::greet(greeting kind, rank_type to) const noexcept {
  hello h;
  h.world = directions_.world;
  h.kind = kind;
  h.from = rank_;
  h.to = to;
  h.fault = owner_.fault().pack();
  h.window = options_.window;
  return h;
}

TUTTI_DECL std::string connector::place_of(rank_type peer) const {
  std::string place = of(peer).text();
  connect_attempt const* const d = attempts_[peer].get();
  if (d == nullptr) {
    return place;
  }
  auto const tried = std::chrono::duration_cast<std::chrono::milliseconds>(d->lasted()).count();
  return place + (tried < 10'000 ? ", tried for " + std::to_string(tried) + " ms"
                                 : ", tried for " + std::to_string(tried / 1000) + " s");
}

TUTTI_DECL void connector::note(std::string text) {
  if (incidents_.size() < most_incidents) {
    incidents_.push_back(std::move(text));
  }
}

TUTTI_DECL void connector::call_up(rank_type peer) {
  // Why a peer has left is told before it leaves, but perhaps by a rank that has to wait for a processor.
  constexpr duration time_for_broadcast = std::chrono::milliseconds(100);
  if (attempts_[peer] == nullptr) {
    attempts_[peer] = owned<connect_attempt>(
        new connect_attempt(waiter_, of(peer), greet(greeting::hello, peer), options_, time_for_broadcast));
    calling_.push_back(peer);
  }
  connect_attempt& d = *attempts_[peer];
  d.advance();
  if (d.starved() != 0 && listener_.clear(*this)) {
    d.advance();
  }
  starved_ = d.starved();
  if (d.now() == connect_attempt::state::lost) {
    return owner_.lose(peer, d.reached() ? failure::peer_lost : failure::unreachable, d.code());
  }
  if (d.now() != connect_attempt::state::answered) {
    return;
  }
  hello const answer = d.answer();
  char const* const objection =
      answer.from == peer ? answer.objection(directions_.world, rank_, size()) : "another rank";
  if (objection != nullptr) {
    note("where rank " + std::to_string(peer) + " listened, another program answers: " + objection);
    owner_.lose(peer, failure::peer_lost, 0);
  } else if (answer.kind == greeting::welcome) {
    establish(peer, d.take(), answer);
  } else if (answer.kind == greeting::revoke) {
    d.wait_for_peer();
    owner_.hear(tutti::fault::unpack(answer.fault));
  } else {
    d.wait_for_peer();
  }
}

/// A pending connection has said which rank it is from.
TUTTI_DECL void connector::arrive(descriptor socket, hello const& h) {
  char const* const objection = h.objection(directions_.world, rank_, size());
  if (objection != nullptr || h.kind == greeting::welcome || h.kind == greeting::crossed) {
    return refuse(socket, objection != nullptr ? objection : "nonsense");
  }
  if (h.kind == greeting::excuse) {
    return owner_.hear_excuse(h.from, tutti::fault::unpack(h.fault));
  }
  if (h.kind == greeting::revoke) {
    owner_.hear(tutti::fault::unpack(h.fault));
  }
  connect_attempt const* const own = attempts_[h.from].get();
  bool const crossed = owner_.connected(h.from) || (own != nullptr && own->said() && rank_ < h.from);
  greeting const kind = owner_.fault() ? greeting::revoke : crossed ? greeting::crossed : greeting::welcome;
  hello const answer = greet(kind, h.from);
  moved const m = write_some(socket.get(), std::as_bytes(std::span(&answer, 1)));
  if (m.state == io::done && kind == greeting::welcome) {
    establish(h.from, std::move(socket), h);
  }
}

TUTTI_DECL void connector::refuse(descriptor const& socket, char const* why) {
  if (incidents_.size() < most_incidents) {  // looking the address up takes time that a flood must not get
    note("refused a connection from " + peer_address(socket.get()).text() + ": " + why);
  }
}

TUTTI_DECL void connector::establish(rank_type peer, descriptor socket, hello const& theirs) {
  attempts_[peer].reset();
  std::erase(calling_, peer);
  keep_alive(socket.get(), options_.silence);
  size_buffers(socket.get(), options_);
  if (local_address(socket.get()).host() == peer_address(socket.get()).host()) {
    suit_one_host(socket.get(), options_);
  }
  owner_.established(peer, std::move(socket), theirs);
}

}  // namespace tutti::detail::tcp
