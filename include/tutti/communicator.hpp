// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/concept.hpp>
#include <tutti/bootstrap/member.hpp>
#include <tutti/core/error.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/core/extent.hpp>
#include <tutti/core/host_map.hpp>
#include <tutti/core/patience.hpp>
#include <tutti/core/pending.hpp>
#include <tutti/core/recorder.hpp>
#include <tutti/core/stream_numbers.hpp>
#include <tutti/trace/concept.hpp>
#include <tutti/trace/no_trace.hpp>
#include <tutti/transport/concept.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {

/// How a rank takes part in a world.
template <class Transport>
struct world_options {
  duration deadline = std::chrono::minutes(5);  ///< how long an operation may take
  std::string role;                             ///< shown in errors and reports, e.g. "worker:3"
  typename options_of<Transport>::type transport{};
};

/// A group of ranks that talk to each other: rank, size, transport, trace. The operators work on one.
///
/// It stays where it was made: operators and requests refer to it, and must not outlive it.
/// Thread safety: one thread at a time. Different communicators are independent of each other.
template <transport Transport, rank_type N = dynamic, tracer Trace = no_trace>
class communicator {
 public:
  using transport_type = Transport;
  using trace_type = Trace;
  using options = world_options<Transport>;

  /// Collective over the members of the rendezvous.
  /// @throws error (failure::join) naming the ranks that are missing when its deadline passes.
  template <rendezvous Meet>
  explicit communicator(Meet& meet, options const& o = {}, Trace trace = {})
      : extent_(meet.size()),
        rank_(meet.rank()),
        settings_(o),
        members_(introduce(meet, o.role)),
        crowded_(neighbours() > std::thread::hardware_concurrency()),
        transport_(open_transport<Transport>(meet, o.transport)),
        hosts_(find_hosts()),
        trace_(std::move(trace)),
        sends_(meet.size()),
        receives_(meet.size()) {
    if constexpr (N != dynamic) {
      expects(meet.size() == N, "this communicator's size is fixed in its type, and the world has another one");
    }
    transport_.begin({transfer_lane, 0}, make_call(operation_kind::transfer, "", "", ""));
  }

  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return extent_; }
  [[nodiscard]] tutti::extent<N> extent() const noexcept { return extent_; }

  /// Host, process and role of every rank.
  [[nodiscard]] std::vector<member> const& members() const noexcept { return members_; }
  [[nodiscard]] std::string const& role() const noexcept { return settings_.role; }

  /// Which ranks share a host: as the transport sees it, or by the names of the hosts.
  ///
  ///     tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()}
  [[nodiscard]] host_map const& hosts() const noexcept {
    if constexpr (requires { transport_.hosts(); }) {
      return transport_.hosts();
    } else {
      return hosts_;
    }
  }
  /// How many ranks are on this rank's host, and which of them this rank is.
  [[nodiscard]] rank_type local_size() const noexcept {
    return static_cast<rank_type>(hosts().members(hosts().host(rank_)).size());
  }
  [[nodiscard]] rank_type local_rank() const noexcept { return hosts().local(rank_); }

  /// What it was made with; `split` makes others alike.
  [[nodiscard]] options const& settings() const noexcept { return settings_; }

  /// Whether this host has more ranks than cores: then waiting must not keep a core busy.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }

  /// What its waits have found out about this rank's core.
  [[nodiscard]] tutti::patience& patience() noexcept { return patience_; }

  /// How long an operation may take before it fails; an operator may set its own.
  [[nodiscard]] duration deadline() const noexcept { return settings_.deadline; }
  void deadline(duration d) noexcept { settings_.deadline = d; }

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  [[nodiscard]] Trace& trace() noexcept { return trace_; }

  /// The last operations of this rank, oldest first: what to look at when something failed.
  [[nodiscard]] recorder const& recent() const noexcept { return recorder_; }
  [[nodiscard]] recorder& recent() noexcept { return recorder_; }

  /// Moves on everything that has been started. Never waits.
  void poll() {
    transport_.poll();
    pending_.advance();
    if constexpr (Trace::enabled && requires { transport_.incidents(); }) {
      trace_incidents();
    }
  }

  [[nodiscard]] pending_list& operations() noexcept { return pending_; }
  [[nodiscard]] stream_numbers& streams() noexcept { return streams_; }
  [[nodiscard]] transfer_numbers& sends() noexcept { return sends_; }
  [[nodiscard]] transfer_numbers& receives() noexcept { return receives_; }

  /// What drives this communicator from an event loop, if anything does: see <tutti/asio.hpp>.
  [[nodiscard]] void* companion() const noexcept { return companion_; }
  void companion(void* loop) noexcept { companion_ = loop; }

  /// The error that a fault of this epoch is to an operation.
  [[nodiscard]] error explain(fault const& why, call const& what, std::uint64_t sequence, std::uint32_t step) const {
    std::vector<rank_type> at_fault;
    auto const blame = [&](rank_type r) {
      if (r != no_rank && (at_fault.empty() || at_fault.front() != r)) {
        at_fault.push_back(r);
      }
    };
    if (why.kind == failure::mismatch) {
      blame(why.culprit == rank_ ? why.reporter : why.culprit);
      blame(why.reporter == rank_ ? why.culprit : why.reporter);  // either may be the one that is wrong
    } else {
      blame(why.culprit);
    }
    std::string text;
    switch (why.kind) {
      case failure::peer_lost:
        text = who(why.culprit) + " is gone";
        break;
      case failure::deadline:
        text = why.culprit == rank_ ? "this rank did not answer in time"
                                    : "no answer from " + who(why.culprit) + " in time";
        break;
      case failure::mismatch:
        text = "the calls of " + who(why.reporter) + " and " + who(why.culprit) + " differ";
        break;
      case failure::cancelled:
        text = who(why.culprit) + " gave up its operation";
        break;
      default:
        text = std::string(name(why.kind)) + " error at " + who(why.culprit);
    }
    if (why.reporter != rank_ && why.reporter != no_rank && why.reporter != why.culprit) {
      text += "; noticed by " + who(why.reporter);
    }
    return report(why.kind, text, what, sequence, step, std::move(at_fault));
  }

  /// An error of an operation of this rank, in the words of every tutti error.
  [[nodiscard]] error report(failure kind, std::string const& text, call const& what, std::uint64_t sequence,
                             std::uint32_t step, std::vector<rank_type> at_fault) const {
    error e(kind, describe(what) + " #" + std::to_string(sequence) + ", step " + std::to_string(step) + ", on " +
                      who(rank_) + " of " + std::to_string(size()) + " (" + std::string(Transport::name) +
                      "): " + text);
    e.in(describe(what), sequence, step).between(rank_, std::move(at_fault));
    return e;
  }

 private:
  /// How many ranks are on this host.
  [[nodiscard]] rank_type neighbours() const {
    rank_type count = 0;
    for (member const& m : members_) {
      count += m.host == members_[rank_].host ? 1U : 0U;
    }
    return count;
  }

  [[nodiscard]] host_map find_hosts() const {
    if constexpr (requires { transport_.hosts(); }) {
      return {};
    } else {
      std::vector<std::string_view> names;
      for (member const& m : members_) {
        names.push_back(m.host);
      }
      return host_map(names);
    }
  }

  /// "rank 2 (worker:1 on node7, pid 4242)".
  [[nodiscard]] std::string who(rank_type r) const {
    return r >= members_.size() ? "an unknown rank" : tutti::describe(r, members_[r]);
  }

  /// What the transport has refused since the last time, e.g. connections of strangers.
  void trace_incidents() {
    auto const& all = transport_.incidents();
    for (; incidents_traced_ < all.size(); ++incidents_traced_) {
      trace_.record({.kind = event_kind::note, .time = transport_.now(), .text = all[incidents_traced_]});
    }
  }

  template <class Meet>
  static std::vector<member> introduce(Meet& meet, std::string const& role) {
    std::vector<member> all(meet.size());
    const std::vector<std::string> texts = meet.exchange(encode(this_member(role)));
    for (rank_type r = 0; r < meet.size(); ++r) {
      if (!decode(texts[r], all[r])) {
        throw error(failure::join, "rank " + std::to_string(r) + " introduced itself in words of another version")
            .between(meet.rank(), {r});
      }
    }
    return all;
  }

  [[no_unique_address]] tutti::extent<N> extent_;
  rank_type rank_;
  options settings_;
  std::vector<member> members_;
  bool crowded_;
  tutti::patience patience_;
  Transport transport_;
  host_map hosts_;  ///< empty if the transport knows them
  [[no_unique_address]] Trace trace_;
  stream_numbers streams_;
  transfer_numbers sends_;
  transfer_numbers receives_;
  pending_list pending_;
  recorder recorder_;
  void* companion_ = nullptr;
  std::size_t incidents_traced_ = 0;
};

}  // namespace tutti
