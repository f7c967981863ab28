// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/transport/fan_out.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/detail/multicast/member.hpp>
#include <tutti/in_network/detail/multicast/networks.hpp>
#include <tutti/in_network/detail/udp/with_helper.hpp>
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

/// Ranks talk through `Host`, and to all at once through a group of IP multicast: what a rank broadcasts leaves it
/// once, however many ranks there are. `in_network` uses that for broadcast; all else runs over Host alone.
///
///     auto world = tutti::join<tutti::udp_multicast<tutti::tcp>>();
///     tutti::broadcast share{world, tutti::in_network{}};
///
/// The group is drawn, or TUTTI_MULTICAST or options::network.group say it at rank 0. When a world is opened its ranks
/// try the group: where packets to it do not come to all, the rank that broadcasts sends to each by Host, and
/// `has_helper()` is false on all.
///
/// Cost: S at each link, and packets of 22 bytes more than 1,024 bytes of elements; of each rank that receives, a
/// packet of 22 bytes for 16 that come. What is lost is sent again. A rank that broadcasts is done when all have
/// confirmed, by a message of a byte through Host, which loses none.
/// Thread safety: one thread at a time; instances are independent.
/// Protocol: docs/hardware/udp-multicast.md
///
/// @tparam Network the network of the group
template <transport Host, class Network = group_over_udp>
class udp_multicast
    : public detail::udp::with_helper<udp_multicast<Host, Network>, Host, Network, detail::multicast::member> {
  using base = detail::udp::with_helper<udp_multicast, Host, Network, detail::multicast::member>;
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
  /// @throws error(failure::join) if Host cannot be opened, no packet can be received, or the group is none
  template <rendezvous M>
  explicit udp_multicast(M& meet, options const& o = {}) : base(meet, o) {
    expects(o.window >= 4 && o.window <= 4096, "udp_multicast: window must be 4 to 4096 packets, not ", o.window);
    for (detail::fan_out& one : alone_) {
      one.open(size());
    }
    open(meet, o);
  }

  /// The group, as rank 0 has said; empty: there is none, or packets to it do not come to all ranks.
  [[nodiscard]] std::string const& group() const noexcept { return group_; }
  /// Why there is none; empty: there is one, or a single rank.
  [[nodiscard]] std::string const& why_no_group() const noexcept { return why_none_; }
  /// The number by which other hosts reach this one.
  [[nodiscard]] std::string local_host() const
    requires requires(network_type const& n) { n.host(); }
  {
    return network_.host();
  }
  /// What has been sent to the group, and asked of it. @pre has_helper()
  [[nodiscard]] udp_multicast_counters const& counted() const noexcept { return member_->counted(); }

  // --- the helper

  /// True if a helper can be asked for this operation.
  [[nodiscard]] static constexpr bool does(network_operation what) noexcept { return what == network_operation::copy; }
  /// Tells a helper of a flow this rank's part, before any message to or from it.
  void take_part(flow s, helper_part const& part) {
    alone_[s.lane].begin(part);
    confirmed_[s.lane] = false;
    if (member_) {
      member_->take_part(s, part);
    }
  }
  /// A rank whose part a helper still waits for, as far as it is known here; or no_rank.
  [[nodiscard]] rank_type missing(rank_type, flow s) const {
    detail::fan_out const& one = alone_[s.lane];
    return member_ ? member_->missing(s.lane) : one.root() == rank() ? one.waits_for() : one.root();
  }
  /// Whether there is a group, which packets come to all ranks through.
  [[nodiscard]] bool has_helper() const noexcept { return member_.has_value(); }
  /// All ranks that a helper waits for, for errors.
  [[nodiscard]] helper_report waits_for() const {
    helper_report all;
    if (member_) {
      member_->each_behind([&](std::uint32_t, rank_type r) {
        if (std::ranges::find(all.missing, r) == all.missing.end()) {
          all.missing.push_back(r);
        }
      });
    }
    all.name = all.missing.empty() ? "" : "the group at " + group_;
    return all;
  }

 private:
  // --- the layer over Host

  [[nodiscard]] bool is_member() const noexcept { return member_.has_value(); }
  [[nodiscard]] member_type& lanes() noexcept { return *member_; }
  [[nodiscard]] sent give(flow s, std::span<std::byte const> bytes, std::size_t granule) {
    if (bytes.empty()) {
      return {true, 0, 0};
    }
    if (member_) {
      member_->give(s.lane, bytes.data(), now());
    } else if (!alone_[s.lane].send(host_, s, bytes, granule)) {
      return {};
    }
    return {true, bytes.size(), is_given(s) ? ticket{} : ticket{1}};
  }
  [[nodiscard]] bool is_given(flow s) {
    if (!member_) {
      return alone_[s.lane].released(host_, s);
    }
    if (!member_->over(s.lane)) {
      member_->advance(now());
      this->expect_agreement(s, member_->differs(s.lane));
      hear_confirmations(s);
    }
    return member_->over(s.lane);  // a fault is no confirmation
  }
  [[nodiscard]] chunk take(flow s, wanted const& w) {
    if (alone_[s.lane].bytes() == 0) {
      return base::empty_chunk();
    }
    if (!member_) {
      return host_.view(alone_[s.lane].root(), s, w);
    }
    if (!member_->is_wanted(s.lane)) {
      member_->want(s.lane, w.place);
    }
    chunk c = member_->view(s.lane, w.granule);
    if (!c) {
      member_->advance(now());
      this->expect_agreement(s, member_->differs(s.lane));
      c = member_->view(s.lane, w.granule);
    }
    return member_->has_all(s.lane) && !confirm(s) ? chunk{} : c;
  }
  void end_take(flow s) {
    if (member_) {
      member_->release(s.lane);
    } else if (alone_[s.lane].bytes() != 0) {
      host_.release(alone_[s.lane].root(), s);
    }
  }
  void look_for_ranks(std::uint32_t lane) { this->look_for(lane, {member_->lacks(lane)}); }

  /// Tells the root that this rank has all, before the operation may end here: afterwards it may leave, or wait for
  /// something that the root does later. False: not yet.
  bool confirm(flow s) {
    static constexpr std::byte has_all{1};
    if (!confirmed_[s.lane]) {
      if constexpr (repeats<Host>) {
        host_.next_message(s, false);
      }
      confirmed_[s.lane] = host_.send(alone_[s.lane].root(), s, {&has_all, 1}, 1).accepted;
    }
    return confirmed_[s.lane];
  }
  /// Takes the confirmations that have come, of one rank after the other.
  void hear_confirmations(flow s) {
    for (rank_type r; (r = member_->unfinished(s.lane)) != no_rank && host_.view(r, s, {1, 1, nullptr});) {
      host_.release(r, s);
      member_->finish(s.lane, r);
    }
  }

  /// A rank that no packet of another one came to, when they tried the group.
  struct deaf {
    rank_type rank;
    rank_type to;
  };

  /// Finds out whether there is a group that all ranks hear, and then makes this rank a member of it.
  template <rendezvous M>
  void open(M& meet, options const& o) {
    if (size() == 1) {
      return;
    }
    if (size() > detail::udp::most_workers) {
      why_none_ = "a group has at most 255 ranks, and there are " + std::to_string(size());
      return;
    }
    std::uint32_t const nonce = detail::udp::draw_job();
    std::vector<std::string> const said =
        meet.exchange(detail::message({(std::min)(o.window, (std::max)(network_.room(), 4U)), " ", nonce, " ",
                                       network_.card(), " ", network_.choose_group(nonce)}));
    typename member_type::terms terms{.window = o.window};
    std::vector<std::string> cards;
    std::vector<typename network_type::port::address> all;
    for (std::string const& one : said) {
      detail::word_reader in(one);
      terms.window = (std::min)(terms.window, in.number<std::uint32_t>());
      auto const job = in.number<std::uint32_t>();
      all.push_back(network_.address_of(cards.emplace_back(in.word())));
      if (all.size() == 1) {
        terms.nonce = job;
        group_ = in.word();
      }
    }
    why_none_ = group_.empty() ? "rank 0 was told to have none (TUTTI_MULTICAST, or options::network.group)" : "";
    if (why_none_.empty()) {
      why_none_ = remembered(meet);
    }
    if (why_none_.empty()) {
      why_none_ = first_of(meet.exchange(network_.join(group_, cards)));
    }
    if (why_none_.empty()) {
      member_.emplace(network_.open(), terms, rank(), std::move(all), network_.address_of(group_));
      why_none_ = try_group(meet, o.patience);
    }
    if (!why_none_.empty()) {
      member_.reset();
      group_.clear();
    }
  }
  /// What is known already of ranks of a part: that packets to a group of the whole did not come to some of them.
  template <rendezvous M>
  [[nodiscard]] std::string remembered(M& meet) {
    if constexpr (requires {
                    { meet.transport() } -> std::same_as<udp_multicast&>;
                    meet.parent_ranks();
                  }) {
      std::vector<rank_type> const& ranks = meet.parent_ranks();
      auto const number = [&](rank_type r) {
        return static_cast<rank_type>(std::ranges::find(ranks, r) - ranks.begin());
      };
      for (deaf const& one : meet.transport().deaf_) {
        if (deaf const here{number(one.rank), number(one.to)}; here.rank < size() && here.to < size()) {
          deaf_.push_back(here);
        }
      }
    }
    return describe_deaf("a group of ranks that these are a part of");
  }
  /// Whether packets come to all: why not, if they do not.
  template <rendezvous M>
  [[nodiscard]] std::string try_group(M& meet, duration patience) {
    std::string mine;
    if (!hears_all(patience)) {
      for (rank_type r = 0; r != size(); ++r) {
        mine += member_->signs().hears(r) ? "" : std::to_string(r) + " ";
      }
    }
    auto const all = meet.exchange(mine);
    for (rank_type r = 0; r != size(); ++r) {
      for (detail::word_reader in(all[r]); !in.empty();) {
        deaf_.push_back({r, in.number<rank_type>()});
      }
    }
    return describe_deaf("the group at " + group_);
  }
  [[nodiscard]] std::string describe_deaf(std::string const& group) const {
    if (deaf_.empty()) {
      return {};
    }
    return "packets of rank " + std::to_string(deaf_[0].to) + " to " + group + " did not come to rank " +
           std::to_string(deaf_[0].rank) +
           (deaf_.size() == 1 ? ""
                              : ", nor did those of " + std::to_string(deaf_.size() - 1) + " more pairs of ranks") +
           "; does the network carry IP multicast between them?";
  }
  /// What is in the way of the first rank that something is.
  [[nodiscard]] static std::string first_of(std::vector<std::string> const& said) {
    auto const it = std::ranges::find_if(said, [](std::string const& one) { return !one.empty(); });
    return it == said.end() ? std::string() : "rank " + std::to_string(it - said.begin()) + " " + *it;
  }
  /// Calls out to the group until signs of all ranks say that they hear all: some may begin to later, where a switch
  /// takes its time. Signs may be lost, so the last one is repeated.
  [[nodiscard]] bool hears_all(duration patience) {
    constexpr duration between = std::chrono::milliseconds(10);
    constexpr int last = 8;
    time_point const until = now() + patience;
    time_point next = now();
    bool said = false;
    while (!member_->signs().all_hear()) {
      bool const hears = member_->signs().hears_all();
      if (now() >= until) {
        return hears;
      }
      if (now() >= next || hears != said) {
        member_->signs().call_out();
        next = now() + between;
        said = hears;
      }
      pollfd one{network_.open().descriptor(), POLLIN, 0};
      ::poll(&one, 1, static_cast<int>(between / std::chrono::milliseconds(1)));
      member_->advance(now());
    }
    for (int i = 0; i != last; ++i) {
      member_->signs().call_out();
    }
    return true;
  }

  std::string group_;
  std::string why_none_;
  std::vector<deaf> deaf_;                               ///< alike on all ranks
  std::array<detail::fan_out, collective_lanes> alone_;  ///< what is known of a message, and its way without a group
  std::array<bool, collective_lanes> confirmed_{};       ///< the root has been told that this rank has all
};

}  // namespace tutti
