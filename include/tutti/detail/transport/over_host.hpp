// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/locality/either_descriptor.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/memory_source.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline transport {

/// Base of transports that add in-network aggregators to Host. Forwards Host's capabilities;
/// derived classes add the messages and the aggregator's own.
template <tutti::transport Host>
class over_host {
 public:
  static constexpr bool in_process = Host::in_process;

  over_host(over_host const&) = delete;
  over_host& operator=(over_host const&) = delete;

  [[nodiscard]] rank_type rank() const noexcept { return host_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return host_.size(); }
  [[nodiscard]] Host& host() noexcept { return host_; }

  [[nodiscard]] bool shares(rank_type peer, flow s, std::span<std::byte const> bytes) const
    requires shares_memory<Host>
  {
    return peer < size() && host_.shares(peer, s, bytes);
  }
  [[nodiscard]] send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule,
                                 std::byte* back)
    requires lends<Host>
  {
    return host_.lend(peer, s, bytes, granule, back);
  }
  [[nodiscard]] send_result give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule)
    requires lends<Host>
  {
    return host_.give_back(peer, s, bytes, granule);
  }
  [[nodiscard]] std::byte* result_place(rank_type peer, flow s)
    requires lends<Host>
  {
    return peer < size() ? host_.result_place(peer, s) : nullptr;
  }
  void next_message(flow s, bool is_repeat)
    requires reuses_copies<Host>
  {
    host_.next_message(s, is_repeat);
  }
  void detect_mismatch(rank_type peer, flow s)
    requires detects_mismatch<Host>
  {
    host_.detect_mismatch(peer, s);
  }
  void publish_wait(wait_report const& w)
    requires reports_waits<Host>
  {
    host_.publish_wait(w);
  }
  [[nodiscard]] bool query_wait(rank_type peer)
    requires reports_waits<Host>
  {
    return host_.query_wait(peer);
  }
  [[nodiscard]] wait_report reported_wait(rank_type peer, std::uint32_t lane) const
    requires reports_waits<Host>
  {
    return host_.reported_wait(peer, lane);
  }
  [[nodiscard]] intrusive_pointer<memory_source> memory() const noexcept
    requires provides_memory<Host>
  {
    return host_.memory();
  }
  void adopt(intrusive_pointer<memory_source> s)
    requires registers_memory<Host>
  {
    host_.adopt(std::move(s));
  }
  [[nodiscard]] decltype(auto) incidents() const
    requires requires(Host const& h) { h.incidents(); }
  {
    return host_.incidents();
  }
  [[nodiscard]] std::string local_host() const
    requires requires(Host const& h) { h.local_host(); }
  {
    return host_.local_host();
  }
  [[nodiscard]] std::string describe_address(rank_type peer) const
    requires requires(Host const& h) { h.describe_address(peer); }
  {
    return host_.describe_address(peer);
  }
  [[nodiscard]] decltype(auto) hosts() const
    requires requires(Host const& h) { h.hosts(); }
  {
    return host_.hosts();
  }

  void disarm() { host_.disarm(); }
  [[nodiscard]] time_point now() const { return host_.now(); }
  [[nodiscard]] tutti::fault fault() { return host_.fault(); }
  void revoke(tutti::fault const& cause) { host_.revoke(cause); }
  void revoke_in_memory(tutti::fault const& cause) noexcept
    requires revokes_in_memory<Host>
  {
    host_.revoke_in_memory(cause);
  }
  [[nodiscard]] tutti::fault fault_in_memory() const noexcept
    requires revokes_in_memory<Host>
  {
    return host_.fault_in_memory();
  }
  void announce_departure(tutti::fault const& cause)
    requires announces_departure<Host>
  {
    host_.announce_departure(cause);
  }

 protected:
  template <class M, class Options>
  over_host(M& meet, Options const& options) : host_(open_transport<Host>(meet, options)) {}
  ~over_host() = default;

  /// The descriptor to sleep on for arrivals through Host or on `other`.
  [[nodiscard]] int arm_with(int other) { return bells_.combine(host_.arm(), other); }

  /// Handles calls that differ. The aggregator knows only that they do, so Host is asked for the other rank's call, and
  /// its error shows both. After a second without one, throws error(failure::mismatch).
  /// @param other the rank with another call, or no_rank
  void expect_agreement(flow s, rank_type other) {
    if (other == no_rank || host_.fault()) {
      return;
    }
    if constexpr (detects_mismatch<Host>) {
      if (other != rank()) {
        host_.detect_mismatch(other, s);
      }
    }
    auto& first_notice = differs_since_[s.lane];
    if (first_notice.number != s.number || first_notice.at == time_point{}) {
      first_notice = {s.number, now()};
    } else if (now() - first_notice.at > std::chrono::seconds(1)) {
      host_.revoke({failure::mismatch, other, rank()});
      throw messages_differ(rank(), other);
    }
  }
  /// Revokes the world if a required rank has been gone for two seconds. Before that, its contribution may have
  /// arrived, and the result may be on its way. Does nothing if Host does not notice departures.
  /// @param wait a lane, or `other_wait`
  /// @param required_ranks all ranks without which the wait cannot end; no_rank and this rank are skipped
  void revoke_if_absent(std::uint32_t wait, std::initializer_list<rank_type> required_ranks) {
    if constexpr (notices_departure<Host>) {
      absence& entry = absences_[wait];
      for (rank_type const peer : required_ranks) {
        if (peer == no_rank || peer == rank() || !host_.has_left(peer)) {
          continue;
        }
        if (entry.rank != peer) {
          entry = {peer, now()};
        } else if (now() - entry.start > std::chrono::seconds(2)) {
          host_.revoke({failure::peer_lost, peer, rank()});
        }
        return;
      }
      entry = {};
    }
  }
  /// The number, for `revoke_if_absent`, of a wait outside all operations.
  static constexpr std::uint32_t other_wait = collective_lanes;

  Host host_;

 private:
  struct absence {
    rank_type rank = no_rank;
    time_point start{};
  };
  struct difference {
    std::uint32_t number = 0;
    time_point at{};
  };

  either_descriptor bells_;
  std::array<difference, collective_lanes> differs_since_{};
  std::array<absence, collective_lanes + 1> absences_{};  ///< by lane, and for `other_wait`
};

}  // namespace tutti::detail::transport
