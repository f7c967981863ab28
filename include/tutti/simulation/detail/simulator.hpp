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

/// A cluster in virtual time: processors, the messages between them, and the events to come. It knows
/// nothing of programs: its driver asks for the `next` rank that has something to do, lets that
/// rank go as far as it can, and says that it `rest`s.
///
/// A rank's own time runs ahead of the simulation's while its processor is busy; what it sends then
/// is sent at that time, and what arrives is not seen before.
///
/// One thread. Deterministic. Memory: some 150 bytes for each message under way, 400 for each rank.
class simulator {
 public:
  /// `carries`: messages have contents; otherwise they only have a length.
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

  /// A new group of ranks; returns its number.
  std::uint32_t add_world(std::vector<rank_type> members) {
    worlds_.emplace_back(std::move(members));
    return static_cast<std::uint32_t>(worlds_.size() - 1);
  }
  [[nodiscard]] simulated_world& world(std::uint32_t number) noexcept { return worlds_[number]; }

  // --- what drives it

  /// Lets time pass until a rank that rests may have something to do. no_rank: nothing will ever happen.
  [[nodiscard]] rank_type next() {
    while (!events_.empty()) {
      simulated_event const e = events_.pop();
      if (rank_type const r = happen(e.what_happens(), e.what); r != no_rank) {
        return r;
      }
    }
    return no_rank;
  }

  /// What runs ranks that wait in the middle of their programs: `yield` returns when `next` has returned
  /// the rank.
  void yields_to(void* driver, void (*yield)(void* driver, rank_type r)) noexcept {
    driver_ = driver;
    yield_ = yield;
  }
  [[nodiscard]] bool can_wait() const noexcept { return yield_ != nullptr; }
  void wait(rank_type r, picoseconds until) {
    processors_.rest(r, until);
    yield_(driver_, r);
  }

  [[nodiscard]] simulated_processors& processors() noexcept { return processors_; }
  [[nodiscard]] simulated_processors const& processors() const noexcept { return processors_; }

  [[nodiscard]] simulated_network const& network() const noexcept { return net_; }

  /// Keeps a rank's processor busy with combining this many bytes.
  void combine(rank_type r, std::size_t bytes) noexcept {
    processors_.spend(r, net_.combine * static_cast<std::int64_t>(bytes));
  }

  // --- messages

  /// A message from member `from` of a world to member `to`; false if too many are under way there.
  bool send(simulated_world& w, rank_type from, rank_type to, flow s, std::span<std::byte const> bytes) {
    simulated_edges::edge& e = w.edges.at(from, to, s.lane);
    if (e.length == options_.window) {
      e.refused = true;
      return false;
    }
    std::uint32_t const id = messages_.make();
    message& m = messages_[id];
    m.from = w.members()[from];
    m.to = w.members()[to];
    m.bytes = bytes.size();
    m.says = w.current(from, s);
    if (carries_) {
      m.keep(bytes);
    }
    enqueue(e, id);
    leave(id);
    return true;
  }

  struct arrival {
    simulated_opening says;
    std::byte const* data;
    std::size_t bytes;
  };
  /// The next message of an edge, if it has arrived; null contents if it has none.
  [[nodiscard]] bool look(simulated_edges::edge const& e, arrival& found) const noexcept {
    message const& m = messages_[e.first];
    found = {m.says, m.contents.get(), m.bytes};
    return m.stage == progress::arrived;
  }
  /// Whether the next message of an edge will never come: its sender died before it left.
  [[nodiscard]] bool gone(simulated_edges::edge const& e) const noexcept {
    return messages_[e.first].stage == progress::gone;
  }
  /// Takes the next message off. @pre it has arrived
  void release(simulated_world& w, rank_type from, rank_type to, flow s) {
    simulated_edges::edge& e = *w.edges.find(from, to, s.lane);
    std::uint32_t const id = e.first;
    e.first = messages_[id].next;
    if (std::exchange(e.refused, false)) {
      processors_.wake(w.members()[from]);
    }
    if (--e.length == 0) {
      w.edges.erase(e);
    }
    processors_.spend(messages_[id].to, wires_.between(messages_[id].to, messages_[id].from).overhead);
    messages_.drop(id);
  }

