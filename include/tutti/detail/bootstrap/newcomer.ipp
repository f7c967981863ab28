// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::string admission::text() const {
  packer p;
  p.number(rank).number(static_cast<std::uint64_t>(patience.count())).text(base_name).number(changes);
  p.number(parent_ranks.size());
  for (rank_type const r : parent_ranks) {
    p.number(r);
  }
  return p.take();
}

TUTTI_DECL bool admission::parse(std::string_view bytes) {
  unpacker u(bytes);
  rank = u.number_as<rank_type>();
  patience = finite_patience(duration(static_cast<duration::rep>(u.number() & (~std::uint64_t{0} >> 1U))));
  base_name = u.text();
  changes = u.number();
  std::uint64_t const size = u.number();
  parent_ranks.clear();
  for (std::uint64_t r = 0; r < size && u.good(); ++r) {
    parent_ranks.push_back(u.number_as<rank_type>());
  }
  return u.is_complete() && rank > 0 && rank < parent_ranks.size() && parent_ranks[rank] == no_rank;
}

/// The key by which a host and the newcomer of this announcement prove that they know the secret; no key of none.
TUTTI_DECL net::proof_key key_of(world_secret const& secret, std::string const& nonce) {
  return net::proof_key(secret).derive("newcomer", {nonce});
}

/// Visits a newcomer. Returns false unless it welcomes this host.
/// @param zone the number of this host's link if newcomers have link-local addresses
TUTTI_DECL bool visit(announcement const& other, std::uint32_t zone, channel& line, world_secret const& secret,
                      time_point deadline) {
  try {
    line = channel(net::connect(net::resolve(other.host, other.port).front().with_zone(zone), deadline));
  } catch (error const&) {  // no address of a family that this host has
    return false;
  }
  net::proof_key const key = key_of(secret, other.nonce);
  io state = !line ? io::hangup : key ? claim_rank(line, key, 0, deadline) : io::complete;
  if (state == io::complete) {
    line.queue(bootstrap_frame_kind::hello, other.nonce);
    state = line.send(deadline);
  }
  bootstrap_frame answer;
  state = state == io::complete ? line.receive(answer, announcement::limit, deadline) : state;
  return state == io::complete && answer.kind == bootstrap_frame_kind::welcome;
}

TUTTI_DECL void admit_newcomers(survivors& members, doorway& door, rank_type limit, admission facts,
                                world_secret const& secret) {
  constexpr duration longest_visit = std::chrono::seconds(3);
  constexpr duration longest = std::chrono::seconds(10);
  std::vector<std::string> own_view;
  try {
    std::size_t byte_count = 0;
    for (announcement const& entry : door.look()) {
      std::string text = entry.text();
      byte_count += text.size();
      if (2 * byte_count > text_limit(members.size())) {
        break;  // the rest is for the next world
      }
      own_view.push_back(std::move(text));
    }
  } catch (error const&) {  // the survivors continue; `door::waiting` reports it
  }
  std::vector<std::string> const views = members.exchange(packer().texts(own_view).take());
  std::vector<std::string> absent_nonces;
  std::vector<channel> lines;
  if (members.rank() == 0) {
    time_point const deadline = steady_now() + (std::min)(longest, facts.patience / 2);
    std::uint32_t const zone = net::resolve(members.local_host(), 0).front().zone();
    std::vector<std::string> nonces;
    for (std::string const& view : views) {
      unpacker u(view);
      for (std::string const& text : u.texts()) {
        announcement other;
        if (members.size() + lines.size() >= limit || steady_now() >= deadline || !other.parse(text) ||
            std::find(nonces.begin(), nonces.end(), other.nonce) != nonces.end()) {
          continue;
        }
        nonces.push_back(other.nonce);
        channel line;
        bool const is_present = visit(other, zone, line, secret, (std::min)(deadline, steady_now() + longest_visit));
        if (is_present) {
          lines.push_back(std::move(line));
        } else {
          absent_nonces.push_back(other.nonce);
        }
      }
    }
  }
  std::string const table = members.exchange(packer().number(lines.size()).texts(absent_nonces).take()).front();
  unpacker u(table);
  auto const count = u.number_as<rank_type>();
  for (std::string const& nonce : u.texts()) {
    door.remove(nonce);
  }
  facts.parent_ranks = members.parent_ranks();
  facts.parent_ranks.resize(facts.parent_ranks.size() + count, no_rank);
  facts.rank = members.size();
  for (channel& line : lines) {
    line.queue(bootstrap_frame_kind::table, facts.text());
    line.flush();  // an exchange sends the rest of a long one
    ++facts.rank;
  }
  members.add(count, std::move(lines));
}

