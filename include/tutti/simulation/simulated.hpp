// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/mismatch.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/simulation/detail/simulator.hpp>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {
namespace detail {

struct simulated_access;

}  // namespace detail

/// Ranks are programs of one thread in virtual time: <tutti/simulation/simulate.hpp> runs them. A message takes
/// what it takes on the simulated network, arithmetic what it takes on the simulated processor; all
/// else is free. Contents are copied when they are sent.
///
/// There is no descriptor to sleep on: `arm` is of no use, and neither are event loops and progress
/// threads.
///
/// Cost: real time, of one thread, for each message and its copy; virtual time as the network says.
/// Thread safety: the thread that runs the simulation.
class simulated {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "simulated";

  /// The simulation that a world is opened in, and the number of this rank there. Only tutti::simulate makes options
  /// that belong to a simulation; the settings of a world hand them on to its parts.
  class options {
   public:
    /// Constructs options that belong to no simulation.
    options() noexcept = default;

   private:
    friend simulated;
    friend detail::simulated_access;

    options(detail::simulator& in, rank_type rank) noexcept : in_(&in), rank_(rank) {}

    detail::simulator* in_ = nullptr;
    rank_type rank_ = no_rank;
  };

  /// Collective.
  /// @pre the simulation outlives this: use tutti::simulate
  /// @throws precondition_error if the options belong to no simulation
  template <rendezvous M>
  explicit simulated(M& meet, options const& o) : simulation_(o.in_), rank_(meet.rank()) {
    expects(simulation_ != nullptr,
            "simulated: its options belong to no simulation; use tutti::simulate, which makes a world in virtual time");
    std::vector<rank_type> members;
    for (std::string const& text : meet.exchange(std::to_string(o.rank_))) {
      members.push_back(detail::word_reader(text).number<rank_type>());
    }
    std::string number;
    if (rank_ == 0) {
      number = std::to_string(simulation_->add_world(std::move(members)));
    }
    world_ = &simulation_->world(detail::word_reader(meet.exchange(number)[0]).number<std::uint32_t>());
  }
  simulated(simulated const&) = delete;
  simulated& operator=(simulated const&) = delete;
  ~simulated() {
    if (!processors().dead(place())) {
      world_->leave(rank_);
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return world_->size(); }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& what) {
    world_->begin(rank_, s, what);
    parts_[s.lane].clear();
  }
  /// Closes a flow whose messages are all done with.
  void end(flow) noexcept {}

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    if (fault() || processors().dead(place())) {
      return {};
    }
    if (peer >= size()) {
      simulation_->give(*world_, rank_, s, parts_[s.lane][peer - size()], bytes);
      return {true, bytes.size(), 0};
    }
    if (!simulation_->send(*world_, rank_, peer, s, bytes)) {
      if (departed(peer)) {
        lose(peer);
      }
      return {};
    }
    return {true, bytes.size(), 0};
  }
  /// True if the buffer of what was sent under this ticket is free.
  [[nodiscard]] bool released(rank_type, flow, ticket) const noexcept { return true; }

  /// The next chunk of a peer's message, of whole granules, or nothing yet; throws error (mismatch) if calls differ.
  chunk view(rank_type peer, flow s, wanted w) {
    if (processors().dead(place()) || fault()) {
      return {};
    }
    auto const* const edge = world_->edges.find(peer, rank_, s.lane);
    detail::simulator::arrival m{};
    if (edge == nullptr || !simulation_->look(*edge, m)) {
      rank_type const sender = peer < size() ? peer : silent(peer, s);
      if (sender != no_rank && (edge == nullptr ? departed(sender) : simulation_->gone(*edge))) {
        lose(sender);
      }
      return {};
    }
    if (processors().busy(place())) {
      processors().misses(place());
      return {};
    }
    if (m.says != world_->current(rank_, s)) {
      mismatch(peer, s, m.says);
    }
    return {place_of(m, w), m.bytes};
  }
  /// Gives back what `view` has shown.
  void release(rank_type peer, flow s) { simulation_->release(*world_, peer, rank_, s); }

  /// A helper is a part of the switch at the root of the network. It does what the ranks would do, in the order of the
  /// workers.
  [[nodiscard]] static constexpr bool does(network_operation what) noexcept {
    return what != network_operation::none && what != network_operation::update;
  }
  /// True if there is a helper to be asked now; alike on all ranks.
  [[nodiscard]] bool has_helper() const noexcept { return simulation_->network().sums; }
  /// Tells a helper of a flow this rank's part, before any message to or from it.
  void take_part(flow s, helper_part const& part) {
    parts_[s.lane].push_back(part);
    detail::simulated_opening theirs;
    if (part.worker != no_rank && !simulation_->come(*world_, rank_, s, part, theirs)) {
      mismatch(world_->helped.at({part.helper, s.lane, s.number}).workers.front().rank, s, theirs);
    }
  }
  /// A rank whose part a helper still waits for, as far as it is known here; or no_rank.
  [[nodiscard]] rank_type missing(rank_type helper, flow s) const {
    auto const at = world_->helped.find({helper, s.lane, s.number});
    return at == world_->helped.end() ? no_rank : at->second.missing();
  }

  /// Whether the peer is at the same flow with another call, of which no message may ever come here.
  /// @throws error(failure::mismatch)
  void inquire(rank_type peer, flow s) {
    detail::simulated_opening theirs;
    if (s.lane != transfer_lane && world_->differs(peer, s, world_->current(rank_, s), theirs)) {
      mismatch(peer, s, theirs);
    }
  }

  /// Questions take no time, and answers no more than it takes a rank that waits to give the next one.
  void say(wait_report const& w) {
    if (!world_->wrong) {
      world_->say(rank_, w, exact_now());
    }
  }
  /// Asks a peer what it waits for; false as long as it cannot be reached.
  bool ask(rank_type peer) {
    asked_[peer] = exact_now();
    return true;
  }
  /// The last report of a rank, this one included, of what it waits for on a lane.
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const {
    auto [w, time] = world_->said(r, lane);
    auto const asked = asked_.find(r);
    w.fresh = asked != asked_.end() && time >= asked->second;
    return w;
  }

  /// Takes the time that asking the network takes; others go on meanwhile.
  void poll() {
    if (simulation_->can_wait()) {
      rest(std::chrono::duration_cast<duration>(simulation_->options().look));
    }
  }
  /// Until something has happened to this rank, or this time has passed.
  /// @throws error(failure::peer_lost) on a rank that dies meanwhile
  void rest(duration limit) {
    if (!processors().dead(place())) {
      simulation_->wait(place(), processors().time_of(place()) + limit);
    }
    if (processors().dead(place())) {
      throw error(failure::peer_lost, "this rank has died in the simulation").between(rank_, {rank_});
    }
  }

  /// `f` reads this many bytes: it is run, and takes what they take.
  template <class F>
  void compute(std::size_t bytes, F&& f) {
    if (simulation_->carries()) {
      f();
    }
    simulation_->combine(place(), bytes);
  }
  /// The program computes for so long.
  void spend(picoseconds time) noexcept { processors().spend(place(), time); }

  /// Returns a descriptor that becomes readable when there may be something to do; poll once more, then sleep.
  [[nodiscard]] int arm() const noexcept { return -1; }
  /// Ends what `arm` began.
  void disarm() noexcept {}

  /// The time by the clock of the transport.
  [[nodiscard]] time_point now() const noexcept { return std::chrono::duration_cast<duration>(exact_now()); }
  /// The virtual time, in picoseconds.
  [[nodiscard]] picoseconds exact_now() const noexcept { return processors().time_of(place()); }

  /// The fault of this world, if there is one; cheap, as it is asked for while waiting.
  [[nodiscard]] tutti::fault fault() const noexcept {
    return world_->wrong && (noticed_ || world_->told <= exact_now()) ? world_->wrong : tutti::fault{};
  }
  /// Finds peers that are gone, by system calls: for every few milliseconds of waiting.
  void look() {
    if (!processors().deaths().empty()) {
      for (rank_type r = 0; r < size(); ++r) {
        if (processors().found_dead(world_->members()[r])) {
          lose(r);
        }
      }
    }
  }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault const& why) {
    if (why && !processors().dead(place())) {
      noticed_ = true;
      simulation_->revoke(*world_, rank_, why);
    }
  }
  /// Tells the other ranks why this one leaves: a fault in another communicator of its world.
  void excuse(tutti::fault const& why) { world_->excuse(rank_, why); }
  /// Returns when nothing works in this rank's memory any more; called after a fault.
  void quiesce() noexcept {}

 private:
  friend detail::simulated_access;

  simulated(detail::simulator& in, detail::simulated_world& world, rank_type rank) noexcept
      : simulation_(&in), world_(&world), rank_(rank) {}

  [[nodiscard]] rank_type place() const noexcept { return world_->members()[rank_]; }
  [[nodiscard]] detail::simulated_processors& processors() const noexcept { return simulation_->processors(); }

  [[nodiscard]] rank_type silent(rank_type helper, flow s) const {
    auto const at = world_->helped.find({helper, s.lane, s.number});
    return at == world_->helped.end() ? no_rank : at->second.silent();
  }
  [[nodiscard]] bool departed(rank_type peer) const noexcept {
    return world_->left(peer) || processors().found_dead(world_->members()[peer]);
  }
  void lose(rank_type peer) {
    tutti::fault const reason = world_->reason_of(peer);
    revoke(reason ? reason : tutti::fault{failure::peer_lost, peer, rank_});
  }

  /// Contents go straight to where they are wanted; without contents, that is where they are said to be.
  [[nodiscard]] std::byte const* place_of(detail::simulator::arrival const& m, wanted const& w) const noexcept {
    static constexpr std::byte nothing{};
    if (!simulation_->carries()) {
      return w.place != nullptr ? w.place : &nothing;
    }
    if (w.place == nullptr || m.bytes > w.bytes || m.bytes == 0) {
      return m.data != nullptr ? m.data : &nothing;
    }
    std::memcpy(w.place, m.data, m.bytes);
    return w.place;
  }

  [[noreturn]] void mismatch(rank_type peer, flow s, detail::simulated_opening theirs) {
    revoke({failure::mismatch, peer, rank_});
    if (s.lane == transfer_lane) {
      throw detail::messages_differ(rank_, peer);
    }
    throw detail::calls_differ(rank_, world_->describe(world_->current(rank_, s)), peer, world_->describe(theirs));
  }

  detail::simulator* simulation_;
  detail::simulated_world* world_ = nullptr;
  rank_type rank_;
  std::array<std::vector<helper_part>, lane_count> parts_;  ///< of the helpers, by lane
  std::map<rank_type, picoseconds> asked_;                  ///< when each was last asked
  bool noticed_ = false;                                    ///< it has found a fault itself, and need not be told
};

namespace detail {

/// Opens transports in a simulation, for what runs one.
struct simulated_access {
  [[nodiscard]] static simulated::options options(simulator& in, rank_type rank) noexcept { return {in, rank}; }
  /// Member `rank` of a world that exists.
  [[nodiscard]] static simulated member(simulator& in, simulated_world& world, rank_type rank) noexcept {
    return {in, world, rank};
  }
};

}  // namespace detail

}  // namespace tutti
