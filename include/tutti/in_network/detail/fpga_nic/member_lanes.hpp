// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/member_servers.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/udp/pace.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What the lanes of a member have under way: gives their pieces to the device, or to the stand-in, sends again what is
/// lost, and takes results.
///
/// Which server a piece goes to need not be agreed on. A member may turn from the device to the stand-in, and then
/// takes no result of that piece from the device any more; never back. The stand-in needs a contribution of all, or a
/// result that one has. So there is one result of each piece, whichever server has made it.
template <port Port>
class member_lanes {
 public:
  /// @pre the terms outlive this
  member_lanes(member_servers<Port>& to, job_terms const& terms, rank_type me, rate_control& by,
               weight_exchange& weights, fpga_nic_counters& counted)
      : to_(to), terms_(terms), me_(me), rate_(by), weights_(weights), counted_(counted) {
    for (exchange& x : lanes_) {
      x.open(terms, me);
    }
  }

  [[nodiscard]] exchange& on(std::uint32_t lane) noexcept { return lanes_[lane]; }
  void begin(flow s, std::uint32_t fingerprint) noexcept {
    lanes_[s.lane].begin(s, fingerprint);
    differs_[s.lane] = no_rank;
  }
  void end(flow s) noexcept {
    exchange& x = lanes_[s.lane];
    for (std::uint32_t i = x.front(); i < x.sent(); ++i) {  // of an operation that was given up
      under_way_ -= x.at(i).at != given_to::none && !x.at(i).done ? 1U : 0U;
    }
    x.drop();
  }
  /// Forgets all memory of the user.
  void drop() noexcept {
    for (exchange& x : lanes_) {
      x.drop();
    }
    under_way_ = 0;
  }

  // --- what a lane waits for