// The newcomer.

TUTTI_DECL newcomer::newcomer(environment const& settings) : settings_(settings), door_(make_doorway(settings)) {
  if (!settings.dumps.empty()) {
    dumps::begin(settings.dumps, no_rank);
  }
  record_owner::set_job(settings.job);
  net::address const at = net::resolve(door_->local_host(), 0).front();
  listener_ = net::listen(at);
  net::await_data(listener_.get());
  local_host_ = at.host();
  self_.host = at.with_zone(0).host();
  self_.port = net::local_address(listener_.get()).port();
  self_.process = this_member(settings.role);
}

TUTTI_DECL survivors newcomer::enter(admission& facts, time_point deadline) {
  for (;;) {
    self_.nonce = net::draw_nonce();
    channel line = await_host(deadline);
    door_->withdraw();
    line.queue(bootstrap_frame_kind::welcome, {});
    bootstrap_frame frame;
    time_point const end = steady_now() + std::chrono::minutes(1);
    io state = line.send(end);
    state = state == io::complete ? line.receive(frame, admission::limit, end) : state;
    if (state == io::complete && frame.kind == bootstrap_frame_kind::table && facts.parse(frame.payload)) {
      std::vector<channel> lines;
      lines.push_back(std::move(line));
      return survivors(facts.rank, facts.parent_ranks, std::move(lines), facts.patience);
    }
  }
}

/// The first host that comes. The entrance's handler.
struct host_arrival {
  std::string const& nonce;
  channel line = {};

  [[nodiscard]] static pending_hello begin(descriptor s) { return {channel(std::move(s))}; }
  [[nodiscard]] static net::handshake_state hear(pending_hello& p) { return p.hear(announcement::limit); }
  static void turn_away(pending_hello const&, char const*) noexcept {}
  void arrive(pending_hello p) {
    if (!line && p.frame.payload == nonce) {
      line = std::move(p.line);
    }
  }
};

TUTTI_DECL channel newcomer::await_host(time_point deadline) {
  constexpr duration pause = std::chrono::milliseconds(100);
  entrance hosts(key_of(settings_.secret, self_.nonce), 1);
  host_arrival arrival{self_.nonce};
  for (;;) {
    std::string reason;
    try {
      reason = door_->announce(self_);
    } catch (error const& e) {  // a full disk may have room again
      reason = e.what();
    }
    std::vector<pollfd> set{{listener_.get(), POLLIN, 0}};
    hosts.append_to(set);
    poll_until(set, (std::min)(deadline, steady_now() + pause));
    hosts.hear_ready(set, 1, arrival);
    if (set[0].revents != 0) {
      hosts.accept_some(listener_.get(), arrival);
    }
    if (arrival.line) {
      return std::move(arrival.line);
    }
    if (hosts.resource_error() != 0) {  // the listener stays ready until a descriptor is free
      poll_until(nullptr, 0, (std::min)(deadline, steady_now() + pause));
    }
    if (steady_now() >= deadline) {
      throw error(failure::join,
                  "no world let this process in at " + door_->place() + (reason.empty() ? "" : ": " + reason) +
                      "; none with this TUTTI_JOB and TUTTI_SECRET grows there, or it is full; set TUTTI_TIMEOUT to "
                      "wait longer");
    }
  }
}

}  // namespace tutti::detail::bootstrap
