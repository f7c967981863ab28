// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/udp/rate_control.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The lanes of a member: sends pieces to a server, the device or the stand-in, repairs losses, and takes results.
///
/// A lost packet. Contributions and results are UDP packets; any of them may be lost, repeated or reordered.
///
///     member                                      server: the device, or the stand-in
///     contribute q  ------------------------>     slot q % slots, version q / slots % 2, which adds each worker once
///                   <------------------------     result q, to every worker, when the last worker has contributed
///     query q       ------------------------>     if the piece is late
///                   <------------------------     result q, or missing q with a bitmap of the contributors
///     contribute q  ------------------------>     again, from a member that the bitmap lacks
///
///   - Sequence numbers. Piece q has one number on all members. A member contributes q only when it has the result of
///     q - slots, so the two versions of a slot never mix, and a result stays in the server until all workers have
///     it.
///   - Timers. A piece is late if a piece sent after it has its result and `repair_delay` has passed, or if nothing
///     overtook it and `retry_after` has: 2 to 100 ms, from measured round trips, doubled at each query.
///   - Retransmission. An overtaken piece is contributed again if there are up to 8 workers; with more, and for the
///     oldest piece whose timer expires, the member sends a query first.
///   - Duplicates. A repeated contribution to a complete sequence is answered by the result, which repairs a lost
///     result; to an incomplete one, or to a slot that waits for an earlier sequence, by nothing: the member's timer
///     repeats it. A member ignores a second result.
///   - No answer. A device is given up if it has sent nothing on a lane for `job_terms::silence` since the first query
///     without an answer, or since it was asked to join. One that restarted answers no query, and refuses the next
///     contribution as `unknown`: this member joins it again. In both cases all pieces go to the stand-in, at rank 0. A
///     piece that the device refuses as `late` goes there alone. The stand-in asks the members that it lacks: each one
///     sends its contribution, or the result if it has it (`supply`).
///
/// Members need not agree on the server of a piece. A member that has moved a piece to the stand-in never moves it
/// back, and ignores the device's result for it. The stand-in completes a piece only with the contributions of all
/// workers, or with a result that one of them has. So every piece has one result, whichever server made it.
template <port Port>
class member_lanes {
 public:
  /// @pre the terms outlive this object
  member_lanes(member_servers<Port>& servers, job_terms const& terms, rank_type me, rate_control& rate,
               weight_exchange& weights, fpga_nic_counters& counters)
      : servers_(servers), terms_(terms), me_(me), rate_(rate), weights_(weights), counters_(counters) {
    for (exchange& lane_exchange : lanes_) {
      lane_exchange.open(terms, me);
    }
  }

  [[nodiscard]] exchange& lane_at(std::uint32_t lane) noexcept { return lanes_[lane]; }
  void begin(flow s, std::uint32_t fingerprint) noexcept {
    lanes_[s.lane].begin(s, fingerprint);
    differing_ranks_[s.lane] = no_rank;
  }
  void end(flow s) noexcept {
    exchange& lane_exchange = lanes_[s.lane];
    for (std::uint32_t i = lane_exchange.front(); i < lane_exchange.sent_count();
         ++i) {  // pieces of an operation that was abandoned
      in_flight_ -= lane_exchange.at(i).at != server_kind::no_server && !lane_exchange.at(i).is_complete ? 1U : 0U;
    }
    lane_exchange.drop();
  }
  /// Ends the use of all of the user's memory.
  void drop() noexcept {
    for (exchange& lane_exchange : lanes_) {
      lane_exchange.drop();
    }
    in_flight_ = 0;
  }

  // --- wait state of a lane

