// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/abort_handle.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/extent.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Settings of one rank for the world that it joins.
template <class Transport>
struct world_options {
  duration deadline = std::chrono::minutes(5);       ///< limit for an operation; no_deadline: none
  std::string role;                                  ///< label in errors and reports, e.g. "worker:3"
  typename options_of<Transport>::type transport{};  ///< options of the transport
};

/// A group of ranks that communicate: rank, size, transport, trace. Operators work on one.
///
/// It may be moved while operators and requests exist: their state never moves, and lives as long as the communicator
/// or any of them. Using a communicator that was moved from is an error.
///
///     world = detector.shrink();
///
/// Cost: its transport, and the records of the last operations; 3 ns for each call, to check the calling thread.
/// Thread safety: one thread at a time, but for `abort`; it may be handed to another thread, also with operations under
/// way. If two threads use it at once, one gets a precondition_error, and the epoch fails. Different communicators are
/// independent of each other.
template <transport Transport, rank_type N = dynamic, tracer Trace = no_trace>
class communicator {
  struct state;

 public:
  /// The transport, which moves the bytes.
  using transport_type = Transport;
  /// The tracer, which records events.
  using trace_type = Trace;
  /// The settings for its construction.
  using options = world_options<Transport>;

  /// Constructs an empty communicator, as `split` returns to a rank that joins no part. Only assignment and `operator
  /// bool` may be used.
  communicator() noexcept = default;

  /// Constructs a communicator. Collective over the members of the rendezvous.
  /// @throws error (failure::join) that names the missing ranks when its deadline passes
  template <rendezvous Meet>
  explicit communicator(Meet& meet, options const& settings = {}, Trace trace = {})
      : state_(make(meet, settings, std::move(trace))) {}

  /// Takes over the state of the other communicator, which becomes empty. Operations under way continue.
  communicator(communicator&&) noexcept = default;
  /// Takes over the state of the other communicator, and releases the previous one.
  communicator& operator=(communicator&&) noexcept = default;

  /// True if this communicator is not empty.
  [[nodiscard]] explicit operator bool() const noexcept { return state_.get() != nullptr; }

  /// Another handle to this communicator, for owners that outlast a move of it. (`dup` makes another communicator.)
  [[nodiscard]] communicator alias() const { return communicator(get_state()); }

