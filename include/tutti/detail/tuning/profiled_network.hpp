// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/timing.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/network_profile.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The network of a profile, to price schedules for: see timed_schedule.
class profiled_network {
 public:
  /// Prices operations of this kind on vectors in memory `where`.
  /// @pre profile and map outlive this network, and are of the same world
  profiled_network(network_profile const& p, host_map const& hosts, operation_kind kind, memory_kind where)
      : profile_(&p), near_(&p.within_a_host(where)), hosts_(&hosts), moves_(!combines(kind)) {}

  [[nodiscard]] message_time message(rank_type from, rank_type to, std::size_t bytes, loan held, bool solo) const {
    network_profile::link const& l = link(from, to);
    if (moves_ && !l.moves.empty()) {
      network_profile::move const m = move_at_size(l, bytes);
      return {m.send, m.lead, l.latency + m.delay, 0, m.receive, 0};
    }
    network_profile::point const p = at_size(l, bytes);
    if (held != loan::none && p.loan != 0) {  // the message only says where the bytes are
      // The rank that returns a block has already written to it, so the loan takes half of the time and of the
      // messages, but all of the work.
      std::int64_t const loan = solo ? p.solo : p.loan;
      std::int64_t const least = (std::min)(l.points.front().loan, loan);
      std::int64_t const gap = (std::min)(l.points.front().send, least);
      return {gap, gap, l.latency, 0, (held == loan::lend ? 2 * loan - least : least) - gap, 0};
    }
    return {p.send, p.lead, l.latency, p.wire, p.receive, l.burst};
  }
  [[nodiscard]] std::int64_t combine(rank_type from, rank_type to, std::size_t bytes, loan held) const {
    network_profile::point const p = at_size(link(from, to), bytes);
    return held != loan::none && p.loan != 0 ? 0 : p.combine;
  }
  [[nodiscard]] std::int64_t overwrite(rank_type from, rank_type to, std::size_t bytes) const {
    return at_size(link(from, to), bytes).overwrite;
  }
  /// The ranks of a host share its interface to other hosts.
  [[nodiscard]] rank_type port(rank_type from, rank_type to) const {
    return helps(from, to) || share_host(from, to) ? from : hosts_->ranks() + hosts_->host(from);
  }
  [[nodiscard]] std::int64_t start() const { return profile_->start; }

 private:
  [[nodiscard]] bool helps(rank_type a, rank_type b) const { return (std::max)(a, b) >= hosts_->ranks(); }
  [[nodiscard]] bool share_host(rank_type a, rank_type b) const { return hosts_->host(a) == hosts_->host(b); }
  [[nodiscard]] network_profile::link const& link(rank_type a, rank_type b) const {
    return helps(a, b) ? profile_->aggregator : share_host(a, b) ? *near_ : profile_->between_hosts;
  }

  network_profile const* profile_;
  network_profile::link const* near_;
  host_map const* hosts_;
  bool moves_;
};

}  // namespace tutti::detail::tuning
