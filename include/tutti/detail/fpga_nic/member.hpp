// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/exchange.hpp>
#include <tutti/detail/fpga_nic/job_terms.hpp>
#include <tutti/detail/fpga_nic/pace.hpp>
#include <tutti/detail/fpga_nic/port.hpp>
#include <tutti/detail/fpga_nic/seal.hpp>
#include <tutti/detail/fpga_nic/server.hpp>
#include <tutti/detail/fpga_nic/stand_in.hpp>
#include <tutti/detail/fpga_nic/weight_exchange.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::detail::fpga_nic {

/// What a member has seen of its servers.
struct member_counters {
  std::uint64_t sent = 0;      ///< contributions
  std::uint64_t repeated = 0;  ///< of these, those that were sent before
  std::uint64_t results = 0;
  std::uint64_t by_stand_in = 0;  ///< of these, those that did not come from the device
  std::uint64_t supplied = 0;     ///< results that other members had lost
  std::uint64_t queries = 0;
  std::uint64_t ignored = 0;   ///< packets that belong to nothing that is under way
  std::uint64_t silences = 0;  ///< of the device: how often it was given up
};

/// One rank of a job: gives what its lanes have to give to the device, or to the stand-in at rank 0, sends again what
/// is lost, and puts results where they are wanted.
///
/// Which server a packet's worth goes to need not be agreed on. A member may turn from the device to the stand-in, and
/// then takes no result of that piece from the device any more; never back. The stand-in needs a contribution of all,
/// or a result that one has. So there is one result of each piece, whichever server has made it.
template <port Port>
class member {
 public:
  using address = typename Port::address;

