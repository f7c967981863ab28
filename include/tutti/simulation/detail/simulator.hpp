// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/simulation/detail/losses.hpp>
#include <tutti/simulation/detail/processors.hpp>
#include <tutti/simulation/detail/wires.hpp>
#include <tutti/simulation/detail/world.hpp>
#include <tutti/simulation/extend/simulated_report.hpp>
#include <tutti/simulation/extend/simulation_options.hpp>

#include <deque>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// A cluster in virtual time: processors, messages between them, and future events. The simulator knows no programs.
/// Its driver asks for the `next` rank that can act, runs that rank until it waits, and calls `rest` for it.
///
///     send:  processor (overhead o) -> inject: NIC out (gap g or bytes x G) -> [lost: again after `resend`]
///            -> cross: link of a switch, once a hop -> enter: NIC in -> arrive: `view` shows it
///     aggregator: inject -> cross ... -> reach_aggregator; the last contribution sends the results
///
/// A rank's own clock runs ahead of the simulation's while its processor is busy: a message it then sends leaves at
/// that time, and it sees no arrival before that time.
///
/// One thread. Deterministic. Memory: some 150 bytes for each message under way, 400 for each rank.
class simulator {
 public:
  /// With `carries`, messages have contents; otherwise they only have a length.
  /// @pre every rank's host, and every host's switch, exists
  simulator(simulated_network net, rank_type ranks, simulation_options options, bool carries)
      : net_(std::move(net)),
        options_(complete(std::move(options), net_, ranks)),
        wires_(net_, options_.place),
        carries_(carries),
        processors_(events_, ranks),
        diameter_(wires_.diameter()),
        losses_(options_.faults.loss, options_.faults.seed) {
    schedule_faults();
  }
  simulator(simulator const&) = delete;
  simulator& operator=(simulator const&) = delete;

  [[nodiscard]] rank_type ranks() const noexcept { return processors_.size(); }
  [[nodiscard]] simulation_options const& options() const noexcept { return options_; }
  [[nodiscard]] bool carries() const noexcept { return carries_; }

  // --- worlds

  /// Adds a group of ranks and returns its number.
  std::uint32_t add_world(std::vector<rank_type> members) {
    worlds_.emplace_back(std::move(members));
    return static_cast<std::uint32_t>(worlds_.size() - 1);
  }
  [[nodiscard]] simulated_world& world(std::uint32_t number) noexcept { return worlds_[number]; }

  // --- calls of the driver

  /// Advances time until a resting rank may act, and returns that rank. Returns no_rank if nothing will ever happen.
  [[nodiscard]] rank_type next() {
    while (!events_.empty()) {
      simulated_event const e = events_.pop();
      if (rank_type const r = process(e.event_kind(), e.subject); r != no_rank) {
        return r;
      }
    }
    return no_rank;
  }

  /// Sets the function that suspends a rank in the middle of its program: `yield` returns after `next` has returned
  /// that rank.
  void set_yield(void* driver, void (*yield)(void* driver, rank_type r)) noexcept {
    driver_ = driver;
    yield_ = yield;
  }
  [[nodiscard]] bool can_wait() const noexcept { return yield_ != nullptr; }
  void wait(rank_type r, picoseconds deadline) {
    processors_.rest(r, deadline);
    yield_(driver_, r);
  }

  [[nodiscard]] simulated_processors& processors() noexcept { return processors_; }
  [[nodiscard]] simulated_processors const& processors() const noexcept { return processors_; }

  [[nodiscard]] simulated_network const& network() const noexcept { return net_; }

  /// Occupies a rank's processor with combining this many bytes.
  void combine(rank_type r, std::size_t bytes) noexcept {
    processors_.spend(r, net_.combine * static_cast<std::int64_t>(bytes));
  }

  // --- messages

