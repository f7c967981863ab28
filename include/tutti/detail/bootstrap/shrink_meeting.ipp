// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/shrink_host.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL shrink_meeting::shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places,
                                          std::string world, net::proof_key const& key)
    : agreement_(std::move(world), rank, static_cast<rank_type>(places.size())),
      listener_(std::move(listener)),
      places_(std::move(places)),
      key_(key) {}

TUTTI_DECL std::uint64_t shrink_meeting::agree(detector_call call, std::uint64_t contribution, duration patience) {
  lines_.clear();
  host_ = no_rank;
  if (agreement_.is_left_out()) {
    fail_left_out();
  }
  agreement_.begin(call, contribution);
  std::vector<rank_type> silent;
  std::vector<rank_type> absent;
  for (rank_type const host : std::vector<rank_type>(members())) {
    if (host == agreement_.rank()) {
      shrink_host meeting(listener_.get(), agreement_, places_, silent, absent, patience, key_);
      meeting.run();
      lines_ = meeting.take_lines();
      host_ = host;
      break;
    }
    // The first silent host has cost all of the patience; later ones get less, so that the delays do not add up.
    visit_end const end = visit(host, patience, silent.empty() ? patience : patience / 4);
    if (end == visit_end::verdict) {
      host_ = host;
      look_for_notices();  // the listener has room for the notices of later rounds
      break;
    }
    (end == visit_end::absent ? absent : silent).push_back(host);
    look_for_notices();
    if (agreement_.is_left_out()) {
      fail_left_out();
    }
  }
  proposal const& result = agreement_.result();
  if (call == detector_call::agree) {
    lines_.clear();
  }
  if (result.call != call) {
    throw error(failure::mismatch, "the ranks call different functions of their failure_detectors: agreement #" +
                                       std::to_string(result.round) + " was a call of " + name_of(result.call) +
                                       " on others, and rank " + std::to_string(agreement_.rank()) + " called " +
                                       name_of(call) + "; let all survivors call the same functions in the same order")
        .set_ranks(agreement_.rank(), {agreement_.rank()});
  }
  return result.value;
}

TUTTI_DECL survivors shrink_meeting::take_survivors(duration patience) {
  rank_type const me = agreement_.rank();
  bool const is_host = host_ == me;
  if (host_ != members().front() || lines_.size() != (is_host ? members().size() - 1 : 1)) {
    throw error(failure::join, std::string(name_of(agreement_.result().call)) +
                                   ": a host of the survivors, or a rank that it waited for, is gone too");
  }
  auto const position = std::find(members().begin(), members().end(), me);
  return survivors(static_cast<rank_type>(position - members().begin()), members(), std::move(lines_), patience);
}

TUTTI_DECL void shrink_meeting::look_for_notices() {
  take_notices(listener_.get(), agreement_, agreement_.longest_message(static_cast<rank_type>(places_.size())), key_);
}

TUTTI_DECL void shrink_meeting::fail_left_out() {
  rank_failure const cause = left_out(agreement_.rank());
  throw error(cause.kind, cause.text).set_ranks(agreement_.rank(), cause.at_fault);
}