  /// @param all the addresses of the members, in rank order
  member(Port& at, seal const& s, job_terms const& terms, rank_type me, std::vector<address> all,
         std::optional<address> device)
      : port_(at),
        seal_(s),
        terms_(terms),
        me_(me),
        members_(all.size()),
        device_(at, terms, terms_.has_racks() ? terms_.racks.local(me) : me,
                terms_.has_racks() ? terms_.racks.members(terms_.racks.host(me)).size() : all.size(), device,
                place_of(me)),
        stand_in_(at, terms, me, all.size(), all[0]) {
    for (exchange& x : lanes_) {
      x.open(terms_, me);
    }
    pace_.limit(2 * terms.slots);
    if (me == 0) {
      std::vector<std::uint8_t> racks;
      for (rank_type r = 0; terms_.has_racks() && r != all.size(); ++r) {
        racks.push_back(static_cast<std::uint8_t>(terms_.racks.host(r)));
      }
      serving_.emplace(static_cast<std::uint16_t>(terms.slots * collective_lanes), std::move(all), std::move(racks), s);
    }
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  /// Leaves the servers: nothing is sent to them any more. Rank 0 is told, whether it has served or not.
  void leave(time_point now) {
    drop();
    if (serving_) {
      serving_->stay(now);
    }
    if (device_.joined()) {
      device_.leave();
    }
    stand_in_.leave();
    port_.flush();
  }

  [[nodiscard]] exchange& on(std::uint32_t lane) noexcept { return lanes_[lane]; }
  [[nodiscard]] member_counters const& counted() const noexcept { return counted_; }
  /// Whether the device answers; without one, false.
  [[nodiscard]] bool device_answers() const noexcept { return device_.joined(); }
  /// A rank that said something else about a flow of this lane, or no_rank.
  [[nodiscard]] rank_type differs(std::uint32_t lane) const noexcept { return differs_[lane]; }
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

  /// Whether a lane waits for results.
  [[nodiscard]] bool waits(std::uint32_t lane) const noexcept { return lanes_[lane].ready() && !lanes_[lane].over(); }
  /// The rank that a lane waits for, as far as it is known.
  [[nodiscard]] rank_type missing(std::uint32_t lane) const noexcept {
    exchange const& x = lanes_[lane];
    if (x.over()) {
      return no_rank;
    }
    rank_type const known = x.missing();
    bool const by_stand_in = x.front() != x.sent() && x.at(x.front()).at == given_to::stand_in;
    return known == no_rank && by_stand_in && me_ != 0 ? 0 : known;
  }

  /// All ranks that the oldest piece of a lane lacks, as the server that has it says.
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

  /// Sends what may be sent on a lane.
  void push(std::uint32_t lane, time_point now) {
    exchange& x = lanes_[lane];
    if (!x.ready()) {
      return;
    }
    // The oldest piece of a lane does not wait for the window: what others fill it with may wait for that very piece.
    for (std::uint32_t i = x.sent(); (under_way_ < pace_.window() || i == x.front()) && x.may_send(i); ++i) {
      if (!give(lane, i, choose(x, i), now)) {
        break;
      }
    }
    port_.flush();
  }

  // --- weights, in the user's memory

  [[nodiscard]] own_weights& weights() noexcept { return weights_.own; }
  /// These are the weights of all ranks from now on. Rank 0 is to store those that the device lacks.
  void hold(std::span<std::byte const> all) {
    weights_.own.hold(all);
    if (me_ == 0) {
      weights_.begin_stores();
      stored_to_ = device_life_;
    }
  }
  /// Goes on with that. False: nothing is left to store, or there is no device that takes it.
  [[nodiscard]] bool stores(time_point now) {
    advance(now);
    if (me_ != 0 || !device_.exists() || gave_up_) {
      return false;
    }
    if (!device_.joined()) {
      device_.ask_to_join(now);
    } else {
      if (stored_to_ != device_life_) {
        weights_.begin_stores();
        stored_to_ = device_life_;
      }
      weights_.requests.push(now, pace_.timeout(), [&](std::uint32_t k, std::uint32_t) {
        device_.question(now);
        return device_.send(about(kind::supply, k), weights_.own.block(k));
      });
      give_up_if_silent(now);
    }
    port_.flush();
    return !weights_.requests.over();
  }
  /// The weights of all ranks from now on are those that rank 0 holds: they are to come to `all`.
  void begin_pulls(std::span<std::byte> all) { weights_.begin_pulls(all); }
  /// Goes on with that. False: all are there. @pre rank 0 holds them
  [[nodiscard]] bool pulls(time_point now) {
    advance(now);
    weights_.requests.push(now, pace_.timeout(), [&](std::uint32_t k, std::uint32_t tries) {
      bool const by_device = device_.joined() && !gave_up_ && tries % 2 == 0;
      server<Port>& from = by_device ? device_ : stand_in_;
      if (!from.joined()) {
        from.ask_to_join(now);
        return true;
      }
      from.question(now);
      return from.send(about(kind::query, k), {});
    });
    give_up_if_silent(now);
    port_.flush();
    return !weights_.requests.over();
  }
  void end_requests() noexcept { weights_.end(); }

  /// Asks the device to let this member join, so that it has answered when it is needed.
  void join(time_point now) {
    if (device_.exists()) {
      device_.ask_to_join(now);
      port_.flush();
    }
  }

  /// Takes what has come, and goes on with it; looks, if it is time to.
  void advance(time_point now) {
    take_all(now);
    if (now - looked_ >= between_looks) {
      look(now);
    }
    port_.flush();
  }

  /// Sends again what has not been answered.
  void look(time_point now) {
    looked_ = now;
    take_all(now);
    if (serving_) {
      serving_->look(now, emitter());
    }
    device_.go_on_asking(now);
    stand_in_.go_on_asking(now);
    gave_up_ = gave_up_ || device_.answers_no_join(now, terms_.silence);
    turn_to_stand_in(now);
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      ask_again(lane, now);
      push(lane, now);
    }
    port_.flush();
  }

  /// Whether members may still need the stand-in: not all have left, and it is not long since the last was heard.
  [[nodiscard]] bool is_needed(time_point now) const noexcept { return serving_ && serving_->is_needed(now); }

