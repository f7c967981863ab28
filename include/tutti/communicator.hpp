// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/counted.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/duties.hpp>
#include <tutti/detail/core/host_map.hpp>
#include <tutti/detail/core/inheritance.hpp>
#include <tutti/detail/core/kinship.hpp>
#include <tutti/detail/core/patience.hpp>
#include <tutti/detail/core/pending.hpp>
#include <tutti/detail/core/recorder.hpp>
#include <tutti/detail/core/sole_user.hpp>
#include <tutti/detail/core/stream_numbers.hpp>
#include <tutti/error.hpp>
#include <tutti/expects.hpp>
#include <tutti/extent.hpp>
#include <tutti/member.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/trace/concept.hpp>
#include <tutti/trace/no_trace.hpp>
#include <tutti/transport/concept.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {

/// How a rank takes part in a world.
template <class Transport>
struct world_options {
  duration deadline = std::chrono::minutes(5);  ///< how long an operation may take: forever, if it is no_deadline
  std::string role;                             ///< shown in errors and reports, e.g. "worker:3"
  typename options_of<Transport>::type transport{};
  detail::kinship kin{};  ///< a world's own; communicators that are made with the settings of another are of its world
};

/// A group of ranks that talk to each other: rank, size, transport, trace. The operators work on one.
///
/// It may be moved, and operators and requests go on: what they work on stays where it was made, and lives as long as
/// the communicator or any of them. One that has been moved from is of no use, and says so.
///
///     world = detector.shrink();
///
/// Thread safety: one thread at a time, which may hand it to another one, also with operations under way. Two at a time
/// are told so, by a precondition_error, and the epoch fails. Different communicators are independent of each other.
template <transport Transport, rank_type N = dynamic, tracer Trace = no_trace>
class communicator {
  struct state;

 public:
  using transport_type = Transport;
  using trace_type = Trace;
  using options = world_options<Transport>;

  /// None: what a rank has that joins no part of a split. Of no use, as one that has been moved from.
  communicator() noexcept = default;

  /// Collective over the members of the rendezvous.
  /// @throws error (failure::join) naming the ranks that are missing when its deadline passes.
  template <rendezvous Meet>
  explicit communicator(Meet& meet, options const& o = {}, Trace trace = {})
      : state_(new state(meet, o, std::move(trace))) {}

  /// The time that a call takes on a communicator, its own thread's alone. The thread goes on with what another one may
  /// have started there.
  class turn {
   public:
    /// @throws precondition_error if another thread is in a call
    [[gnu::always_inline]] explicit turn(communicator const& world) : in_(world.here()), entry_(in_.user.enter()) {
      expects(entry_ != detail::sole_user::entry::refused, in_.two_threads);
      in_.claim();
    }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    [[gnu::always_inline]] ~turn() {
      if (entry_ == detail::sole_user::entry::first) {
        static_cast<void>(in_.leave());
      }
    }
    /// @throws precondition_error if another thread has tried to make a call meanwhile
    [[gnu::always_inline]] void end() {
      if (std::exchange(entry_, detail::sole_user::entry::again) == detail::sole_user::entry::first) {
        expects(in_.leave(), in_.two_threads);
      }
    }

   private:
    state& in_;
    detail::sole_user::entry entry_;
  };

  communicator(communicator&&) noexcept = default;
  communicator& operator=(communicator&&) noexcept = default;

  /// Whether it is one.
  [[nodiscard]] explicit operator bool() const noexcept { return state_.get() != nullptr; }

  /// Another name of this very communicator, for what outlasts a move of it. (`dup` makes another communicator.)
  [[nodiscard]] communicator alias() const { return communicator(here()); }

  [[nodiscard]] rank_type rank() const { return here().rank; }
  [[nodiscard]] rank_type size() const { return here().extent; }
  [[nodiscard]] tutti::extent<N> extent() const { return here().extent; }

  /// What it is called where its operations are numbered, in errors: the same on all its ranks. "world"; of a part,
  /// the name of the whole, the number of the split there, and the colour: "world/7:1".
  [[nodiscard]] std::string const& name() const { return here().name; }

  /// Which rank of the communicator that this one is a part of its rank r is. A world is a part of itself.
  [[nodiscard]] rank_type parent_rank(rank_type r) const {
    expects(r < size(), "parent_rank: this communicator has no such rank");
    return here().parent_ranks.empty() ? r : here().parent_ranks[r];
  }
  [[nodiscard]] rank_type parent_rank() const { return parent_rank(rank()); }