/// Visits a host, at most for `share` until it welcomes this rank.
///
/// A closed listener means that its owner is gone. A closed connection does not: a live host may have turned this rank
/// away for others, or continued before it heard it. So this rank tries again.
TUTTI_DECL shrink_meeting::visit_end shrink_meeting::visit(rank_type host, duration patience, duration share) {
  time_point deadline = steady_now() + share;
  for (;; ::poll(nullptr, 0, 10)) {
    // The system repeats its attempts less and less often while strangers fill the queue of the host's listener.
    constexpr duration attempt = std::chrono::seconds(1);
    channel line(net::connect(places_[host], (std::min)(deadline, steady_now() + attempt)));
    if (!line && (errno == ECONNREFUSED || errno == ECONNRESET)) {
      return visit_end::absent;
    }
    if (!line && errno == ETIMEDOUT && steady_now() < deadline) {
      continue;
    }
    if (!line) {
      return visit_end::silent;
    }
    io state = key_ ? claim_rank(line, shrink_host::key_to(host, key_), agreement_.rank(), deadline) : io::complete;
    if (state == io::complete) {
      line.queue(bootstrap_frame_kind::hello, agreement_.hello().text());
      state = line.send(deadline);
    }
    while (state == io::complete) {
      bootstrap_frame frame;
      state = line.receive(frame, shrink_message::limit, deadline);
      if (state != io::complete) {
        break;
      }
      // The peer that welcomes this rank is the host. Its deadlines count from now on.
      deadline = steady_now() + 2 * patience + longest_notices;
      rank_failure cause;
      shrink_message message;
      if (frame.kind == bootstrap_frame_kind::failure && decode(frame.payload, cause)) {
        if (cause.at_fault == std::vector<rank_type>{agreement_.rank()}) {
          agreement_.stay_out();
        }
        throw error(cause.kind, cause.text).set_ranks(agreement_.rank(), cause.at_fault);
      }
      if (frame.kind == bootstrap_frame_kind::welcome) {
        continue;
      }
      if (frame.kind != bootstrap_frame_kind::table || !message.parse(frame.payload)) {
        return visit_end::silent;
      }
      if (agreement_.learn(message)) {
        lines_.push_back(std::move(line));
        return visit_end::verdict;
      }
      if (auto const answer = agreement_.answer(message)) {
        line.queue(bootstrap_frame_kind::text, answer->text());
        state = line.send(deadline);
      } else {
        state = io::hangup;
      }
    }
    if (state != io::hangup || steady_now() >= deadline) {
      return visit_end::silent;
    }
  }
}

// Before the meeting.

TUTTI_DECL shrink_listener::shrink_listener(std::string const& host)
    : address_(net::resolve(host, 0).front()), socket_(net::listen(address_)), nonce_(net::draw_nonce()) {
  net::await_data(socket_.get());  // strangers that say nothing take no room of members
}

TUTTI_DECL std::string shrink_listener::endpoint_info() const {
  return packer()
      .text(address_.with_zone(0).host())
      .number(net::local_address(socket_.get()).port())
      .text(nonce_)
      .take();
}

TUTTI_DECL shrink_meeting shrink_listener::meeting(rank_type rank, std::vector<std::string> const& endpoint_infos,
                                                   world_secret const& secret) {
  if (rank >= endpoint_infos.size() || endpoint_infos[rank] != endpoint_info()) {
    throw error(
        failure::join,
        "the addresses of a failure_detector that the ranks have exchanged are not those of their "
        "failure_detectors: that of rank " +
            std::to_string(rank) +
            " is not the one that it gave; let the rendezvous or the world return each rank's own text, unchanged")
        .set_ranks(rank, {rank});
  }
  std::vector<net::address> places;
  std::string world;
  for (std::string const& endpoint_info : endpoint_infos) {
    unpacker u(endpoint_info);
    std::string const host(u.text());
    auto const port = u.number_as<std::uint16_t>();
    std::string_view const value = u.text();
    if (host.empty() || !u.is_complete()) {
      auto const r = static_cast<rank_type>(places.size());
      throw error(failure::join, "rank " + std::to_string(r) +
                                     " has published no address of a failure_detector; build all ranks with one "
                                     "version of tutti")
          .set_ranks(rank, {r});
    }
    places.push_back(net::resolve(host, port).front().with_zone(address_.zone()));
    world = world.empty() ? std::string(value) : world;  // rank 0's value
  }
  net::proof_key const key = net::proof_key(secret).derive("shrink", {packer().texts(endpoint_infos).take()});
  return {rank, std::move(socket_), std::move(places), std::move(world), key};
}

}  // namespace tutti::detail::bootstrap