  /// A rank that has made another call for a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differing_rank(std::uint32_t lane) const noexcept { return differing_ranks_[lane]; }
  /// The rank that serves the oldest piece of a lane, or will: 0 for the stand-in; no_rank for a device, or for this
  /// rank itself.
  [[nodiscard]] rank_type serving(std::uint32_t lane) const noexcept {
    exchange const& lane_exchange = lanes_[lane];
    bool const is_waiting = lane_exchange.is_ready() && !lane_exchange.is_complete() && me_ != 0;
    return is_waiting && server_of_front(lane_exchange) == server_kind::stand_in ? 0 : no_rank;
  }
  /// A rank whose contribution the oldest piece lacks, according to its server; or no_rank.
  [[nodiscard]] rank_type contributing(std::uint32_t lane) const noexcept {
    exchange const& lane_exchange = lanes_[lane];
    return lane_exchange.is_ready() && !lane_exchange.is_complete() ? lane_exchange.missing() : no_rank;
  }
  /// The rank that a lane waits for; no_rank if it is a device that has not named the missing workers.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    rank_type const contributor = contributing(lane);
    return contributor == no_rank ? serving(lane) : contributor;
  }
  /// Ranks that the oldest piece of a lane lacks, according to its server.
  struct lacking {
    server_kind server = server_kind::no_server;
    std::vector<rank_type> ranks{};
  };
  [[nodiscard]] lacking lacking_ranks(std::uint32_t lane) const {
    exchange const& lane_exchange = lanes_[lane];
    lacking result;
    if (!lane_exchange.is_complete() && lane_exchange.front() != lane_exchange.sent_count()) {
      result.server = lane_exchange.at(lane_exchange.front()).at;
      lane_exchange.each_missing([&](rank_type r) { result.ranks.push_back(r); });
    }
    return result;
  }

  // --- sending

  /// Sends pieces of a lane, as far as window and slots allow.
  void push(std::uint32_t lane, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    if (!lane_exchange.is_ready()) {
      return;
    }
    // The oldest piece of a lane ignores the window: pieces of other lanes that fill it may wait for that very piece.
    for (std::uint32_t i = lane_exchange.sent_count();
         (in_flight_ < rate_.window() || i == lane_exchange.front()) && lane_exchange.may_send(i); ++i) {
      if (!send(lane, i, choose_server(lane_exchange, i), now)) {
        break;
      }
    }
    servers_.flush();
  }
  /// Sends all pieces of the stand-in again after this member has joined it: the stand-in has none of them.
  void resend_to_stand_in(time_point now) {
    each_piece_of(server_kind::stand_in,
                  [&](std::uint32_t lane, std::uint32_t i) { send(lane, i, server_kind::stand_in, now); });
  }
  /// Moves pieces of a lost device to the stand-in. Called repeatedly, because the port may be full.
  void move_to_stand_in(time_point now) {
    each_piece_of(server_kind::device, [&](std::uint32_t lane, std::uint32_t i) {
      if (lanes_[lane].at(i).device_life != servers_.device_life()) {
        send(lane, i, server_kind::stand_in, now);
      }
    });
  }

  // --- retransmission

  /// Repairs pieces that later ones have overtaken. The lost packet is unknown, and more often than not it was
  /// another worker's. With few workers the contribution is sent again, which saves a round trip; with many, a query
  /// is shorter.
  void repair(std::uint32_t lane, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    duration const delay = rate_.repair_delay();
    for (std::uint32_t i = lane_exchange.front(); lane_exchange.is_ready() && i < lane_exchange.sent_count(); ++i) {
      exchange::piece& piece = lane_exchange.at(i);
      if (piece.is_complete || piece.at == server_kind::no_server || piece.send_time >= lane_exchange.overtake_time() ||
          now - piece.send_time <= delay) {
        continue;
      }
      if (!(lane_exchange.part().workers.size() <= few_workers ? send(lane, i, piece.at, now) : query(lane, i, now))) {
        return;
      }
    }
  }
  /// The server that has not answered the oldest piece of a lane in time, or none.
  [[nodiscard]] server_kind is_late(std::uint32_t lane, time_point now) noexcept {
    exchange const& lane_exchange = lanes_[lane];
    if (!lane_exchange.is_ready() || lane_exchange.front() == lane_exchange.sent_count()) {
      return server_kind::no_server;
    }
    exchange::piece const& piece = lane_exchange.at(lane_exchange.front());
    return piece.is_complete || piece.at == server_kind::no_server ||
                   now - piece.send_time < query_interval(lane_exchange)
               ? server_kind::no_server
               : piece.at;
  }
  /// True if that server has not answered queries on this lane for so long that it must be given up. @pre `is_late`
  [[nodiscard]] bool is_silent(std::uint32_t lane, time_point now) const noexcept {
    return lanes_[lane].is_silent(lanes_[lane].front(), now, terms_.silence);
  }
  /// Queries the server of the oldest piece.
  void query_again(std::uint32_t lane, time_point now) {
    rate_.note_silence();
    query(lane, lanes_[lane].front(), now);
  }

  // --- answers of servers

  void hear_from(server_kind server, std::uint32_t lane, time_point now) noexcept {
    lanes_[lane].hear_from(server, now);
  }

  void take_result(std::uint32_t lane, server_kind server, packet const& p, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    std::uint32_t const i = lane_exchange.piece_of(p.head.sequence);
    if (i == exchange::no_piece || lane_exchange.at(i).is_complete || lane_exchange.at(i).at != server ||
        p.payload.size() != lane_exchange.result_bytes(i)) {
      ++counters_.ignored_packets;
      return;
    }
    if (!lane_exchange.at(i).was_repeated) {  // otherwise it is unknown which copy was answered
      rate_.note_round_trip(now - lane_exchange.at(i).send_time);
      lane_exchange.note_overtaking(lane_exchange.at(i).send_time);
    }
    rate_.note_result();
    --in_flight_;
    ++counters_.results;
    counters_.stand_in_results += server == server_kind::stand_in ? 1 : 0;
    if (p.head.operation == network_operation::update && server == server_kind::device) {
      update_terms const t = weights_.rank_weights.terms_of(lane_exchange.content(i).data());
      weights_.is_updated(t.key, t.version + 1);
    }
    lane_exchange.finish(i, p.head, p.payload);
  }
  /// Handles a server's list of contributors, sent as an answer to a query, or because other members wait.
  void take_missing(std::uint32_t lane, server_kind server, packet const& p, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    std::uint32_t const i = lane_exchange.piece_of(p.head.sequence);
    exchange::saved_result const* const saved_piece = lane_exchange.find_saved(p.head.sequence);
    if (i == exchange::no_piece || lane_exchange.at(i).is_complete) {
      if (saved_piece != nullptr && server == server_kind::stand_in && saved_piece->head.length != 0) {
        supply_result(*saved_piece, now);
      } else if (server == server_kind::stand_in) {
        lane_exchange.note_stand_in_waits(p.head.sequence);
      }
      return;
    }
    worker_set const present = lane_exchange.present(p, server);
    if (i == lane_exchange.front() && !p.payload.empty()) {
      lane_exchange.note_present(present);
    }
    bool const takes_part = server == server_kind::stand_in || lane_exchange.at(i).at == server;
    if (takes_part && !present.has(static_cast<unsigned>(lane_exchange.part().worker))) {
      if (lane_exchange.at(i).at == server) {
        rate_.note_loss(now);
      }
      if (lane_exchange.at(i).was_queried) {
        query_earlier(lane, lane_exchange.at(i).send_time, server, now);
      }
      send(lane, i, server, now);
    }
  }
  /// Handles a refusal. @pre the reason is not `refusal::unknown`
  void take_refusal(std::uint32_t lane, server_kind server, packet const& p, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    std::uint32_t const i = lane_exchange.piece_of(p.head.sequence);
    refusal const reason = read_refusal(p.payload);
    // A join is refused with this reason, too, if another program has this number in the job.
    if (reason == refusal::mismatch && p.head.operation != network_operation::none) {
      if (i != exchange::no_piece && p.head.worker < lane_exchange.part().workers.size()) {
        differing_ranks_[lane] = lane_exchange.named_rank(p.head, server);
      }
      return;
    }
    if (!servers_.at(server).has_joined()) {
      return servers_.take_refused_join(server);
    }
    if (server == server_kind::device && i != exchange::no_piece && !lane_exchange.at(i).is_complete &&
        lane_exchange.at(i).at == server) {
      if (reason == refusal::no_weights) {
        std::uint32_t const k = weights_.rank_weights.terms_of(lane_exchange.content(i).data()).key;
        weights_.forget(k);
        // Rank 0, which has stored all blocks it could, moves to the stand-in.
        if (me_ != 0 && weights_.is_refused(k)) {
          lane_exchange.at(i).send_time = now;
          return;
        }
      }
      send(lane, i, server_kind::stand_in, now);  // the device has lost the state of this piece
    }
  }

 private:
  static constexpr std::size_t few_workers = 8;

  /// Chooses the server of a piece that has none.
  [[nodiscard]] server_kind choose_server(exchange const& lane_exchange, std::uint32_t i) const noexcept {
    if (servers_.has_no_device() || !lane_exchange.is_for_devices()) {
      return server_kind::stand_in;
    }
    std::uint32_t const q = lane_exchange.sequence_of(i);
    bool const is_forced = (q * 0x9e3779b1U >> 24) < terms_.stand_in_share;
    return is_forced || lane_exchange.at(i).stand_in_waits ? server_kind::stand_in : server_kind::device;
  }

  /// The server of the oldest incomplete piece, or the one it will get. @pre there is such a piece
  [[nodiscard]] server_kind server_of_front(exchange const& lane_exchange) const noexcept {
    server_kind const server = lane_exchange.front() == lane_exchange.sent_count()
                                   ? server_kind::no_server
                                   : lane_exchange.at(lane_exchange.front()).at;
    return server == server_kind::no_server ? choose_server(lane_exchange, lane_exchange.front()) : server;
  }

  /// Gives a piece to a server and sends it, for the first time or again. If this member has not joined that server, it
  /// sends a join instead; a piece that another server had is assigned here now, and sent after the join. False if the
  /// piece has neither been sent nor assigned.
  bool send(std::uint32_t lane, std::uint32_t i, server_kind target_server, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    exchange::piece& piece = lane_exchange.at(i);
    server<Port>& receiver = servers_.at(target_server);
    if (!receiver.has_joined()) {
      receiver.join(now);
      if (piece.at == server_kind::no_server) {
        return false;
      }
    } else if (!contribute(receiver, lane_exchange.head_of(kind::contribute, i, lane, target_server),
                           lane_exchange.content(i))) {
      return false;
    }
    ++counters_.contributions;
    if (piece.at == server_kind::no_server) {
      ++in_flight_;
    } else {
      ++counters_.repeats;
      piece.was_repeated = true;
    }
    if (piece.at != target_server) {
      piece.query_time = {};
      if (i == lane_exchange.front()) {
        lane_exchange.forget_present();
      }
    }
    piece.at = target_server;
    piece.device_life = servers_.device_life();
    piece.send_time = now;
    piece.was_queried = false;
    lane_exchange.count_sent(i);
    return true;
  }
  [[nodiscard]] bool contribute(server<Port>& receiver, header const& h, std::span<std::byte const> content) {
    if (!has_terms(h)) {
      return receiver.send(h, content);
    }
    std::array<std::byte, block_bytes + update_terms::bytes> payload;
    std::memcpy(payload.data(), content.data(), block_bytes);
    write(weights_.rank_weights.terms_of(content.data()), payload.data() + block_bytes);
    return receiver.send(h, payload);
  }
  template <class F>
  void each_piece_of(server_kind server, F f) {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      exchange& lane_exchange = lanes_[lane];
      for (std::uint32_t i = lane_exchange.front(); lane_exchange.is_ready() && i < lane_exchange.sent_count(); ++i) {
        if (!lane_exchange.at(i).is_complete && lane_exchange.at(i).at == server) {
          f(lane, i);
        }
      }
    }
  }

  bool query(std::uint32_t lane, std::uint32_t i, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    exchange::piece& piece = lane_exchange.at(i);
    server<Port>& receiver = servers_.at(piece.at);
    if (!receiver.has_joined()) {
      receiver.join(now);
      return false;
    }
    piece.send_time = now;
    piece.was_repeated = piece.was_queried = true;
    ++counters_.queries;
    lane_exchange.note_query(i, now);
    return receiver.send(lane_exchange.head_of(kind::query, i, lane, piece.at), {});
  }
  /// Queries pieces that were sent before a query that found a loss: they may be lost, too. Overtaken ones are left
  /// to `repair`.
  void query_earlier(std::uint32_t lane, time_point query_time, server_kind server, time_point now) {
    exchange& lane_exchange = lanes_[lane];
    for (std::uint32_t i = lane_exchange.front(); i < lane_exchange.sent_count(); ++i) {
      exchange::piece const& piece = lane_exchange.at(i);
      if (!piece.is_complete && piece.at == server && piece.send_time >= lane_exchange.overtake_time() &&
          piece.send_time < query_time && !query(lane, i, now)) {
        return;
      }
    }
  }
  /// Time between queries. They become rarer while other workers are waited for; until the server has answered one,
  /// the time is at most a tenth of the silence that gives it up.
  [[nodiscard]] duration query_interval(exchange const& lane_exchange) const noexcept {
    return lane_exchange.is_answer_due(lane_exchange.front()) ? (std::min)(rate_.retry_after(), terms_.silence / 10)
                                                              : rate_.retry_after();
  }

  void supply_result(exchange::saved_result const& saved_piece, time_point now) {
    if (!servers_.stand_in().has_joined()) {
      return servers_.stand_in().join(now);  // the stand-in will ask again
    }
    header h = saved_piece.head;
    h.kind = kind::supply;
    h.flags &= flag::phase | flag::in_rank_order;
    ++counters_.supplied_results;
    servers_.stand_in().send(h, saved_piece.data());
  }

  member_servers<Port>& servers_;
  job_terms const& terms_;
  rank_type me_;
  rate_control& rate_;
  weight_exchange& weights_;
  fpga_nic_counters& counters_;
  std::uint32_t in_flight_ = 0;  ///< pieces sent whose result has not arrived
  std::array<exchange, collective_lanes> lanes_;
  std::array<rank_type, collective_lanes> differing_ranks_{};
};

}  // namespace tutti::detail::fpga_nic