  /// Sends a message between members of a world. False if `window` messages are under way on its edge.
  bool send(simulated_world& w, rank_type sender, rank_type receiver, flow s, std::span<std::byte const> bytes) {
    simulated_edges::edge& e = w.edges.at(sender, receiver, s.lane);
    if (e.length == options_.window) {
      e.refused = true;
      return false;
    }
    std::uint32_t const id = messages_.make();
    message& m = messages_[id];
    m.sender = w.members()[sender];
    m.receiver = w.members()[receiver];
    m.bytes = bytes.size();
    m.opening = w.current_opening(sender, s);
    if (carries_) {
      m.store(bytes);
    }
    enqueue(e, id);
    submit(id);
    return true;
  }

  struct arrival {
    simulated_opening opening;
    std::byte const* data;
    std::size_t bytes;
  };
  /// The first message of an edge, if it has arrived. Contents are null in a simulation without contents.
  [[nodiscard]] bool peek(simulated_edges::edge const& e, arrival& result) const noexcept {
    message const& m = messages_[e.first];
    result = {m.opening, m.contents.get(), m.bytes};
    return m.stage == progress::arrived;
  }
  /// True if the first message of an edge will never arrive: its sender died before it left.
  [[nodiscard]] bool will_never_arrive(simulated_edges::edge const& e) const noexcept {
    return messages_[e.first].stage == progress::never_sent;
  }
  /// Removes the first message of an edge. @pre it has arrived
  void release(simulated_world& w, rank_type sender, rank_type receiver, flow s) {
    simulated_edges::edge& e = *w.edges.find(sender, receiver, s.lane);
    std::uint32_t const id = e.first;
    e.first = messages_[id].next;
    if (std::exchange(e.refused, false)) {
      processors_.wake(w.members()[sender]);
    }
    if (--e.length == 0) {
      w.edges.erase(e);
    }
    processors_.spend(messages_[id].receiver,
                      wires_.interface_of(messages_[id].receiver, messages_[id].sender).overhead);
    messages_.drop(id);
  }

  // --- in-network aggregators

  /// Registers member r with a flow of an aggregator. False if an earlier member opened that flow with another call,
  /// which `peer_opening` then is.
  bool join_helped_flow(simulated_world& w, rank_type r, flow s, aggregation_part const& part,
                        simulated_opening& peer_opening) {
    helped_flow_key const key{part.aggregator, s.lane, s.number};
    aggregated_flow& f = w.helped_flows.try_emplace(key, w, key, part, w.current_opening(r, s)).first->second;
    peer_opening = f.opening;
    if (peer_opening != w.current_opening(r, s)) {
      return false;
    }
    ++f.arrived_count;
    if (part.workers[part.worker].receives) {
      f.waiters.push_back({r, processors_.time_of(w.members()[r])});
    }
    if (f.outstanding_count == 0) {
      send_results(f);
    }
    return true;
  }
  /// Sends the contribution of a member. @pre the member has joined the flow, and has not contributed yet
  void contribute(simulated_world& w, rank_type sender, flow s, aggregation_part const& part,
                  std::span<std::byte const> bytes) {
    aggregated_flow& f = w.helped_flows.find({part.aggregator, s.lane, s.number})->second;
    f.contribute(part, carries_ ? bytes : std::span<std::byte const>{});
    std::uint32_t const id = messages_.make();
    message& m = messages_[id];
    m.sender = w.members()[sender];
    m.receiver = no_rank;
    m.bytes = bytes.size();
    m.contributes_to = &f;
    m.worker = part.worker;
    submit(id);
  }

  // --- faults

  /// Sets the fault of a world, if it is the first. The other members learn of it after the longest path of the
  /// network.
  void revoke(simulated_world& w, rank_type reporter, fault const& reason) {
    if (!w.first_fault) {
      w.first_fault = reason;
      w.fault_time = processors_.time_of(w.members()[reporter]) + diameter_;
      for (rank_type const r : w.members()) {
        events_.push(w.fault_time, kind::wake, r);
      }
    }
  }