  /// Host, process and role of every rank.
  [[nodiscard]] std::vector<member> const& members() const { return here().members; }
  [[nodiscard]] std::string const& role() const { return here().settings.role; }

  /// Which ranks share a host: as the transport sees it, or by the names of the hosts.
  ///
  ///     tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()}
  [[nodiscard]] detail::host_map const& hosts() const {
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
  [[nodiscard]] rank_type local_rank() const { return hosts().local(rank()); }

  /// What it was made with; `split` makes others alike.
  [[nodiscard]] options const& settings() const { return here().settings; }

  /// Whether this host has more ranks than cores: then waiting must not keep a core busy.
  [[nodiscard]] bool crowded() const { return here().crowded; }

  /// What its waits have found out about this rank's core.
  [[nodiscard]] tutti::detail::patience& patience() const { return here().patience; }

  /// How long an operation may take before it fails; an operator may set its own. `no_deadline`: as long as it takes.
  [[nodiscard]] duration deadline() const { return here().settings.deadline; }
  /// @throws precondition_error if it is negative
  void deadline(duration d) { here().settings.deadline = detail::expect_deadline(d); }

  [[nodiscard]] Transport& transport() const { return here().transport; }
  [[nodiscard]] Trace& trace() const { return here().trace; }

  /// The last operations of this rank, oldest first: what to look at when something failed.
  [[nodiscard]] detail::recorder& recent() const { return here().recent; }

  /// Moves on everything that has been started, here and on all communicators on which this thread has started
  /// operations. Never waits.
  /// @throws precondition_error if another thread is in a call
  void poll() const {
    turn mine(*this);
    state& s = here();
    s.transport.poll();
    advance();
    if constexpr (Trace::enabled && requires { s.transport.incidents(); }) {
      s.trace_incidents();
    }
    mine.end();
  }
  /// The same without a look at what the transport has.
  void advance() const {
    state& s = here();
    s.pending.advance();
    if (detail::duties* const others = detail::duties::besides(s)) [[unlikely]] {
      others->move(s);
    }
  }

  /// Finds out what nobody tells, and says what is waited for to those who ask; here and there alike. Dear: for every
  /// few milliseconds of waiting.
  void look() const {
    claim();
    state& s = here();
    s.look();
    if (detail::duties* const others = detail::duties::besides(s)) [[unlikely]] {
      others->look(s);
    }
  }

  /// An operation is about to be started, which this thread moves on from now on.
  void tend() const { detail::duties::take(here()); }
  /// This thread goes on with what another one may have started.
  void claim() const { here().claim(); }
  /// Whether this is a copy of it in a forked child. It belongs to the parent, and its operations go on there.
  [[nodiscard]] bool inherited() const { return here().generation != detail::inheritance::generation(); }
  /// How the thread that has started operations here sees this.
  [[nodiscard]] detail::duty const& as_duty() const { return here(); }

  [[nodiscard]] detail::pending_list& operations() const { return here().pending; }
  [[nodiscard]] detail::stream_numbers& streams() const { return here().streams; }
  [[nodiscard]] detail::transfer_numbers& sends() const { return here().sends; }
  [[nodiscard]] detail::transfer_numbers& receives() const { return here().receives; }

  /// What drives this communicator from an event loop, if anything does: see <tutti/asio.hpp>.
  [[nodiscard]] void* companion() const { return here().companion; }
  void companion(void* loop) { here().companion = loop; }

  /// The error that a fault of this epoch is to an operation.
  [[nodiscard]] error explain(fault const& why, call const& what, operation_number const& number,
                              std::uint32_t step) const {
    std::vector<rank_type> at_fault;
    auto const blame = [&](rank_type r) {
      if (r != no_rank && (at_fault.empty() || at_fault.front() != r)) {
        at_fault.push_back(r);
      }
    };
    for (rank_type r = 0; r < size(); ++r) {
      if ((why.circle & fault::bit_of(r)) != 0) {
        at_fault.push_back(r);
      }
    }
    if (why.kind == failure::mismatch) {
      blame(why.culprit == rank() ? why.reporter : why.culprit);
      blame(why.reporter == rank() ? why.culprit : why.reporter);  // either may be the one that is wrong
    } else {
      blame(why.culprit);
    }
    std::string text;
    switch (why.kind) {
      case failure::peer_lost:
        text = who(why.culprit) + " is gone";
        break;
      case failure::deadline:
        if (why.circle != 0) {
          text = circle(why.circle);
          break;
        }
        text = why.culprit == no_rank  ? "not complete in time, and no rank was found that does not answer"
               : why.culprit == rank() ? "this rank did not answer in time"
                                       : "no answer from " + who(why.culprit) + " in time";
        break;
      case failure::mismatch:
        text = "the calls of " + who(why.reporter) + " and " + who(why.culprit) + " differ";
        break;
      case failure::cancelled:
        text = who(why.culprit) + " gave up its operation";
        break;
      default:
        text = std::string(tutti::name(why.kind)) + " error at " + who(why.culprit);
    }
    if (why.reporter != rank() && why.reporter != no_rank && why.reporter != why.culprit) {
      text += "; noticed by " + who(why.reporter);
    }
    return report(why.kind, text, what, number, step, std::move(at_fault));
  }

  /// An error of an operation of this rank, in the words of every tutti error.
  [[nodiscard]] error report(failure kind, std::string const& text, call const& what, operation_number const& number,
                             std::uint32_t step, std::vector<rank_type> at_fault) const {
    std::string operation = describe(what, number);
    std::string const said = operation + " #" + std::to_string(number.sequence) + " of " + name() + ", step " +
                             std::to_string(step) + ", on " + who(rank()) + " of " + std::to_string(size()) + " (" +
                             std::string(Transport::name) + "): " + text;
    return {{kind, name(), std::move(operation), number.sequence, step, rank(), std::move(at_fault)}, said};
  }

 private:
  /// All that it is: one for all its names, and never moved.
  struct state : detail::duty {
    template <class Meet>
    state(Meet& meet, options const& o, Trace&& to)
        : duty{.move = [](duty& d) noexcept { return of(d).move_on(); },
               .arm = [](duty& d) { return of(d).transport.arm(); },
               .disarm = [](duty& d) noexcept { of(d).transport.disarm(); },
               .look = [](duty& d) noexcept { of(d).look_quietly(); }},
          extent(meet.size()),
          rank(meet.rank()),
          settings(checked(o)),
          name(name_of(meet)),
          parent_ranks(ranks_in_parent(meet)),
          members(introduce(meet, o.role, name)),
          crowded(neighbours() > std::thread::hardware_concurrency()),
          transport(open_transport<Transport>(meet, o.transport)),
          hosts(find_hosts()),
          trace(std::move(to)),
          sends(meet.size()),
          receives(meet.size()) {
      if constexpr (N != dynamic) {
        expects(meet.size() == N, "this communicator's size is fixed in its type, and the world has another one");
      }
      settings.kin.found();
      transport.begin({transfer_lane, 0}, make_call(operation_kind::transfer, "", "", ""));
    }

    void hold() noexcept { holders.fetch_add(1, std::memory_order_relaxed); }
    void let_go() noexcept {
      if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete this;
      }
    }

    ~state() { detail::duties::leave(*this); }

    [[gnu::always_inline]] void claim() noexcept {
      if (detail::duties::is_free(*this) ? !pending.empty() : !detail::duties::is_mine(*this)) [[unlikely]] {
        detail::duties::take(*this);
      }
    }

    // What a thread does here that waits for something else. What goes wrong is the operations' own: their errors, not
    // those of whatever the thread is in. Of memory they may have run out: their next turn, or wait, meets that again.
    static state& of(duty& d) noexcept { return static_cast<state&>(d); }
    bool move_on() noexcept {
      try {
        if constexpr (!rests<Transport>) {
          transport.poll();
        }
        pending.advance();
      } catch (...) {
      }
      return !pending.empty();
    }
    void look_quietly() noexcept {
      try {
        look();
      } catch (...) {
      }
    }
    void look() {
      transport.look();
      pending.say();
    }

    static constexpr char const* two_threads =
        "two threads use this communicator at a time: let them take turns, or give each one of its own (tutti::dup)";
    /// Ends a turn. False, and the epoch has failed, if another thread has tried to have one meanwhile.
    [[gnu::always_inline]] bool leave() noexcept {
      bool const alone = user.leave();
      if (!alone) [[unlikely]] {
        end_epoch();
      }
      return alone;
    }
    [[gnu::cold]] void end_epoch() noexcept {
      try {
        transport.revoke({failure::cancelled, rank, rank});  // the others would wait for what was refused
      } catch (...) {
      }
    }

    /// How many ranks are on this host.
    [[nodiscard]] rank_type neighbours() const {
      rank_type count = 0;
      for (member const& m : members) {
        count += m.host == members[rank].host ? 1U : 0U;
      }
      return count;
    }

    [[nodiscard]] detail::host_map find_hosts() const {
      if constexpr (requires { transport.hosts(); }) {
        return {};
      } else {
        std::vector<std::string_view> names;
        for (member const& m : members) {
          names.push_back(m.host);
        }
        return detail::host_map(names);
      }
    }

    /// What the transport has refused since the last time, e.g. connections of unknown peers.
    void trace_incidents() {
      auto const& all = transport.incidents();
      for (; incidents_traced < all.size(); ++incidents_traced) {
        trace.record({.kind = event_kind::note, .time = transport.now(), .text = all[incidents_traced]});
      }
    }

    std::uint32_t generation = detail::inheritance::generation();
    [[no_unique_address]] tutti::extent<N> extent;
    rank_type rank;
    options settings;
    std::string name;
    std::vector<rank_type> parent_ranks;  ///< empty: the same as here
    std::vector<member> members;
    bool crowded;
    tutti::detail::patience patience;
    Transport transport;
    detail::host_map hosts;  ///< empty if the transport knows them
    [[no_unique_address]] Trace trace;
    detail::stream_numbers streams;
    detail::transfer_numbers sends;
    detail::transfer_numbers receives;
    detail::pending_list pending;
    detail::recorder recent;
    void* companion = nullptr;
    std::size_t incidents_traced = 0;
    detail::sole_user user;
    std::atomic<std::uint32_t> holders{1};
  };

