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

/// A transport in virtual time; `simulate` (<tutti/simulation/simulate.hpp>) runs its ranks, all in one thread. A
/// message takes the time of the simulated network, arithmetic that of the simulated processor, and everything else
/// is free. `send` copies contents.
///
/// The transport has no descriptor to sleep on, so event loops and progress threads cannot be used with it.
///
/// Cost: real time, of one thread, for each message and its copy; virtual time as the network says.
/// Thread safety: the thread that runs the simulation.
class simulated_transport {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "simulated";

  /// The simulation that a world is opened in, and the number of this rank there. Only tutti::simulate constructs
  /// options of a simulation; the settings of a world pass them on to its parts.
  class options {
   public:
    /// Constructs options that belong to no simulation.
    options() noexcept = default;

   private:
    friend simulated_transport;
    friend detail::simulated_access;

    options(detail::simulator& sim, rank_type rank) noexcept : simulation_(&sim), rank_(rank) {}

    detail::simulator* simulation_ = nullptr;
    rank_type rank_ = no_rank;
  };

  /// Collective.
  /// @pre the simulation outlives this object: use tutti::simulate
  /// @throws precondition_error if the options belong to no simulation
  template <rendezvous M>
  explicit simulated_transport(M& meet, options const& settings)
      : simulation_(settings.simulation_), rank_(meet.rank()) {
    expects(simulation_ != nullptr,
            "simulated: its options belong to no simulation; use tutti::simulate, which makes a world in virtual time");
    std::vector<rank_type> members;
    for (std::string const& text : meet.exchange(std::to_string(settings.rank_))) {
      members.push_back(detail::word_reader(text).number<rank_type>());
    }
    std::string number;
    if (rank_ == 0) {
      number = std::to_string(simulation_->add_world(std::move(members)));
    }
    world_ = &simulation_->world(detail::word_reader(meet.exchange(number)[0]).number<std::uint32_t>());
  }
  simulated_transport(simulated_transport const&) = delete;
  simulated_transport& operator=(simulated_transport const&) = delete;
  ~simulated_transport() {
    if (!processors().is_dead(place())) {
      world_->leave(rank_);
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return world_->size(); }

  /// Opens a flow for a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) {
    world_->begin(rank_, s, call_info);
    parts_[s.lane].clear();
  }
  /// Closes a flow; all its messages have been released.
  void end(flow) noexcept {}

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    if (fault() || processors().is_dead(place())) {
      return {};
    }
    if (peer >= size()) {
      simulation_->contribute(*world_, rank_, s, parts_[s.lane][peer - size()], bytes);
      return {true, bytes.size(), 0};
    }
    if (!simulation_->send(*world_, rank_, peer, s, bytes)) {
      if (has_departed(peer)) {
        declare_lost(peer);
      }
      return {};
    }
    return {true, bytes.size(), 0};
  }
  /// True if the buffer sent under this ticket is free.
  [[nodiscard]] bool is_released(rank_type, flow, ticket) const noexcept { return true; }

  /// Returns the next chunk of a peer's message, in whole granules, or an empty one if nothing has arrived.
  /// @throws error (mismatch) if the peer made another call
  chunk view(rank_type peer, flow s, receive_request w) {
    if (processors().is_dead(place()) || fault()) {
      return {};
    }
    auto const* const edge = world_->edges.find(peer, rank_, s.lane);
    detail::simulator::arrival arrival{};
    if (edge == nullptr || !simulation_->peek(*edge, arrival)) {
      rank_type const sender = peer < size() ? peer : first_without_contribution(peer, s);
      if (sender != no_rank && (edge == nullptr ? has_departed(sender) : simulation_->will_never_arrive(*edge))) {
        declare_lost(sender);
      }
      return {};
    }
    if (processors().is_busy(place())) {
      processors().note_missed(place());
      return {};
    }
    if (arrival.opening != world_->current_opening(rank_, s)) {
      throw_mismatch(peer, s, arrival.opening);
    }
    return {place_of(arrival, w), arrival.bytes};
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s) {
    auto const* const edge = world_->edges.find(peer, rank_, s.lane);
    detail::simulator::arrival arrival{};
    return !processors().is_dead(place()) && edge != nullptr && simulation_->peek(*edge, arrival);
  }
  /// True if a peer has left or died, and no message of a send is on its way from it.
  [[nodiscard]] bool has_left(rank_type peer) const {
    auto const* const edge = world_->edges.find(peer, rank_, transfer_lane);
    return has_departed(peer) && (edge == nullptr || simulation_->will_never_arrive(*edge));
  }
  /// Frees the chunk that `view` returned.
  void release(rank_type peer, flow s) { simulation_->release(*world_, peer, rank_, s); }

  /// The simulated aggregator is a part of the switch at the root of the network. It combines
  /// contributions in the order of the workers, as the ranks would.
  [[nodiscard]] static constexpr bool supports(network_operation operation) noexcept {
    return operation != network_operation::none && operation != network_operation::update;
  }
  /// True if the network has an aggregator; every rank gets one answer.
  [[nodiscard]] bool has_aggregator() const noexcept { return simulation_->network().sums; }
  /// Registers this rank's part of a flow with an aggregator, before any message to or from it.
  void join_aggregation(flow s, aggregation_part const& part) {
    parts_[s.lane].push_back(part);
    detail::simulated_opening peer_opening;
    if (part.worker != no_rank && !simulation_->join_aggregated_flow(*world_, rank_, s, part, peer_opening)) {
      throw_mismatch(world_->aggregated_flows.at({part.aggregator, s.lane, s.number}).workers.front().rank, s,
                     peer_opening);
    }
  }
  /// A rank whose contribution the aggregator still waits for, or no_rank if this rank knows of none.
  [[nodiscard]] rank_type missing(rank_type aggregator, flow s) const {
    auto const at = world_->aggregated_flows.find({aggregator, s.lane, s.number});
    return at == world_->aggregated_flows.end() ? no_rank : at->second.missing();
  }

  /// Checks that the peer has not opened this flow with another call: its messages would never arrive.
  /// @throws error(failure::mismatch)
  void detect_mismatch(rank_type peer, flow s) {
    detail::simulated_opening peer_opening;
    if (s.lane != transfer_lane &&
        world_->has_opened_otherwise(peer, s, world_->current_opening(rank_, s), peer_opening)) {
      throw_mismatch(peer, s, peer_opening);
    }
  }

  /// Publishes this rank's wait state. A query takes no virtual time; the answer is as old as the rank's last report.
  void publish_wait(wait_report const& w) {
    if (!world_->first_fault) {
      world_->record_wait(rank_, w, exact_now());
    }
  }
  /// Queries a peer's wait state; false while the peer cannot be reached.
  bool query_wait(rank_type peer) {
    query_times_[peer] = exact_now();
    return true;
  }
  /// The last report of a rank, this one included, of its wait on a lane.
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const {
    auto [w, time] = world_->last_wait(r, lane);
    auto const query = query_times_.find(r);
    w.is_fresh = query != query_times_.end() && time >= query->second;
    return w;
  }

  /// Spends the time of one query of the network; other ranks run meanwhile.
  void poll() {
    if (simulation_->can_wait()) {
      wait_for_work(std::chrono::duration_cast<duration>(simulation_->options().look));
    }
  }
  /// Waits until an event reaches this rank, or `limit` has passed.
  /// @throws error(failure::peer_lost) on a rank that dies meanwhile
  void wait_for_work(duration limit) {
    if (!processors().is_dead(place())) {
      simulation_->wait(place(), processors().time_of(place()) + limit);
    }
    if (processors().is_dead(place())) {
      throw error(failure::peer_lost, "this rank has died in the simulation").set_ranks(rank_, {rank_});
    }
  }

  /// Runs `f`, which reads this many bytes, and spends their time.
  template <class F>
  void compute(std::size_t bytes, F&& f) {
    if (simulation_->carries()) {
      f();
    }
    simulation_->combine(place(), bytes);
  }
  /// Spends computing time of the program.
  void spend(picoseconds time) noexcept { processors().spend(place(), time); }

  /// Returns -1: no descriptor becomes readable in virtual time.
  [[nodiscard]] int arm() const noexcept { return -1; }
  /// Counterpart of `arm`; does nothing.
  void disarm() noexcept {}

  /// The time by the clock of the transport.
  [[nodiscard]] time_point now() const noexcept { return std::chrono::duration_cast<duration>(exact_now()); }
  /// The virtual time, in picoseconds.
  [[nodiscard]] picoseconds exact_now() const noexcept { return processors().time_of(place()); }

  /// The fault of this world, or none. Cheap: waiting ranks call it often.
  [[nodiscard]] tutti::fault fault() const noexcept {
    return world_->first_fault && (found_fault_ || world_->fault_time <= exact_now()) ? world_->first_fault
                                                                                      : tutti::fault{};
  }
  /// Looks for peers that have died or left.
  void probe() {
    if (!processors().deaths().empty()) {
      for (rank_type r = 0; r < size(); ++r) {
        if (processors().is_known_dead(world_->members()[r])) {
          declare_lost(r);
        }
      }
    }
  }
  /// Announces a fault to every member; the first fault of a world wins.
  void revoke(tutti::fault const& reason) {
    if (reason && !processors().is_dead(place())) {
      found_fault_ = true;
      simulation_->revoke(*world_, rank_, reason);
    }
  }
  /// Tells the other ranks why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& reason) { world_->announce_departure(rank_, reason); }
  /// Returns when nobody accesses this rank's memory any more; called after a fault.
  void quiesce() noexcept {}

 private:
  friend detail::simulated_access;

  simulated_transport(detail::simulator& simulation, detail::simulated_world& world, rank_type rank) noexcept
      : simulation_(&simulation), world_(&world), rank_(rank) {}

  [[nodiscard]] rank_type place() const noexcept { return world_->members()[rank_]; }
  [[nodiscard]] detail::simulated_processors& processors() const noexcept { return simulation_->processors(); }

  [[nodiscard]] rank_type first_without_contribution(rank_type aggregator, flow s) const {
    auto const at = world_->aggregated_flows.find({aggregator, s.lane, s.number});
    return at == world_->aggregated_flows.end() ? no_rank : at->second.first_without_contribution();
  }
  [[nodiscard]] bool has_departed(rank_type peer) const noexcept {
    return world_->has_left(peer) || processors().is_known_dead(world_->members()[peer]);
  }
  void declare_lost(rank_type peer) {
    tutti::fault const reason = world_->reason_of(peer);
    revoke(reason ? reason : tutti::fault{failure::peer_lost, peer, rank_});
  }

  /// Copies contents to the place that the receiver asked for. Without contents, returns that place unchanged.
  [[nodiscard]] std::byte const* place_of(detail::simulator::arrival const& arrival,
                                          receive_request const& w) const noexcept {
    static constexpr std::byte empty_place{};
    if (!simulation_->carries()) {
      return w.place != nullptr ? w.place : &empty_place;
    }
    if (w.place == nullptr || arrival.bytes > w.bytes || arrival.bytes == 0) {
      return arrival.data != nullptr ? arrival.data : &empty_place;
    }
    std::memcpy(w.place, arrival.data, arrival.bytes);
    return w.place;
  }

  [[noreturn]] void throw_mismatch(rank_type peer, flow s, detail::simulated_opening peer_opening) {
    revoke({failure::mismatch, peer, rank_});
    if (s.lane == transfer_lane) {
      throw detail::messages_differ(rank_, peer);
    }
    throw detail::calls_differ(rank_, world_->describe(world_->current_opening(rank_, s)), peer,
                               world_->describe(peer_opening));
  }

  detail::simulator* simulation_;
  detail::simulated_world* world_ = nullptr;
  rank_type rank_;
  std::array<std::vector<aggregation_part>, lane_count> parts_;  ///< by lane: this rank's parts of the aggregators
  std::map<rank_type, picoseconds> query_times_;                 ///< by rank: time of the last query
  bool found_fault_ = false;  ///< this rank found a fault itself, and need not wait for the announcement
};

namespace detail {

/// Opens transports in a simulation, for what runs one.
struct simulated_access {
  [[nodiscard]] static simulated_transport::options options(simulator& simulation, rank_type rank) noexcept {
    return {simulation, rank};
  }
  /// Member `rank` of a world that exists.
  [[nodiscard]] static simulated_transport member(simulator& simulation, simulated_world& world,
                                                  rank_type rank) noexcept {
    return {simulation, world, rank};
  }
};

}  // namespace detail

}  // namespace tutti
