// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/transport/fan_out.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/detail/multicast/member.hpp>
#include <tutti/in_network/detail/multicast/networks.hpp>
#include <tutti/in_network/detail/udp/job_seal.hpp>
#include <tutti/in_network/detail/udp/with_aggregator.hpp>
#include <tutti/in_network/extend/udp_multicast_options.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// A transport with an IP multicast group: ranks exchange messages over `Host`, and a broadcast leaves its root once,
/// however many ranks there are. The topology `in_network` uses the group for broadcast; everything else runs over
/// Host alone.
///
///     auto world = tutti::join<tutti::udp_multicast<tutti::tcp>>();
///     tutti::broadcast share{world, tutti::in_network{}};
///
/// The group is random, or given at rank 0 by TUTTI_MULTICAST or options::network.group. Ranks probe the group when a
/// world is opened. If its packets do not reach every rank, `has_aggregator()` is false on all, and the root of a
/// broadcast sends to each rank over Host.
///
/// In a world with a secret each packet has a tag of 8 bytes, under a key of this group's own. Packets of other senders
/// and packets that are sent again change nothing.
///
/// Cost: S bytes at each link, with 22 bytes of header for each packet of 1,024 bytes; each receiver sends a report
/// of 22 bytes for 16 packets. Lost packets are repaired (detail/multicast/sending.hpp). A broadcast ends at its root
/// when all ranks have confirmed it, by a message of one byte over Host, which loses none.
/// Thread safety: one thread at a time; instances are independent.
/// Protocol: docs/hardware/udp-multicast.md
///
/// @tparam Network the network of the group
template <transport Host, class Network = group_over_udp>
class udp_multicast
    : public detail::udp::with_aggregator<udp_multicast<Host, Network>, Host, Network, detail::multicast::member> {
  using base = detail::udp::with_aggregator<udp_multicast, Host, Network, detail::multicast::member>;
  friend base;
  using base::host_;
  using base::member_;
  using base::network_;
  using typename base::member_type;
  using typename base::network_type;
  static_assert(detail::multicast::network<network_type>);

 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "udp_multicast";
  /// The options with which the transport may be opened; see `open_transport`.
  using options = udp_multicast_options<Host, Network>;
  using base::now;
  using base::rank;
  using base::size;

  /// Collective over the members of the rendezvous.
  /// @throws error(failure::join) if Host cannot be opened, no packet can be received, or the group's address is
  /// invalid
  template <rendezvous M>
  explicit udp_multicast(M& meet, options const& settings = {}) : base(meet, settings) {
    expects(settings.window >= 4 && settings.window <= 4096, "udp_multicast: window must be 4 to 4096 packets, not ",
            settings.window);
    for (detail::fan_out& fan_out : fan_outs_) {
      fan_out.open(size());
    }
    open(meet, settings);
  }

  /// The group's address, distributed by rank 0; empty if there is none, or if its packets do not reach all ranks.
  [[nodiscard]] std::string const& group() const noexcept { return group_; }
  /// The reason for having no group; empty if there is one, or a single rank.
  [[nodiscard]] std::string const& no_group_reason() const noexcept { return no_group_reason_; }
  /// The number by which other hosts reach this one.
  [[nodiscard]] std::string local_host() const
    requires requires(network_type const& n) { n.host(); }
  {
    return network_.host();
  }
  /// Counters of packets sent to the group, and of repairs. @pre has_aggregator()
  [[nodiscard]] udp_multicast_counters const& counts() const noexcept { return member_->counts(); }

  // --- the aggregator: here, the group

  /// True if the group can perform this operation.
  [[nodiscard]] static constexpr bool supports(network_operation operation) noexcept {
    return operation == network_operation::copy;
  }
  /// Registers this rank's part of a flow, before any message to or from the group.
  void join_aggregation(flow s, aggregation_part const& part) {
    fan_outs_[s.lane].begin(part);
    has_confirmed_[s.lane] = false;
    if (member_) {
      member_->join_aggregation(s, part);
    }
  }
  /// A rank whose part is still missing, or no_rank if this rank knows of none.
  [[nodiscard]] rank_type missing(rank_type, flow s) const {
    detail::fan_out const& fan_out = fan_outs_[s.lane];
    return member_ ? member_->missing(s.lane) : fan_out.root() == rank() ? fan_out.waits_for() : fan_out.root();
  }
  /// True if there is a group whose packets reach all ranks.
  [[nodiscard]] bool has_aggregator() const noexcept { return member_.has_value(); }
  /// All ranks that lack packets of this rank, for errors.
  [[nodiscard]] aggregator_report report_aggregator() const {
    aggregator_report report;
    if (member_) {
      member_->each_lagging([&](std::uint32_t, rank_type r) {
        if (std::ranges::find(report.missing, r) == report.missing.end()) {
          report.missing.push_back(r);
        }
      });
    }
    report.name = report.missing.empty() ? "" : "the group at " + group_;
    return report;
  }

 private:
  // --- the layer over Host

  [[nodiscard]] bool is_member() const noexcept { return member_.has_value(); }
  [[nodiscard]] member_type& lanes() noexcept { return *member_; }
  [[nodiscard]] send_result send_to_aggregator(flow s, std::span<std::byte const> bytes, std::size_t granule) {
    if (bytes.empty()) {
      return {true, 0, 0};
    }
    if (member_) {
      member_->send_message(s.lane, bytes.data(), now());
    } else if (!fan_outs_[s.lane].send(host_, s, bytes, granule)) {
      return {};
    }
    return {true, bytes.size(), is_sent_to_aggregator(s) ? ticket{} : ticket{1}};
  }
  [[nodiscard]] bool is_sent_to_aggregator(flow s) {
    if (!member_) {
      return fan_outs_[s.lane].is_released(host_, s);
    }
    if (!member_->is_complete(s.lane)) {
      member_->advance(now());
      this->expect_agreement(s, member_->differing_rank(s.lane));
      take_confirmations(s);
    }
    return member_->is_complete(s.lane);  // a fault is no confirmation
  }
  [[nodiscard]] chunk view_result(flow s, receive_request const& request) {
    if (fan_outs_[s.lane].bytes() == 0) {
      return base::empty_chunk();
    }
    if (!member_) {
      return host_.view(fan_outs_[s.lane].root(), s, request);
    }
    if (!member_->has_target(s.lane)) {
      member_->set_target(s.lane, request.place);
    }
    chunk c = member_->view(s.lane, request.granule);
    if (!c) {
      member_->advance(now());
      this->expect_agreement(s, member_->differing_rank(s.lane));
      c = member_->view(s.lane, request.granule);
    }
    return member_->has_all(s.lane) && !confirm(s) ? chunk{} : c;
  }
  void release_result(flow s) {
    if (member_) {
      member_->release(s.lane);
    } else if (fan_outs_[s.lane].bytes() != 0) {
      host_.release(fan_outs_[s.lane].root(), s);
    }
  }
  void check_ranks(std::uint32_t lane) { this->revoke_if_absent(lane, {member_->blocking_rank(lane)}); }

  /// Confirms to the root that this rank has the whole message. The operation may only end here afterwards: this rank
  /// may then leave, or wait for a later action of the root. False if Host did not accept the message yet.
  bool confirm(flow s) {
    static constexpr std::byte has_all{1};
    if (!has_confirmed_[s.lane]) {
      if constexpr (reuses_copies<Host>) {
        host_.next_message(s, false);
      }
      has_confirmed_[s.lane] = host_.send(fan_outs_[s.lane].root(), s, {&has_all, 1}, 1).is_accepted;
    }
    return has_confirmed_[s.lane];
  }
  /// Takes the confirmations that have arrived, rank by rank.
  void take_confirmations(flow s) {
    for (rank_type r; (r = member_->unfinished_rank(s.lane)) != no_rank && host_.view(r, s, {1, 1, nullptr});) {
      host_.release(r, s);
      member_->finish(s.lane, r);
    }
  }

  /// A pair of ranks whose probe of the group was not received.
  struct unheard_pair {
    rank_type rank;
    rank_type sender;
  };

  /// Probes the group, and makes this rank a member if all ranks hear all.
  template <rendezvous M>
  void open(M& meet, options const& settings) {
    if (size() == 1) {
      return;
    }
    if (size() > detail::udp::max_workers) {
      no_group_reason_ = "a group has at most 255 ranks, and there are " + std::to_string(size());
      return;
    }
    std::uint64_t const nonce = detail::udp::draw_nonce();
    std::vector<std::string> const publications = meet.exchange(
        detail::message({(std::min)(settings.window, (std::max)(network_.room(), 4U)), " ", nonce, " ",
                         network_.endpoint_info(), " ", network_.choose_group(static_cast<std::uint32_t>(nonce))}));
    typename member_type::terms terms{.window = settings.window,
                                      .seal = detail::udp::job_seal(detail::secret_of(meet), name, publications)};
    std::vector<std::string> endpoints;
    std::vector<typename network_type::port::address> addresses;
    for (std::string const& publication : publications) {
      detail::word_reader reader(publication);
      terms.window = (std::min)(terms.window, reader.number<std::uint32_t>());
      auto const job = static_cast<std::uint32_t>(reader.number<std::uint64_t>());
      addresses.push_back(network_.address_of(endpoints.emplace_back(reader.word())));
      if (addresses.size() == 1) {
        terms.nonce = job;
        group_ = reader.word();
      }
    }
    no_group_reason_ =
        group_.empty() ? "rank 0 was told to use no group (TUTTI_MULTICAST, or options::network.group)" : "";
    if (no_group_reason_.empty()) {
      no_group_reason_ = known_failures(meet);
    }
    if (no_group_reason_.empty()) {
      no_group_reason_ = first_reason(meet.exchange(network_.join(group_, endpoints)));
    }
    if (no_group_reason_.empty()) {
      member_.emplace(network_.own_port(), terms, rank(), std::move(addresses), network_.address_of(group_));
      no_group_reason_ = probe_group(meet, settings.probe_time);
    }
    if (!no_group_reason_.empty()) {
      member_.reset();
      group_.clear();
    }
  }
  /// Failures that the parent world found among these ranks: its groups did not reach some of them.
  template <rendezvous M>
  [[nodiscard]] std::string known_failures(M& meet) {
    if constexpr (requires {
                    { meet.transport() } -> std::same_as<udp_multicast&>;
                    meet.parent_ranks();
                  }) {
      std::vector<rank_type> const& ranks = meet.parent_ranks();
      auto const number = [&](rank_type r) {
        return static_cast<rank_type>(std::ranges::find(ranks, r) - ranks.begin());
      };
      for (unheard_pair const& parent_pair : meet.transport().unheard_pairs_) {
        if (unheard_pair const pair{number(parent_pair.rank), number(parent_pair.sender)};
            pair.rank < size() && pair.sender < size()) {
          unheard_pairs_.push_back(pair);
        }
      }
    }
    return describe_unheard("a group of ranks that these are a part of");
  }
  /// Returns "" if packets reach all ranks, else the reason.
  template <rendezvous M>
  [[nodiscard]] std::string probe_group(M& meet, duration time_limit) {
    std::string report;
    if (!probe_until_all_hear(time_limit)) {
      for (rank_type r = 0; r != size(); ++r) {
        report += member_->reachability().hears(r) ? "" : std::to_string(r) + " ";
      }
    }
    auto const reports = meet.exchange(report);
    for (rank_type r = 0; r != size(); ++r) {
      for (detail::word_reader reader(reports[r]); !reader.empty();) {
        unheard_pairs_.push_back({r, reader.number<rank_type>()});
      }
    }
    return describe_unheard("the group at " + group_);
  }
  [[nodiscard]] std::string describe_unheard(std::string const& group) const {
    if (unheard_pairs_.empty()) {
      return {};
    }
    return "packets of rank " + std::to_string(unheard_pairs_[0].sender) + " to " + group + " did not reach rank " +
           std::to_string(unheard_pairs_[0].rank) +
           (unheard_pairs_.size() == 1
                ? ""
                : ", nor did packets of " + std::to_string(unheard_pairs_.size() - 1) + " more pairs of ranks") +
           "; allow IP multicast in the network between them";
  }
  /// The first rank's reason for having no group.
  [[nodiscard]] static std::string first_reason(std::vector<std::string> const& publications) {
    auto const match = std::ranges::find_if(publications, [](std::string const& text) { return !text.empty(); });
    return match == publications.end() ? std::string()
                                       : "rank " + std::to_string(match - publications.begin()) + " " + *match;
  }
  /// Probes the group until all ranks report that they hear all. Some may begin to hear late, because a switch takes
  /// its time. Probes may be lost, so the last one is repeated.
  [[nodiscard]] bool probe_until_all_hear(duration time_limit) {
    constexpr duration probe_interval = std::chrono::milliseconds(10);
    constexpr int last = 8;
    time_point const deadline = now() + time_limit;
    time_point next = now();
    bool was_hearing = false;
    while (!member_->reachability().all_hear()) {
      bool const hears = member_->reachability().hears_all();
      if (now() >= deadline) {
        return hears;
      }
      if (now() >= next || hears != was_hearing) {
        member_->reachability().send_probe();
        next = now() + probe_interval;
        was_hearing = hears;
      }
      pollfd entry{network_.own_port().descriptor(), POLLIN, 0};
      ::poll(&entry, 1, static_cast<int>(probe_interval / std::chrono::milliseconds(1)));
      member_->advance(now());
    }
    for (int i = 0; i != last; ++i) {
      member_->reachability().send_probe();
    }
    return true;
  }

  std::string group_;
  std::string no_group_reason_;
  std::vector<unheard_pair> unheard_pairs_;                 ///< equal on all ranks
  std::array<detail::fan_out, collective_lanes> fan_outs_;  ///< state of a message, and its path without a group
  std::array<bool, collective_lanes> has_confirmed_{};      ///< this rank has confirmed the message
};

}  // namespace tutti