  explicit communicator(state& of) noexcept : state_(&of) { of.hold(); }

  [[nodiscard]] state& here() const {
    expects(state_.get() != nullptr,
            "this communicator is none: it has been moved from, or this rank joined no part of a split");
    return *state_;
  }

  /// "rank 2 (worker:1 on node7, pid 4242)".
  [[nodiscard]] std::string who(rank_type r) const {
    return r >= members().size() ? "an unknown rank" : tutti::describe(r, members()[r]);
  }

  /// Before anybody is met, who would wait for this rank.
  static options const& checked(options const& o) {
    static_cast<void>(detail::expect_deadline(o.deadline));
    return o;
  }

  /// "ranks wait for each other: rank 0 (...) waits for rank 1 in send/recv(int32 x 1), rank 1 (...) waits ...".
  [[nodiscard]] std::string circle(std::uint64_t members) const {
    std::string text;
    for (rank_type r = 0; r < size(); ++r) {
      if ((members & fault::bit_of(r)) == 0) {
        continue;
      }
      text += (text.empty() ? "ranks wait for each other: " : ", ") + who(r);
      if constexpr (answers<Transport>) {
        for (std::uint32_t lane = lane_count; lane-- > 0;) {  // send and recv come first
          wait_report const w = transport().said(r, lane);
          if ((members & fault::bit_of(w.for_whom)) != 0) {
            text += " waits for rank " + std::to_string(w.for_whom) + " in " + describe(w.what);
            break;
          }
        }
      }
    }
    return text;
  }

  template <class Meet>
  static std::string name_of(Meet const& meet) {
    if constexpr (requires { meet.name(); }) {
      return meet.name();
    } else {
      return "world";
    }
  }

  template <class Meet>
  static std::vector<rank_type> ranks_in_parent(Meet const& meet) {
    if constexpr (requires { meet.parent_ranks(); }) {
      return meet.parent_ranks();
    } else {
      return {};
    }
  }

  /// Everybody says who it is, and rank 0 what all are called from now on.
  template <class Meet>
  static std::vector<member> introduce(Meet& meet, std::string const& role, std::string& name) {
    std::vector<member> all(meet.size());
    const std::vector<std::string> texts = meet.exchange(name + '\n' + encode(this_member(role)));
    name = texts[0].substr(0, texts[0].find('\n'));
    for (rank_type r = 0; r < meet.size(); ++r) {
      auto const end = texts[r].find('\n');
      if (end == std::string::npos || !decode(std::string_view(texts[r]).substr(end + 1), all[r])) {
        throw error(failure::join, "rank " + std::to_string(r) + " introduced itself in words of another version")
            .between(meet.rank(), {r});
      }
    }
    return all;
  }

  detail::counted<state> state_;
};

}  // namespace tutti
