// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/counted.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/extent.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Settings of one rank for the world that it joins.
template <class Transport>
struct world_options {
  duration deadline = std::chrono::minutes(5);       ///< how long an operation may take: forever, if it is no_deadline
  std::string role;                                  ///< shown in errors and reports, e.g. "worker:3"
  typename options_of<Transport>::type transport{};  ///< what its transport is told when it is opened
};

/// A group of ranks that talk to each other: rank, size, transport, trace. The operators work on one.
///
/// It may be moved, and operators and requests go on: what they work on stays where it was made, and lives as long as
/// the communicator or any of them. One that has been moved from is of no use, and says so.
///
///     world = detector.shrink();
///
/// Cost: that of its transport, and records of the last operations; a look at its user's thread for each call, 3 ns.
/// Thread safety: one thread at a time, which may hand it to another one, also with operations under way. Two at a time
/// are told so, by a precondition_error, and the epoch fails. Different communicators are independent of each other.
template <transport Transport, rank_type N = dynamic, tracer Trace = no_trace>
class communicator {
  struct state;

 public:
  /// The transport, which moves the bytes.
  using transport_type = Transport;
  /// The tracer, which records events.
  using trace_type = Trace;
  /// Settings for its construction.
  using options = world_options<Transport>;

  /// None: what a rank has that joins no part of a split. Of no use, as one that has been moved from.
  communicator() noexcept = default;

  /// Collective over the members of the rendezvous.
  /// @throws error (failure::join) naming the ranks that are missing when its deadline passes.
  template <rendezvous Meet>
  explicit communicator(Meet& meet, options const& o = {}, Trace trace = {})
      : state_(make(meet, o, std::move(trace))) {}

  /// Takes the name over; the other one is none after that. Operations under way go on.
  communicator(communicator&&) noexcept = default;
  /// Takes over the other's state, and releases that of before.
  communicator& operator=(communicator&&) noexcept = default;

  /// Whether it is one.
  [[nodiscard]] explicit operator bool() const noexcept { return state_.get() != nullptr; }

  /// Another name of this very communicator, for what outlasts a move of it. (`dup` makes another communicator.)
  [[nodiscard]] communicator alias() const { return communicator(here()); }

  /// The number of this rank, from 0.
  [[nodiscard]] rank_type rank() const { return here().rank; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const { return here().extent; }
  /// The number of ranks, as static or dynamic as the type says.
  [[nodiscard]] tutti::extent<N> extent() const { return here().extent; }

  /// What it is called where its operations are numbered, in errors: the same on all its ranks. "world"; of a part,
  /// the name of the whole, the number of the split there, and the colour: "world/7:1".
  [[nodiscard]] std::string const& name() const { return here().name; }

  /// Which rank of the communicator that this one is a part of its rank r is. A world is a part of itself.
  [[nodiscard]] rank_type parent_rank(rank_type r) const {
    expects(r < size(), "parent_rank: the rank must be below the size of this communicator, ", size(), ", not ", r);
    return here().parent_ranks.empty() ? r : here().parent_ranks[r];
  }
  /// The number of this rank in the communicator that this one was made of.
  [[nodiscard]] rank_type parent_rank() const { return parent_rank(rank()); }

  /// Host, process and role of every rank.
  [[nodiscard]] std::vector<member> const& members() const { return here().members; }
  /// The role that this rank was started with; empty if none.
  [[nodiscard]] std::string const& role() const { return here().settings.role; }

  /// Which ranks share a host: as the transport sees it, or by the names of the hosts.
  ///
  ///     tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()}
  [[nodiscard]] host_map const& hosts() const {
    if constexpr (requires(Transport const& t) { t.hosts(); }) {
      return here().transport.hosts();
    } else {
      return here().hosts;
    }
  }
  /// How many ranks are on this rank's host, and which of them this rank is.
  [[nodiscard]] rank_type local_size() const {
    return static_cast<rank_type>(hosts().members(hosts().host(rank())).size());
  }
  /// The number of this rank among those of its host.
  [[nodiscard]] rank_type local_rank() const { return hosts().local(rank()); }

  /// What it was made with; `split` makes others alike.
  [[nodiscard]] options const& settings() const { return here().settings; }

  /// How long an operation may take before it fails; an operator may set its own. `no_deadline`: as long as it takes.
  [[nodiscard]] duration deadline() const { return here().settings.deadline; }
  /// @throws precondition_error if it is negative
  void deadline(duration d) { here().settings.deadline = detail::expect_deadline(d); }

  /// The transport itself, for code that asks it directly.
  [[nodiscard]] Transport& transport() const { return here().transport; }
  /// What this rank has recorded.
  [[nodiscard]] Trace& trace() const { return here().trace; }

  /// The last operations of this rank, oldest first: what to look at when something failed.
  [[nodiscard]] recorder const& recent() const { return here().recent; }

  /// Moves on everything that has been started, here and on all communicators on which this thread has started
  /// operations. Never waits.
  /// @throws precondition_error if another thread is in a call
  void poll() const {
    state& s = here();
    detail::turn mine(s);
    s.transport.poll();
    s.advance();
    if constexpr (Trace::enabled && state::has_incidents) {
      s.trace_incidents();
    }
    mine.end();
  }

 private:
  friend struct detail::access;

  /// All that it is: one for all its names, and never moved.
  struct state : detail::rank_state {
    template <class Joint>
    [[nodiscard]] TUTTI_COLD static state* make(Joint& all, options const& o, Trace&& to);
    template <class Joint>
    TUTTI_COLD state(Joint& all, options const& o, Trace&& to);
    TUTTI_COLD ~state();

    void hold() noexcept { holders.fetch_add(1, std::memory_order_relaxed); }
    void let_go() noexcept {
      if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        end();
      }
    }
    void end() noexcept;

    [[nodiscard]] host_map find_hosts() const {
      if constexpr (requires { transport.hosts(); }) {
        return {};
      } else {
        return this->hosts_by_name();
      }
    }

    static constexpr bool has_incidents = requires(Transport& t) { t.incidents(); };
    static constexpr tracing traces() noexcept {
      tracing t;
      if constexpr (Trace::enabled) {
        t.record = [](rank_state& s, event const& e) { tutti::record(of(s).trace, [&] { return e; }); };
        if constexpr (has_incidents) {
          t.incidents = [](rank_state& s) { of(s).trace_incidents(); };
        }
      }
      return t;
    }
    static state& of(rank_state& s) noexcept { return static_cast<state&>(s); }
    /// What the transport has refused since the last time, e.g. connections of unknown peers.
    void trace_incidents();

    [[no_unique_address]] tutti::extent<N> extent;
    options settings;
    Transport transport;
    detail::relative leaving;  ///< before its transport does
    host_map hosts;            ///< empty if the transport knows them
    [[no_unique_address]] Trace trace;
    std::size_t incidents_traced = 0;
    std::atomic<std::uint32_t> holders{1};
  };

