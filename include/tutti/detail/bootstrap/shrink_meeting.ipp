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
    : self_{std::move(world), rank, {}}, listener_(std::move(listener)), places_(std::move(places)), key_(key) {
  for (rank_type r = 0; r < places_.size(); ++r) {
    self_.members.push_back(r);
  }
}

TUTTI_DECL survivors shrink_meeting::meet(duration patience) {
  if (is_left_out_) {
    stay_out();
  }
  std::vector<rank_type> silent;
  for (rank_type const host : self_.members) {
    if (host == self_.rank) {
      break;
    }
    std::vector<rank_type> members;
    if (channel line = visit(host, patience, silent, members)) {
      if (take_notice(listener_.get(), self_, self_.longest(places_.size()), key_)) {
        stay_out();
      }
      self_.members = std::move(members);
      std::vector<channel> lines;
      lines.push_back(std::move(line));
      return survivors(self_.rank, self_.members, std::move(lines), patience);
    }
  }
  shrink_host host(listener_.get(), self_, places_, std::move(silent), patience, key_);
  try {
    self_.members = host.gather();
  } catch (error const&) {
    is_left_out_ = host.is_left_out();
    throw;
  }
  return survivors(self_.rank, self_.members, host.take_lines(), patience);
}

TUTTI_DECL void shrink_meeting::stay_out() {
  is_left_out_ = true;
  rank_failure const cause = left_out(self_.rank);
  throw error(cause.kind, cause.text).set_ranks(self_.rank, cause.at_fault);
}

/// Visits a host. Returns the connection once the host has chosen the members; none if the host is gone or silent.
///
/// A closed listener means that its owner is gone. A closed connection does not: a live host may have turned this rank
/// away for others, or continued before it heard it. So this rank tries again.
TUTTI_DECL channel shrink_meeting::visit(rank_type host, duration patience, std::vector<rank_type>& silent,
                                         std::vector<rank_type>& members) {
  // The first silent host has cost all of the patience; later ones get less, so that the delays do not add up.
  duration const share = silent.empty() ? patience : patience / 4;
  time_point deadline = steady_now() + share;
  for (;; ::poll(nullptr, 0, 10)) {
    // The system repeats its attempts less and less often while strangers fill the queue of the host's listener.
    constexpr duration attempt = std::chrono::seconds(1);
    channel line(net::connect(places_[host], (std::min)(deadline, steady_now() + attempt)));
    if (!line && (errno == ECONNREFUSED || errno == ECONNRESET)) {
      return {};
    }
    if (!line && errno == ETIMEDOUT && steady_now() < deadline) {
      continue;
    }
    if (!line) {
      break;
    }
    bootstrap_frame answer;
    io state = key_ ? claim_rank(line, shrink_host::key_to(host, key_), self_.rank, deadline) : io::complete;
    if (state == io::complete) {
      line.queue(bootstrap_frame_kind::hello, self_.text());
      state = line.send(deadline);
    }
    state = state == io::complete ? line.receive(answer, shrink_message::limit, deadline) : state;
    if (state == io::complete && answer.kind == bootstrap_frame_kind::welcome) {
      // The peer that welcomes this rank is the host. Its deadline counts from now on.
      deadline = steady_now() + 2 * patience + longest_notices;
      state = line.receive(answer, shrink_message::limit, deadline);
    }
    rank_failure cause;
    if (state == io::complete && answer.kind == bootstrap_frame_kind::failure && decode(answer.payload, cause)) {
      is_left_out_ = cause.at_fault == std::vector<rank_type>{self_.rank};
      throw error(cause.kind, cause.text).set_ranks(self_.rank, cause.at_fault);
    }
    shrink_message verdict;
    if (state == io::complete && answer.kind == bootstrap_frame_kind::table && verdict.parse(answer.payload) &&
        verdict.world == self_.world && verdict.counts(self_.rank) && verdict.members.back() < places_.size()) {
      members = std::move(verdict.members);
      return line;
    }
    if (state != io::hangup || steady_now() >= deadline) {
      break;
    }
  }
  silent.push_back(host);
  return {};
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