  /// Forgets all memory of the user.
  void drop() noexcept {
    for (exchange& x : lanes_) {
      x.drop();
    }
    under_way_ = 0;
  }

 private:
  static constexpr duration between_looks = std::chrono::milliseconds(2);

  [[nodiscard]] rack_place place_of(rank_type me) const noexcept {
    return terms_.has_racks() ? rack_place{static_cast<std::uint8_t>(terms_.racks.host(me)),
                                           static_cast<std::uint8_t>(terms_.racks.hosts())}
                              : rack_place{};
  }

  void take_all(time_point now) {
    std::size_t came = 0;
    while ((came = port_.drain([&](address const& from, std::span<std::byte const> bytes, bool congested) {
             take(from, bytes, congested, now);
           })) != 0) {
      for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
        repair(lane, now);
        push(lane, now);
      }
    }
  }

  [[nodiscard]] auto emitter() noexcept {
    return
        [this](address const& to, header const& h, std::span<std::byte const> payload) { port_.send(to, h, payload); };
  }
  [[nodiscard]] server<Port>& side(given_to at) noexcept { return at == given_to::device ? device_ : stand_in_; }

  /// The server of a piece that has not been given to any.
  [[nodiscard]] given_to choose(exchange const& x, std::uint32_t i) noexcept {
    if (!device_.exists() || !x.is_for_devices()) {
      return given_to::stand_in;
    }
    std::uint32_t const q = x.sequence_of(i);
    bool const forced = (q * 0x9e3779b1U >> 24) < terms_.stand_in_share;
    return gave_up_ || forced || x.at(i).wanted ? given_to::stand_in : given_to::device;
  }

  /// Gives a piece to a server, for the first time or again. False if the port takes no more.
  bool give(std::uint32_t lane, std::uint32_t i, given_to to, time_point now) {
    exchange& x = lanes_[lane];
    exchange::piece& p = x.at(i);
    server<Port>& s = side(to);
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
    p.at = to;
    p.device_life = device_life_;
    p.sent = now;
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
  [[nodiscard]] header about(kind what, std::uint32_t k) const noexcept {
    return {.kind = what,
            .sequence = k,
            .fingerprint = weights_.own.version(),
            .worker = static_cast<std::uint8_t>(me_),
            .workers = static_cast<std::uint8_t>(members_),
            .flags = flag::keyed};
  }
  void give_up_if_silent(time_point now) {
    if (device_.joined() && device_.is_silent(now, terms_.silence)) {
      give_up_device(now);
    }
  }
  /// The stand-in has the weights that this rank has, of what it is asked for.
  void lend_weights(packet const& p) {
    bool const is_asked = p.head.has(flag::keyed) && p.head.kind == kind::query;
    if (!is_asked && !has_terms(p.head)) {
      return;
    }
    std::uint32_t const k = is_asked ? p.head.sequence : read_update_terms(p.payload).key;
    if (k < weights_.own.blocks()) {
      serving_->have(terms_.nonce, k, weights_.own.version(), weights_.own.block(k));
    }
  }

  void take(address const& from, std::span<std::byte const> bytes, bool congested, time_point now) {
    packet p;
    if (seal_.read(bytes, p) != reading::good || p.head.job != terms_.nonce) {
      ++counted_.ignored;
      return;
    }
    switch (p.head.kind) {
      case kind::join:
      case kind::contribute:
      case kind::query:
      case kind::supply:
      case kind::leave:
      case kind::end:
        if (serving_) {
          lend_weights(p);
          serving_->take(from, bytes, congested, now, emitter());
        }
        return;
      case kind::share:
      case kind::progress:
      case kind::ask:
        ++counted_.ignored;
        return;
      default:
        break;
    }
    given_to const by = device_.is(from) ? given_to::device : stand_in_.is(from) ? given_to::stand_in : given_to::none;
    if (by == given_to::none) {
      ++counted_.ignored;
      return;
    }
    side(by).hear(now);
    if (p.head.has(flag::congested) || congested) {
      pace_.congested(now);
    }
    if (p.head.kind == kind::joined) {
      return take_joined(by, p, now);
    }
    if (p.head.has(flag::keyed)) {
      return take_weights(by, p, now);
    }
    std::uint32_t const lane = p.head.slot / terms_.slots;
    if (lane >= collective_lanes) {
      ++counted_.ignored;
      return;
    }
    std::uint32_t const i = lanes_[lane].piece_of(p.head.sequence);
    switch (p.head.kind) {
      case kind::result:
        return take_result(lane, i, by, p, now);
      case kind::missing:
        return take_missing(lane, i, by, p, now);
      default:
        return take_refusal(lane, i, by, p, now);
    }
  }

  void take_joined(given_to by, packet const& p, time_point now) {
    bool const is_new = side(by).grant(read_terms(p.payload));
    if (by == given_to::device) {
      gave_up_ = !device_.joined();
    } else if (is_new) {
      each_given_to(by, [&](std::uint32_t lane, std::uint32_t i) { give(lane, i, by, now); });
    }
  }

  void take_result(std::uint32_t lane, std::uint32_t i, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
    if (i == exchange::none || x.at(i).done || x.at(i).at != by || p.payload.size() != x.awaited(i)) {
      ++counted_.ignored;
      return;
    }
    if (!x.at(i).repeated) {  // else it is not known which one was answered
      pace_.answered(now - x.at(i).sent);
      x.overtake(x.at(i).sent);
    }
    pace_.result();
    --under_way_;
    ++counted_.results;
    counted_.by_stand_in += by == given_to::stand_in ? 1 : 0;
    if (p.head.operation == network_operation::update && by == given_to::device) {
      update_terms const t = weights_.own.terms_of(x.content(i).data());
      weights_.is_updated(t.key, t.version + 1);
    }
    x.finish(i, p.head, p.payload);
  }
  /// What a server says about a block of weights.
  void take_weights(given_to by, packet const& p, time_point now) {
    std::uint32_t const k = p.head.sequence;
    if (p.head.kind == kind::result) {
      bool const is_of_a_store_before = static_cast<std::int32_t>(p.head.fingerprint - weights_.own.version()) < 0;
      if (!p.payload.empty()) {
        weights_.take(k, p.head.fingerprint, p.payload);
      } else if (by == given_to::device && !is_of_a_store_before) {
        weights_.know(k, p.head.fingerprint);
        weights_.requests.finish(k);
      }
    } else if (p.head.kind == kind::refuse) {
      if (read_refusal(p.payload) == refusal::unknown) {
        take_unknown(by, now);
      } else if (by == given_to::device && me_ == 0) {  // of a block that it was to store
        weights_.know_no_room(k);
        weights_.requests.finish(k);
      } else if (by == given_to::device) {
        weights_.requests.again(k);
      }
    }
  }
  /// A server does not know this member.
  void take_unknown(given_to by, time_point now) {
    if (by == given_to::device && device_.joined()) {
      return lose_device(now);
    }
    side(by).forget();
    side(by).ask_to_join(now);
  }

  /// A server lacks contributions, as it says because it was asked, or because others wait.
  void take_missing(std::uint32_t lane, std::uint32_t i, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
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
        pace_.lost(now);
      }
      give(lane, i, by, now);
    }
  }
  void supply(exchange::kept const& k, time_point now) {
    if (!stand_in_.joined()) {
      return stand_in_.ask_to_join(now);  // it will ask again
    }
    header h = k.head;
    h.kind = kind::supply;
    h.flags &= flag::phase | flag::in_rank_order;
    ++counted_.supplied;
    stand_in_.send(h, k.data());
  }

  void take_refusal(std::uint32_t lane, std::uint32_t i, given_to by, packet const& p, time_point now) {
    exchange& x = lanes_[lane];
    switch (read_refusal(p.payload)) {
      case refusal::unknown:
        return take_unknown(by, now);
      case refusal::mismatch:
        if (p.head.operation == network_operation::none) {
          break;  // of a join: another program has this number in the job
        }
        if (i != exchange::none && p.head.worker < x.part().workers.size()) {
          differs_[lane] = x.named(p.head, by);
        }
        return;
      case refusal::late:
      case refusal::no_slots:
      case refusal::unsupported:
      case refusal::no_weights:
        break;
    }
    if (!side(by).joined()) {  // of a join
      gave_up_ = gave_up_ || by == given_to::device;
      return;
    }
    if (by == given_to::device && i != exchange::none && !x.at(i).done && x.at(i).at == by) {
      if (read_refusal(p.payload) == refusal::no_weights) {
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
  /// What was given to a device that has been lost, is given to the stand-in, sooner or later: a port may be full.
  void turn_to_stand_in(time_point now) {
    each_given_to(given_to::device, [&](std::uint32_t lane, std::uint32_t i) {
      if (lanes_[lane].at(i).device_life != device_life_) {
        give(lane, i, given_to::stand_in, now);
      }
    });
  }
  void lose_device(time_point now) {
    device_.forget();
    ++device_life_;
    weights_.forget_all();
    device_.ask_to_join(now);
    turn_to_stand_in(now);
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

  /// Deals with pieces that others, sent later, have overtaken. Which packet was lost is not known: that of another
  /// worker, more often than not. Among few the contribution is sent again, which takes one way less; among many a
  /// question goes first, which is short.
  void repair(std::uint32_t lane, time_point now) {
    exchange& x = lanes_[lane];
    duration const patience = pace_.patience();
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
  static constexpr std::size_t few_workers = 8;

  bool question(std::uint32_t lane, std::uint32_t i, time_point now) {
    exchange& x = lanes_[lane];
    exchange::piece& p = x.at(i);
    server<Port>& s = side(p.at);
    if (!s.joined()) {
      s.ask_to_join(now);
      return false;
    }
    p.sent = now;
    p.repeated = true;
    ++counted_.queries;
    s.question(now);
    return s.send(x.head_of(kind::query, i, lane, p.at), {});
  }

  /// Asks about the oldest piece that is not answered, and gives up a device that is silent.
  void ask_again(std::uint32_t lane, time_point now) {
    exchange& x = lanes_[lane];
    if (!x.ready() || x.front() == x.sent()) {
      return;
    }
    std::uint32_t const i = x.front();
    exchange::piece& p = x.at(i);
    if (p.done || p.at == given_to::none || now - p.sent < patience_with(p.at)) {
      return;
    }
    if (p.at == given_to::device && device_.is_silent(now, terms_.silence)) {
      return give_up_device(now);
    }
    pace_.silence();
    question(lane, i, now);
  }
  /// Where others are waited for, too, questions come ever less often; until one has been answered, they do not.
  [[nodiscard]] duration patience_with(given_to at) noexcept {
    return side(at).owes() ? std::min(pace_.timeout(), terms_.silence / 10) : pace_.timeout();
  }
  void give_up_device(time_point now) {
    ++counted_.silences;
    gave_up_ = true;
    lose_device(now);
  }

  Port& port_;
  seal seal_;
  job_terms terms_;
  rank_type me_;
  std::size_t members_;
  server<Port> device_;
  server<Port> stand_in_;
  time_point looked_{};
  bool gave_up_ = false;  ///< the device, until it answers again
  pace pace_;
  std::uint8_t device_life_ = 0;  ///< counts devices that were lost: a new one knows nothing of what they had
  std::uint32_t under_way_ = 0;   ///< pieces that have been given, and whose result is not there
  std::array<exchange, collective_lanes> lanes_;
  std::array<rank_type, collective_lanes> differs_{};
  std::optional<stand_in<address>> serving_;
  weight_exchange weights_;
  std::uint8_t stored_to_ = 0;  ///< the life of the device that is to have the weights
  member_counters counted_;
};

}  // namespace tutti::detail::fpga_nic