  /// The number of this rank, from 0.
  [[nodiscard]] rank_type rank() const { return get_state().rank; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const { return get_state().extent; }
  /// The number of ranks, static or dynamic as the type.
  [[nodiscard]] tutti::extent<N> extent() const { return get_state().extent; }

  /// The name in errors, equal on all ranks: "world"; for a part, the parent's name, the number of the split among its
  /// operations, and the colour: "world/7:1".
  [[nodiscard]] std::string const& name() const { return get_state().name; }

  /// The rank, in the parent communicator, of rank `r` of this one. A world is its own parent.
  [[nodiscard]] rank_type parent_rank(rank_type r) const {
    expects(r < size(), "parent_rank: the rank must be below the size of this communicator, ", size(), ", not ", r);
    return get_state().parent_ranks.empty() ? r : get_state().parent_ranks[r];
  }
  /// The rank of this rank in the parent communicator.
  [[nodiscard]] rank_type parent_rank() const { return parent_rank(rank()); }

  /// The host, process and role of every rank.
  [[nodiscard]] std::vector<member> const& members() const { return get_state().members; }
  /// The role of this rank in `world_options`; empty if none.
  [[nodiscard]] std::string const& role() const { return get_state().settings.role; }

  /// The ranks of each host, as the transport sees them, or by host names.
  ///
  ///     tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()}
  [[nodiscard]] host_map const& hosts() const {
    if constexpr (requires(Transport const& t) { t.hosts(); }) {
      return get_state().transport.hosts();
    } else {
      return get_state().hosts;
    }
  }
  /// The number of ranks on this rank's host.
  [[nodiscard]] rank_type local_size() const {
    return static_cast<rank_type>(hosts().members(hosts().host(rank())).size());
  }
  /// The number of this rank among the ranks of its host.
  [[nodiscard]] rank_type local_rank() const { return hosts().local(rank()); }

  /// The options of its construction; `split` uses them, too.
  [[nodiscard]] options const& settings() const { return get_state().settings; }

  /// The limit for an operation, after which it fails; an operator may set its own. `no_deadline`: none.
  [[nodiscard]] duration deadline() const { return get_state().settings.deadline; }
  /// Sets the limit for an operation.
  /// @throws precondition_error if it is negative
  void deadline(duration limit) { get_state().settings.deadline = detail::expect_deadline(limit); }

  /// The transport itself, for direct use.
  [[nodiscard]] Transport& transport() const { return get_state().transport; }
  /// The tracer of this rank, with its records.
  [[nodiscard]] Trace& trace() const { return get_state().trace; }

  /// The flight recorder: the last operations of this rank, oldest first.
  [[nodiscard]] recorder const& recent() const { return get_state().recent; }

  /// Ends the world on purpose: all operations of this communicator, and of all others that were split or duplicated
  /// from the same world, end on every rank with error(failure::aborted), which names this rank and the reason. So do
  /// later ones. The first abort of a world counts.
  ///
  /// Ranks that share memory have the fault at once. Other ranks are told by this one, at once through all
  /// communicators that no thread uses, so ranks learn of it in whichever part they wait. Through one that a thread
  /// uses or has operations in, they are told within 10 ms if that thread waits, else in its next call. Any thread may
  /// call this while this communicator exists, but no signal handler (`aborter`). Takes 100 ms at most.
  /// @param reason at most 55 bytes of it are sent
  void abort(std::string_view reason) const { get_state().kin->abort(reason); }
  /// A handle that aborts this world from a signal handler, or from a thread that may outlive this communicator.
  [[nodiscard]] abort_handle aborter() const { return detail::access::make_abort_handle<abort_handle>(get_state()); }

  /// Advances all operations under way, here and on all communicators on which this thread has started some. Never
  /// waits.
  /// @throws precondition_error if another thread is in a call
  void poll() const {
    state& current = get_state();
    detail::call_guard guard(current);
    current.transport.poll();
    current.advance();
    if constexpr (Trace::is_enabled && state::has_incidents) {
      current.trace_incidents();
    }
    guard.end();
  }

 private:
  friend struct detail::access;

  /// The state of a communicator: shared by all its handles, and never moved.
  struct state : detail::rank_state {
    template <class Joint>
    [[nodiscard]] TUTTI_COLD static state* make(Joint& meeting, options const& initial_settings, Trace&& initial_trace);
    template <class Joint>
    TUTTI_COLD state(Joint& meeting, options const& initial_settings, Trace&& initial_trace);
    TUTTI_COLD ~state();

    void add_reference() noexcept { holders.fetch_add(1, std::memory_order_relaxed); }
    void drop_reference() noexcept {
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

    static constexpr bool has_incidents = requires(Transport& candidate) { candidate.incidents(); };
    static constexpr tracing traces() noexcept {
      tracing calls;
      if constexpr (Trace::is_enabled) {
        calls.record = [](rank_state& base, event const& e) { tutti::record(downcast(base).trace, [&] { return e; }); };
        if constexpr (has_incidents) {
          calls.incidents = [](rank_state& base) { downcast(base).trace_incidents(); };
        }
      }
      return calls;
    }
    static state& downcast(rank_state& base) noexcept { return static_cast<state&>(base); }
    /// Traces the incidents that the transport has recorded since the last call, e.g. refused connections of unknown
    /// peers.
    void trace_incidents();

    [[no_unique_address]] tutti::extent<N> extent;
    options settings;
    Transport transport;
    detail::relative leaving;  ///< destroyed before its transport
    host_map hosts;            ///< empty if the transport has a map
    [[no_unique_address]] Trace trace;
    std::size_t incidents_traced = 0;
    std::atomic<std::uint32_t> holders{1};
  };

  explicit communicator(state& existing_state) noexcept : state_(&existing_state) { existing_state.add_reference(); }

  [[nodiscard]] state& get_state() const {
    expects(state_.get() != nullptr,
            "this communicator is empty: it was moved from, or this rank joined no part of a split; test it first, as "
            "in if (part)");
    return *state_;
  }

  template <class Meet>
  [[nodiscard]] static state* make(Meet& meet, options const& settings, Trace&& initial_trace) {
    detail::joint_rendezvous meeting(meet);
    return state::make(meeting, settings, std::move(initial_trace));
  }
  intrusive_pointer<state> state_;
};

// Not `inline` (compilers.md: Members defined out of class).

template <transport Transport, rank_type N, tracer Trace>
template <class Joint>
communicator<Transport, N, Trace>::state::state(Joint& meeting, options const& initial_settings, Trace&& initial_trace)
    : rank_state(detail::any_transport(transport), traces(), meeting.rank(), meeting.parent_ranks(),
                 meeting.exchange(detail::introduction(meeting.name(), initial_settings.role))),
      extent(meeting.size()),
      settings(initial_settings),
      transport(open_transport<Transport>(meeting, initial_settings.transport)),
      leaving(*this, meeting.whole()),
      hosts(find_hosts()),
      trace(std::move(initial_trace)) {
  this->secret = meeting.secret();
  if constexpr (N != dynamic) {
    expects(meeting.size() == N, "communicator: its type says ", N, " ranks, and the world has ", meeting.size(),
            "; start that many, or take tutti::dynamic");
  }
  if constexpr (has_devices<Transport>) {
    settings.transport.device = transport.device_number();  // communicators split from it use the same device
  }
  transport.begin({transfer_lane, 0}, make_call(operation_kind::transfer, "", "", ""));
  // All ranks have their part of the communicator now, so one that gives it up later can tell the others why.
  static_cast<void>(meeting.exchange({}));
  static_cast<void>(this->user.leave());  // entered by `leaving`
}
/// Creates the state. Holds back pthread_cancel, because the other ranks would wait for this thread.
template <transport Transport, rank_type N, tracer Trace>
template <class Joint>
auto communicator<Transport, N, Trace>::state::make(Joint& meeting, options const& initial_settings,
                                                    Trace&& initial_trace) -> state* {
  detail::cancellation_shield const shield(detail::cancellation_shield::points::silent);
  try {
    static_cast<void>(detail::expect_deadline(initial_settings.deadline));
    return new state(meeting, initial_settings, std::move(initial_trace));
  } catch (...) {
    meeting.fail();
  }
}
template <transport Transport, rank_type N, tracer Trace>
communicator<Transport, N, Trace>::state::~state() {
  detail::progress_list::leave(*this);
}
template <transport Transport, rank_type N, tracer Trace>
void communicator<Transport, N, Trace>::state::end() noexcept {
  if (this->user.is_inside() || this->is_moving) {  // a reduction has destroyed the last handle
    this->destroy = [](detail::progress_entry& entry) { static_cast<state*>(&entry)->end(); };
  } else {
    detail::cancellation_shield const shield(detail::cancellation_shield::points::silent);
    delete this;
  }
}
template <transport Transport, rank_type N, tracer Trace>
void communicator<Transport, N, Trace>::state::trace_incidents() {
  if constexpr (Trace::is_enabled && has_incidents) {
    auto const& incidents = transport.incidents();
    for (; incidents_traced < incidents.size(); ++incidents_traced) {
      trace.record({.kind = event_kind::note, .time = transport.now(), .text = incidents[incidents_traced]});
    }
  }
}

}  // namespace tutti