  /// A rank that said something else about its flow, or no_rank.
  [[nodiscard]] rank_type differs(std::uint32_t lane) const noexcept { return differs_[lane]; }
  /// The rank that serves the oldest piece of a lane, or will: 0 if that is the stand-in. no_rank: a device, or this
  /// rank itself.
  [[nodiscard]] rank_type serving(std::uint32_t lane) const noexcept {
    exchange const& x = lanes_[lane];
    bool const is_waiting = x.ready() && !x.over() && me_ != 0;
    return is_waiting && server_of_front(x) == given_to::stand_in ? 0 : no_rank;
  }
  /// A rank whose contribution the oldest piece lacks, as its server says; or no_rank.
  [[nodiscard]] rank_type contributing(std::uint32_t lane) const noexcept {
    exchange const& x = lanes_[lane];
    return x.ready() && !x.over() ? x.missing() : no_rank;
  }
  /// The rank that a lane waits for. no_rank: a device, which has not said yet what it lacks.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    rank_type const known = contributing(lane);
    return known == no_rank ? serving(lane) : known;
  }
  /// All ranks that its oldest piece lacks, as the server that has it says.
  struct lacking {
    given_to server = given_to::none;
    std::vector<rank_type> ranks{};
  };
  [[nodiscard]] lacking lacks(std::uint32_t lane) const {
    exchange const& x = lanes_[lane];
    lacking all;
    if (!x.over() && x.front() != x.sent()) {
      all.server = x.at(x.front()).at;
      x.each_missing([&](rank_type r) { all.ranks.push_back(r); });
    }
    return all;
  }

  // --- giving

  /// Sends what may be sent on a lane.
  void push(std::uint32_t lane, time_point now) {
    exchange& x = lanes_[lane];
    if (!x.ready()) {
      return;
    }
    // The oldest piece of a lane does not wait for the window: what others fill it with may wait for that very piece.
    for (std::uint32_t i = x.sent(); (under_way_ < rate_.window() || i == x.front()) && x.may_send(i); ++i) {
      if (!give(lane, i, choose(x, i), now)) {
        break;
      }
    }
    to_.flush();
  }
  /// This member has joined the stand-in, which has got nothing of what it was to be given before.
  void give_stand_in(time_point now) {
    each_given_to(given_to::stand_in,
                  [&](std::uint32_t lane, std::uint32_t i) { give(lane, i, given_to::stand_in, now); });
  }
  /// What was given to a device that has been lost, is given to the stand-in, sooner or later: a port may be full.
  void turn_to_stand_in(time_point now) {
    each_given_to(given_to::device, [&](std::uint32_t lane, std::uint32_t i) {
      if (lanes_[lane].at(i).device_life != to_.device_life()) {
        give(lane, i, given_to::stand_in, now);
      }
    });
  }

  // --- sending again

  /// Deals with pieces that others, sent later, have overtaken. Which packet was lost is not known: that of another
  /// worker, more often than not. Among few the contribution is sent again, which takes one way less; among many a
  /// question goes first, which is short.
  void repair(std::uint32_t lane, time_point now) {
    exchange& x = lanes_[lane];
    duration const patience = rate_.repair_delay();
    for (std::uint32_t i = x.front(); x.ready() && i < x.sent(); ++i) {
      exchange::piece& p = x.at(i);
      if (p.done || p.at == given_to::none || p.sent >= x.overtaken() || now - p.sent <= patience) {
        continue;
      }
      if (!(x.part().workers.size() <= few_workers ? give(lane, i, p.at, now) : question(lane, i, now))) {
        return;
      }
    }
  }
  /// The server that has not answered the oldest piece of a lane for too long, or none.
  [[nodiscard]] given_to is_late(std::uint32_t lane, time_point now) noexcept {
    exchange const& x = lanes_[lane];
    if (!x.ready() || x.front() == x.sent()) {
      return given_to::none;
    }
    exchange::piece const& p = x.at(x.front());
    return p.done || p.at == given_to::none || now - p.sent < patience_with(x) ? given_to::none : p.at;
  }
  /// Whether that server, though it was asked, has said nothing on this lane for so long that it is given up. @pre it
  /// is late
  [[nodiscard]] bool is_silent(std::uint32_t lane, time_point now) const noexcept {
    return lanes_[lane].is_silent(lanes_[lane].front(), now, terms_.silence);
  }
  /// Asks about that piece.
  void ask_again(std::uint32_t lane, time_point now) {
    rate_.note_silence();
    question(lane, lanes_[lane].front(), now);
  }

  // --- taking what servers say of a piece

  void hear_from(given_to by, std::uint32_t lane, time_point now) noexcept { lanes_[lane].hear_from(by, now); }

  void take_result(std::uint32_t lane, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
    std::uint32_t const i = x.piece_of(p.head.sequence);
    if (i == exchange::none || x.at(i).done || x.at(i).at != by || p.payload.size() != x.awaited(i)) {
      ++counted_.ignored;
      return;
    }
    if (!x.at(i).repeated) {  // else it is not known which one was answered
      rate_.note_round_trip(now - x.at(i).sent);
      x.overtake(x.at(i).sent);
    }
    rate_.note_result();
    --under_way_;
    ++counted_.results;
    counted_.by_stand_in += by == given_to::stand_in ? 1 : 0;
    if (p.head.operation == network_operation::update && by == given_to::device) {
      update_terms const t = weights_.own.terms_of(x.content(i).data());
      weights_.is_updated(t.key, t.version + 1);
    }
    x.finish(i, p.head, p.payload);
  }
  /// A server lacks contributions, as it says because it was asked, or because others wait.
  void take_missing(std::uint32_t lane, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
    std::uint32_t const i = x.piece_of(p.head.sequence);
    exchange::kept const* const k = x.find_kept(p.head.sequence);
    if (i == exchange::none || x.at(i).done) {
      if (k != nullptr && by == given_to::stand_in && k->head.length != 0) {
        supply(*k, now);
      } else if (by == given_to::stand_in) {
        x.want_at_stand_in(p.head.sequence);
      }
      return;
    }
    worker_set const present = x.present(p, by);
    if (i == x.front() && !p.payload.empty()) {
      x.hear(present);
    }
    bool const takes_part = by == given_to::stand_in || x.at(i).at == by;
    if (takes_part && !present.has(static_cast<unsigned>(x.part().worker))) {
      if (x.at(i).at == by) {
        rate_.note_loss(now);
      }
      if (x.at(i).asked) {
        ask_about_earlier(lane, x.at(i).sent, by, now);
      }
      give(lane, i, by, now);
    }
  }
  /// @pre not that the server does not know this member
  void take_refusal(std::uint32_t lane, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
    std::uint32_t const i = x.piece_of(p.head.sequence);
    refusal const why = read_refusal(p.payload);
    // A join is refused so, too, when another program has this number in the job.
    if (why == refusal::mismatch && p.head.operation != network_operation::none) {
      if (i != exchange::none && p.head.worker < x.part().workers.size()) {
        differs_[lane] = x.named(p.head, by);
      }
      return;
    }
    if (!to_.at(by).joined()) {
      return to_.take_no_join(by);
    }
    if (by == given_to::device && i != exchange::none && !x.at(i).done && x.at(i).at == by) {
      if (why == refusal::no_weights) {
        std::uint32_t const k = weights_.own.terms_of(x.content(i).data()).key;
        weights_.forget(k);
        if (me_ != 0 && weights_.is_refused(k)) {  // rank 0, which has stored what it could, turns
          x.at(i).sent = now;
          return;
        }
      }
      give(lane, i, given_to::stand_in, now);  // what the device knew of this piece is gone
    }
  }

 private:
  static constexpr std::size_t few_workers = 8;

  /// The server of a piece that has not been given to any.
  [[nodiscard]] given_to choose(exchange const& x, std::uint32_t i) const noexcept {
    if (to_.has_no_device() || !x.is_for_devices()) {
      return given_to::stand_in;
    }
    std::uint32_t const q = x.sequence_of(i);
    bool const forced = (q * 0x9e3779b1U >> 24) < terms_.stand_in_share;
    return forced || x.at(i).wanted ? given_to::stand_in : given_to::device;
  }

  /// The server that has the oldest piece which is not done, or that it is to be given to. @pre there is one
  [[nodiscard]] given_to server_of_front(exchange const& x) const noexcept {
    given_to const by = x.front() == x.sent() ? given_to::none : x.at(x.front()).at;
    return by == given_to::none ? choose(x, x.front()) : by;
  }

  /// Gives a piece to a server, for the first time or again. False if the port takes no more.
  bool give(std::uint32_t lane, std::uint32_t i, given_to to, time_point now) {
    exchange& x = lanes_[lane];
    exchange::piece& p = x.at(i);
    server<Port>& s = to_.at(to);
    if (!s.joined()) {
      s.ask_to_join(now);
      if (p.at == given_to::none) {
        return false;
      }
    } else if (!contribute(s, x.head_of(kind::contribute, i, lane, to), x.content(i))) {
      return false;
    }
    ++counted_.sent;
    if (p.at == given_to::none) {
      ++under_way_;
    } else {
      ++counted_.repeated;
      p.repeated = true;
    }
    if (p.at != to) {
      p.questioned = {};
      if (i == x.front()) {
        x.forget_present();
      }
    }
    p.at = to;
    p.device_life = to_.device_life();
    p.sent = now;
    p.asked = false;
    x.count_sent(i);
    return true;
  }
  [[nodiscard]] bool contribute(server<Port>& to, header const& h, std::span<std::byte const> content) {
    if (!has_terms(h)) {
      return to.send(h, content);
    }
    std::array<std::byte, block_bytes + update_terms::bytes> payload;
    std::memcpy(payload.data(), content.data(), block_bytes);
    write(weights_.own.terms_of(content.data()), payload.data() + block_bytes);
    return to.send(h, payload);
  }
  template <class F>
  void each_given_to(given_to by, F f) {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      exchange& x = lanes_[lane];
      for (std::uint32_t i = x.front(); x.ready() && i < x.sent(); ++i) {
        if (!x.at(i).done && x.at(i).at == by) {
          f(lane, i);
        }
      }
    }
  }

  bool question(std::uint32_t lane, std::uint32_t i, time_point now) {
    exchange& x = lanes_[lane];
    exchange::piece& p = x.at(i);
    server<Port>& s = to_.at(p.at);
    if (!s.joined()) {
      s.ask_to_join(now);
      return false;
    }
    p.sent = now;
    p.repeated = p.asked = true;
    ++counted_.queries;
    x.question(i, now);
    return s.send(x.head_of(kind::query, i, lane, p.at), {});
  }
  /// Of what was sent before a question, more may be lost than the piece that it was about. Asks about those that
  /// nothing has overtaken: the others `repair` sends again.
  void ask_about_earlier(std::uint32_t lane, time_point asked, given_to by, time_point now) {
    exchange& x = lanes_[lane];
    for (std::uint32_t i = x.front(); i < x.sent(); ++i) {
      exchange::piece const& p = x.at(i);
      if (!p.done && p.at == by && p.sent >= x.overtaken() && p.sent < asked && !question(lane, i, now)) {
        return;
      }
    }
  }
  /// Where others are waited for, too, questions come ever less often; until one has been answered, they do not.
  [[nodiscard]] duration patience_with(exchange const& x) const noexcept {
    return x.owes(x.front()) ? (std::min)(rate_.retry_after(), terms_.silence / 10) : rate_.retry_after();
  }

  void supply(exchange::kept const& k, time_point now) {
    if (!to_.stand_in().joined()) {
      return to_.stand_in().ask_to_join(now);  // it will ask again
    }
    header h = k.head;
    h.kind = kind::supply;
    h.flags &= flag::phase | flag::in_rank_order;
    ++counted_.supplied;
    to_.stand_in().send(h, k.data());
  }

  member_servers<Port>& to_;
  job_terms const& terms_;
  rank_type me_;
  rate_control& rate_;
  weight_exchange& weights_;
  fpga_nic_counters& counted_;
  std::uint32_t under_way_ = 0;  ///< pieces that have been given, and whose result is not there
  std::array<exchange, collective_lanes> lanes_;
  std::array<rank_type, collective_lanes> differs_{};
};

}  // namespace tutti::detail::fpga_nic