  [[nodiscard]] simulated_report report() const {
    simulated_report r;
    r.messages = messages_sent_;
    r.bytes = bytes_sent_;
    r.losses = messages_lost_;
    r.events = events_.count();
    wires_.write_usage(r);
    return r;
  }

 private:
  using kind = simulated_event::kind;
  using message = simulated_message;
  using progress = simulated_message::progress;

  void schedule_faults() {
    simulated_faults const& f = options_.faults;
    for (auto const& s : f.slow) {
      processors_.slow_down(s.rank, s.times);
    }
    for (auto const& l : f.lags) {
      wires_.lag(l.host, l.extra);
    }
    for (std::size_t i = 0; i < f.pauses.size(); ++i) {
      events_.push(f.pauses[i].at, kind::pause, static_cast<std::uint32_t>(i));
    }
    for (auto const& d : f.deaths) {
      events_.push(d.at, kind::death, d.rank);
    }
  }

  /// Processes one event. Returns a rank that can act, or no_rank.
  rank_type process(kind event, std::uint32_t subject) {
    switch (event) {
      case kind::inject:
        inject(subject);
        return no_rank;
      case kind::cross:
        cross(subject);
        return no_rank;
      case kind::enter:
        enter(subject);
        return no_rank;
      case kind::arrive:
        messages_[subject].stage = progress::arrived;
        return processors_.run_if_idle(messages_[subject].receiver);
      case kind::wake:
        return processors_.run_if_idle(subject);
      case kind::timer:
        return processors_.expire_timer(subject);
      case kind::pause:
        processors_.pause(options_.faults.pauses[subject].rank, options_.faults.pauses[subject].lasting);
        return no_rank;
      case kind::death:
        return processors_.kill(subject, options_.faults.detection);
    }
    return no_rank;
  }

  // --- path of a message

  void enqueue(simulated_edges::edge& e, std::uint32_t id) {
    (e.length++ == 0 ? e.first : messages_[e.last].next) = id;
    e.last = id;
  }
  /// Spends the sender's overhead, after which the message leaves its processor.
  void submit(std::uint32_t id) {
    message const& m = messages_[id];
    processors_.spend(m.sender, wires_.interface_of(m.sender, m.receiver).overhead);
    if (processors_.is_busy(m.sender)) {
      events_.push(processors_.time_of(m.sender), kind::inject, id);
    } else {
      inject(id);
    }
  }

  [[nodiscard]] static picoseconds transfer(picoseconds per_byte, message const& m) noexcept {
    return per_byte * static_cast<std::int64_t>(m.bytes);
  }
  /// Time for which a message occupies an interface.
  [[nodiscard]] static picoseconds occupation(loggp const& nic, message const& m) noexcept {
    picoseconds const bytes = transfer(nic.per_byte, m);
    return bytes < nic.gap ? nic.gap : bytes;
  }

  /// Moves a message from its processor to the sender's interface.
  void inject(std::uint32_t id) {
    message& m = messages_[id];
    if (processors_.is_dead(m.sender)) {
      m.stage = progress::never_sent;
      if (m.contributes_to != nullptr) {
        messages_.drop(id);
      }
      return;
    }
    if (m.contributes_to != nullptr) {
      m.contributes_to->sent_contributions.set(m.worker);
    }
    loggp const& nic = wires_.interface_of(m.sender, m.receiver);
    picoseconds const head = wires_.way_out(m.sender, m.receiver).take(events_.now(), occupation(nic, m), m.bytes);
    m.tail = head + transfer(nic.per_byte, m);
    if (m.attempts++ == 0) {
      ++messages_sent_;
      bytes_sent_ += m.bytes;
    }
    if (wires_.same_host(m.sender, m.receiver)) {
      events_.push(head + wires_.latency(m.sender, m.receiver), kind::enter, id);
    } else if (losses_.draw()) {
      ++messages_lost_;
      if (m.attempts < options_.faults.attempts) {
        events_.push(m.tail + options_.faults.resend, kind::inject, id);
      }
    } else {
      m.at_switch = wires_.switch_of(m.sender);
      forward(id, head);
    }
  }