  // --- helpers

  /// Member r has come to a flow in which it takes part in what a helper does. False if another one has come there with
  /// another call; that is what `theirs` is then.
  bool come(simulated_world& w, rank_type r, flow s, helper_part const& part, simulated_opening& theirs) {
    helped_flow_key const key{part.helper, s.lane, s.number};
    helped_flow& f = w.helped.try_emplace(key, w, key, part, w.current(r, s)).first->second;
    theirs = f.says;
    if (theirs != w.current(r, s)) {
      return false;
    }
    ++f.present;
    if (part.workers[part.worker].gets) {
      f.unanswered.push_back({r, processors_.time_of(w.members()[r])});
    }
    if (f.to_come == 0) {
      answer(f);
    }
    return true;
  }
  /// Member `from` gives its part. @pre it has come, and has not given yet
  void give(simulated_world& w, rank_type from, flow s, helper_part const& part, std::span<std::byte const> bytes) {
    helped_flow& f = w.helped.find({part.helper, s.lane, s.number})->second;
    f.take(part, carries_ ? bytes : std::span<std::byte const>{});
    std::uint32_t const id = messages_.make();
    message& m = messages_[id];
    m.from = w.members()[from];
    m.to = no_rank;
    m.bytes = bytes.size();
    m.contributes_to = &f;
    m.worker = part.worker;
    leave(id);
  }

  // --- faults

  /// The first fault of a world wins. The other members hear of it after the longest way there is.
  void revoke(simulated_world& w, rank_type reporter, fault const& why) {
    if (!w.wrong) {
      w.wrong = why;
      w.told = processors_.time_of(w.members()[reporter]) + diameter_;
      for (rank_type const r : w.members()) {
        events_.push(w.told, kind::wake, r);
      }
    }
  }