  explicit communicator(state& of) noexcept : state_(&of) { of.hold(); }

  [[nodiscard]] state& here() const {
    expects(state_.get() != nullptr,
            "this communicator is none: it has been moved from, or this rank joined no part of a split; "
            "test it, as in if (part), before you use it");
    return *state_;
  }

  template <class Meet>
  [[nodiscard]] static state* make(Meet& meet, options const& o, Trace&& to) {
    detail::joint_rendezvous all(meet);
    return state::make(all, o, std::move(to));
  }
  counted<state> state_;
};

// Out of its class: where the instance is compiled apart, a unit does not look at what it would not inline.

template <transport Transport, rank_type N, tracer Trace>
template <class Joint>
communicator<Transport, N, Trace>::state::state(Joint& all, options const& o, Trace&& to)
    : rank_state(detail::any_transport(transport), traces(), all.rank(), all.parent_ranks(),
                 all.exchange(detail::introduction(all.name(), o.role))),
      extent(all.size()),
      settings(o),
      transport(open_transport<Transport>(all, o.transport)),
      leaving(*this, all.whole()),
      hosts(find_hosts()),
      trace(std::move(to)) {
  if constexpr (N != dynamic) {
    expects(all.size() == N, "communicator: its type says ", N, " ranks, and the world has ", all.size(),
            "; start that many, or take tutti::dynamic");
  }
  this->calls_system = !detail::only_wakes<Transport>;
  if constexpr (has_devices<Transport>) {
    settings.transport.device = transport.device_number();  // parts of it are on the same
  }
  transport.begin({transfer_lane, 0}, make_call(operation_kind::transfer, "", "", ""));
  // It is made when all have their part of it: from now on a rank that gives it up can tell the others why.
  static_cast<void>(all.exchange({}));
}
/// A thread that meets others is not cancelled: they would wait for it.
template <transport Transport, rank_type N, tracer Trace>
template <class Joint>
auto communicator<Transport, N, Trace>::state::make(Joint& all, options const& o, Trace&& to) -> state* {
  detail::uncancelled const throughout(detail::uncancelled::points::none);
  try {
    static_cast<void>(detail::expect_deadline(o.deadline));
    return new state(all, o, std::move(to));
  } catch (...) {
    all.fail();
  }
}
template <transport Transport, rank_type N, tracer Trace>
communicator<Transport, N, Trace>::state::~state() {
  detail::duties::leave(*this);
}
template <transport Transport, rank_type N, tracer Trace>
void communicator<Transport, N, Trace>::state::end() noexcept {
  if (this->user.is_inside() || this->moving) {  // a reduction has destroyed the last name
    this->destroy = [](detail::duty& d) { static_cast<state*>(&d)->end(); };
  } else {
    detail::uncancelled const throughout(detail::uncancelled::points::none);
    delete this;
  }
}
template <transport Transport, rank_type N, tracer Trace>
void communicator<Transport, N, Trace>::state::trace_incidents() {
  if constexpr (Trace::enabled && has_incidents) {
    auto const& all = transport.incidents();
    for (; incidents_traced < all.size(); ++incidents_traced) {
      trace.record({.kind = event_kind::note, .time = transport.now(), .text = all[incidents_traced]});
    }
  }
}

}  // namespace tutti