  /// Continues a message whose head leaves a wire at time `head`.
  void forward(std::uint32_t id, picoseconds head) {
    message const& m = messages_[id];
    if (m.at_switch == wires_.switch_of(m.receiver)) {
      events_.push(head + wires_.latency(m.sender, m.receiver), kind::enter, id);
    } else {
      events_.push(head, kind::cross, id);
    }
  }

  /// Moves the head of a message over the next link between switches.
  void cross(std::uint32_t id) {
    message& m = messages_[id];
    auto const hop = wires_.next(m.at_switch, m.receiver);
    picoseconds const busy = transfer(hop.link->per_byte, m);
    picoseconds const head = hop.wire->take(events_.now(), busy, m.bytes);
    m.tail = (m.tail < head + busy ? head + busy : m.tail) + hop.link->latency;
    m.at_switch = hop.leads_to;
    forward(id, head + hop.link->latency);
  }

  /// Moves the head of a message through the receiver's interface.
  void enter(std::uint32_t id) {
    message& m = messages_[id];
    if (m.contributes_to != nullptr) {
      reach_aggregator(*m.contributes_to, id);
      return;
    }
    loggp const& nic = wires_.interface_of(m.receiver, m.sender);
    picoseconds const head = wires_.way_in(m.sender, m.receiver).take(events_.now(), occupation(nic, m), m.bytes);
    picoseconds const whole = head + transfer(nic.per_byte, m);
    picoseconds const tail = m.tail + wires_.latency(m.sender, m.receiver);
    events_.push(whole < tail ? tail : whole, kind::arrive, id);
  }

  /// Handles the head of a contribution at an aggregator. The first packet of the result leaves as soon as the first
  /// packet of every contribution is there (cut-through).
  void reach_aggregator(aggregated_flow& f, std::uint32_t id) {
    message const& m = messages_[id];
    std::size_t const packet = m.bytes < aggregator_packet_bytes ? m.bytes : aggregator_packet_bytes;
    picoseconds const head =
        events_.now() + wires_.interface_of(m.sender, no_rank).per_byte * static_cast<std::int64_t>(packet);
    picoseconds const tail = m.tail + wires_.latency(m.sender, m.receiver);
    f.head = f.head < head ? head : f.head;
    f.tail = f.tail < tail ? tail : f.tail;
    messages_.drop(id);
    if (--f.outstanding_count == 0) {
      send_results(f);
    }
  }
  /// Sends the result of an aggregator to the workers that wait for it.
  void send_results(aggregated_flow& f) {
    simulated_world& w = *f.world;
    for (auto const& [rank, arrival_time] : f.waiters) {
      std::uint32_t const id = messages_.make();
      message& m = messages_[id];
      m.sender = no_rank;
      m.receiver = w.members()[rank];
      m.bytes = f.bytes;
      m.opening = f.opening;
      m.at_switch = wires_.switch_of(no_rank);
      m.tail = f.tail;
      if (carries_) {
        m.store(*f.result);
      }
      enqueue(w.edges.at(f.key.helper, rank, f.key.lane), id);
      forward(id, arrival_time < f.head ? f.head : arrival_time);
    }
    f.waiters.clear();
    if (f.is_complete()) {
      w.helped_flows.erase(f.key);
    }
  }

  simulated_network net_;
  simulation_options options_;
  simulated_wires wires_;
  bool carries_;
  simulated_events events_;
  simulated_processors processors_;
  picoseconds diameter_;
  simulated_messages messages_;
  std::deque<simulated_world> worlds_;
  simulated_losses losses_;
  std::uint64_t messages_sent_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_lost_ = 0;
  void* driver_ = nullptr;
  void (*yield_)(void*, rank_type) = nullptr;
};

}  // namespace tutti::detail::simulation