  [[nodiscard]] simulated_report report() const {
    simulated_report r;
    r.messages = sent_;
    r.bytes = bytes_;
    r.lost = lost_;
    r.events = events_.count();
    wires_.tell(r);
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

  /// Returns a rank that has something to do, or no_rank.
  rank_type happen(kind k, std::uint32_t what) {
    switch (k) {
      case kind::inject:
        inject(what);
        return no_rank;
      case kind::cross:
        cross(what);
        return no_rank;
      case kind::enter:
        enter(what);
        return no_rank;
      case kind::arrive:
        messages_[what].stage = progress::arrived;
        return processors_.awake(messages_[what].to);
      case kind::wake:
        return processors_.awake(what);
      case kind::timer:
        return processors_.ring(what);
      case kind::pause:
        processors_.pause(options_.faults.pauses[what].rank, options_.faults.pauses[what].lasting);
        return no_rank;
      case kind::death:
        return processors_.die(what, options_.faults.detection);
    }
    return no_rank;
  }

  // --- the way of a message

  void enqueue(simulated_edges::edge& e, std::uint32_t id) {
    (e.length++ == 0 ? e.first : messages_[e.last].next) = id;
    e.last = id;
  }
  /// Its processor deals with it, and then it leaves.
  void leave(std::uint32_t id) {
    message const& m = messages_[id];
    processors_.spend(m.from, wires_.between(m.from, m.to).overhead);
    if (processors_.busy(m.from)) {
      events_.push(processors_.time_of(m.from), kind::inject, id);
    } else {
      inject(id);
    }
  }

  [[nodiscard]] static picoseconds transfer(picoseconds per_byte, message const& m) noexcept {
    return per_byte * static_cast<std::int64_t>(m.bytes);
  }
  /// How long a message keeps an interface busy.
  [[nodiscard]] static picoseconds occupation(loggp const& nic, message const& m) noexcept {
    picoseconds const bytes = transfer(nic.per_byte, m);
    return bytes < nic.gap ? nic.gap : bytes;
  }

  /// It leaves its processor.
  void inject(std::uint32_t id) {
    message& m = messages_[id];
    if (processors_.dead(m.from)) {
      m.stage = progress::gone;
      if (m.contributes_to != nullptr) {
        messages_.drop(id);
      }
      return;
    }
    if (m.contributes_to != nullptr) {
      m.contributes_to->left.set(m.worker);
    }
    loggp const& nic = wires_.between(m.from, m.to);
    picoseconds const head = wires_.way_out(m.from, m.to).take(events_.now(), occupation(nic, m), m.bytes);
    m.tail = head + transfer(nic.per_byte, m);
    if (m.attempts++ == 0) {
      ++sent_;
      bytes_ += m.bytes;
    }
    if (wires_.same_host(m.from, m.to)) {
      events_.push(head + wires_.latency(m.from, m.to), kind::enter, id);
    } else if (losses_.draw()) {
      ++lost_;
      if (m.attempts < options_.faults.attempts) {
        events_.push(m.tail + options_.faults.resend, kind::inject, id);
      }
    } else {
      m.on = wires_.switch_of(m.from);
      forward(id, head);
    }
  }

  /// Its head has left a wire at that time.
  void forward(std::uint32_t id, picoseconds head) {
    message const& m = messages_[id];
    if (m.on == wires_.switch_of(m.to)) {
      events_.push(head + wires_.latency(m.from, m.to), kind::enter, id);
    } else {
      events_.push(head, kind::cross, id);
    }
  }

  /// Its head stands before a link between switches.
  void cross(std::uint32_t id) {
    message& m = messages_[id];
    auto const hop = wires_.next(m.on, m.to);
    picoseconds const busy = transfer(hop.link->per_byte, m);
    picoseconds const head = hop.wire->take(events_.now(), busy, m.bytes);
    m.tail = (m.tail < head + busy ? head + busy : m.tail) + hop.link->latency;
    m.on = hop.leads_to;
    forward(id, head + hop.link->latency);
  }

  /// Its head stands before the interface of its receiver.
  void enter(std::uint32_t id) {
    message& m = messages_[id];
    if (m.contributes_to != nullptr) {
      reach(*m.contributes_to, id);
      return;
    }
    loggp const& nic = wires_.between(m.to, m.from);
    picoseconds const head = wires_.way_in(m.from, m.to).take(events_.now(), occupation(nic, m), m.bytes);
    picoseconds const whole = head + transfer(nic.per_byte, m);
    picoseconds const tail = m.tail + wires_.latency(m.from, m.to);
    events_.push(whole < tail ? tail : whole, kind::arrive, id);
  }

  /// Its head is at a helper, which hands on the first packet as soon as it has that of all (cut-through).
  void reach(helped_flow& f, std::uint32_t id) {
    message const& m = messages_[id];
    std::size_t const packet = m.bytes < helper_packet ? m.bytes : helper_packet;
    picoseconds const head =
        events_.now() + wires_.between(m.from, no_rank).per_byte * static_cast<std::int64_t>(packet);
    picoseconds const tail = m.tail + wires_.latency(m.from, m.to);
    f.head = f.head < head ? head : f.head;
    f.tail = f.tail < tail ? tail : f.tail;
    messages_.drop(id);
    if (--f.to_come == 0) {
      answer(f);
    }
  }
  /// What a helper has made leaves for those that wait for it.
  void answer(helped_flow& f) {
    simulated_world& w = *f.world;
    for (auto const& [r, since] : f.unanswered) {
      std::uint32_t const id = messages_.make();
      message& m = messages_[id];
      m.from = no_rank;
      m.to = w.members()[r];
      m.bytes = f.bytes;
      m.says = f.says;
      m.on = wires_.switch_of(no_rank);
      m.tail = f.tail;
      if (carries_) {
        m.keep(*f.made);
      }
      enqueue(w.edges.at(f.key.helper, r, f.key.lane), id);
      forward(id, since < f.head ? f.head : since);
    }
    f.unanswered.clear();
    if (f.over()) {
      w.helped.erase(f.key);
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
  std::uint64_t sent_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t lost_ = 0;
  void* driver_ = nullptr;
  void (*yield_)(void*, rank_type) = nullptr;
};

}  // namespace tutti::detail::simulation
