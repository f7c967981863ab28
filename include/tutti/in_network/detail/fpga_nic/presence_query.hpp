// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/in_network/detail/fpga_nic/exchange.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Queries to ranks of other racks. A rack's device learns that another rack is incomplete, but not which of its
/// ranks are missing, so the ranks are asked directly. A rank that has contributed answers.
template <port Port>
class presence_query {
 public:
  using address = typename Port::address;

  /// @param addresses the addresses of the members, in rank order
  presence_query(Port& port, std::uint32_t nonce, std::vector<address> addresses)
      : port_(port), nonce_(nonce), addresses_(std::move(addresses)) {}

  /// Queries some of the ranks that are not known to have contributed to the oldest piece of a lane.
  void query_missing(exchange const& lane_exchange, std::uint32_t lane) {
    std::size_t missing = 0;
    lane_exchange.each_missing([&](rank_type) { ++missing; });
    if (missing == 0) {
      return;
    }
    std::size_t const first = missing <= max_at_once ? 0 : rotation_ % missing;
    std::size_t k = 0;
    lane_exchange.each_missing([&](rank_type r) {
      if ((k++ + missing - first) % missing < max_at_once) {
        send(r, lane_exchange.head_of(kind::ask, lane_exchange.front(), lane, server_kind::stand_in));
      }
    });
    rotation_ = first + max_at_once;
  }
  /// Answers a query. False if this rank has not contributed, or the sender is no worker.
  bool answer(exchange const& lane_exchange, address const& source, header h) {
    rank_type const asker = worker_at(lane_exchange, source, h);
    std::uint32_t const i = lane_exchange.piece_of(h.sequence);
    bool const is_given = i != exchange::no_piece && lane_exchange.at(i).at != server_kind::no_server;
    if (asker == no_rank || lane_exchange.part().worker == no_rank ||
        !(is_given || lane_exchange.find_saved(h.sequence) != nullptr)) {
      return false;
    }
    h.kind = kind::progress;
    h.worker = static_cast<std::uint8_t>(lane_exchange.part().worker);
    send(asker, h);
    return true;
  }
  /// Handles an answer. False if it is none, or about another piece.
  bool take(exchange& lane_exchange, address const& source, header const& h) const {
    if (lane_exchange.piece_of(h.sequence) != lane_exchange.front() || worker_at(lane_exchange, source, h) == no_rank) {
      return false;
    }
    lane_exchange.confirm(h.worker);
    return true;
  }

 private:
  static constexpr std::size_t max_at_once = 4;

  /// The rank of a packet's sender if it is the worker that the header names, or no_rank.
  [[nodiscard]] rank_type worker_at(exchange const& lane_exchange, address const& source,
                                    header const& h) const noexcept {
    auto const& workers = lane_exchange.part().workers;
    bool const is_one =
        h.workers == workers.size() && h.worker < workers.size() && addresses_[workers[h.worker].rank] == source;
    return is_one ? workers[h.worker].rank : no_rank;
  }
  void send(rank_type destination, header h) {
    h.job = nonce_;
    h.length = 0;
    port_.send(addresses_[destination], h, {});
  }

  Port& port_;
  std::uint32_t nonce_;
  std::vector<address> addresses_;
  std::size_t rotation_ = 0;  ///< rotation among missing ranks, if there are many
};

}  // namespace tutti::detail::fpga_nic
