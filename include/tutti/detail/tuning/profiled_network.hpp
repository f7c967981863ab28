// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/timed_schedule.hpp>
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
  /// Prices operations of this kind on vectors in memory `memory`.
  /// @pre profile and map outlive this network, and are of the same world
  profiled_network(network_profile const& p, host_map const& hosts, operation_kind kind, memory_kind memory)
      : profile_(&p), host_link_(&p.within_a_host(memory)), hosts_(&hosts), moves_(!combines(kind)) {}

  [[nodiscard]] message_time message(rank_type sender, rank_type receiver, std::size_t bytes, tutti::loan loan,
                                     bool solo) const {
    network_profile::link const& prices = link(sender, receiver);
    if (moves_ && !prices.moves.empty()) {
      network_profile::move const m = move_at_size(prices, bytes);
      return {m.send, m.lead, prices.latency + m.delay, 0, m.receive, 0};
    }
    network_profile::point const p = at_size(prices, bytes);
    if (loan != loan::none && p.loan != 0) {  // the message only says where the bytes are
      // The rank that returns a block has already written to it, so the loan takes half of the time and of the
      // messages, but all of the work.
      std::int64_t const loan_time = solo ? p.solo : p.loan;
      std::int64_t const least = (std::min)(prices.points.front().loan, loan_time);
      std::int64_t const gap = (std::min)(prices.points.front().send, least);
      return {gap, gap, prices.latency, 0, (loan == loan::lend ? 2 * loan_time - least : least) - gap, 0};
    }
    return {p.send, p.lead, prices.latency, p.wire, p.receive, prices.burst};
  }
  [[nodiscard]] std::int64_t combine(rank_type sender, rank_type receiver, std::size_t bytes, tutti::loan loan) const {
    network_profile::point const p = at_size(link(sender, receiver), bytes);
    return loan != loan::none && p.loan != 0 ? 0 : p.combine;
  }
  [[nodiscard]] std::int64_t overwrite(rank_type sender, rank_type receiver, std::size_t bytes) const {
    return at_size(link(sender, receiver), bytes).overwrite;
  }
  /// The ranks of a host share its interface to other hosts.
  [[nodiscard]] rank_type port(rank_type sender, rank_type receiver) const {
    return uses_aggregator(sender, receiver) || share_host(sender, receiver) ? sender
                                                                             : hosts_->ranks() + hosts_->host(sender);
  }
  [[nodiscard]] std::int64_t start() const { return profile_->start; }

 private:
  [[nodiscard]] bool uses_aggregator(rank_type a, rank_type b) const { return (std::max)(a, b) >= hosts_->ranks(); }
  [[nodiscard]] bool share_host(rank_type a, rank_type b) const { return hosts_->host(a) == hosts_->host(b); }
  [[nodiscard]] network_profile::link const& link(rank_type a, rank_type b) const {
    return uses_aggregator(a, b) ? profile_->aggregator : share_host(a, b) ? *host_link_ : profile_->between_hosts;
  }

  network_profile const* profile_;
  network_profile::link const* host_link_;
  host_map const* hosts_;
  bool moves_;
};

}  // namespace tutti::detail::tuning
