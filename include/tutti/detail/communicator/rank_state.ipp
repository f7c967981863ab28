// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <atomic>
#include <cerrno>
#include <sched.h>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL std::string introduction(std::string const& name, std::string const& role) {
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t const number = count.fetch_add(1, std::memory_order_relaxed);
  return message(
      {name, "\n#", number, "\n", machine_kind(), "\n", core_set::of_thread().text(), "\n", encode(this_member(role))});
}

/// Checks that all ranks have one memory layout: messages are sent as they are in memory.
/// @throws error(failure::join)
TUTTI_DECL void agree_on_machine(rank_state const& state, rank_type peer, std::string_view peer_kind,
                                 std::string_view kind_of_rank_0) {
  constexpr char const* remedy = " one: start all ranks on machines of one byte order, as programs of one word size";
  if (peer_kind != kind_of_rank_0) {
    throw error(failure::join, message({state.words(peer), " is a ", peer_kind, " process, and ", state.words(0), " a ",
                                        kind_of_rank_0, remedy}))
        .set_ranks(state.rank, {peer});
  }
}

TUTTI_DECL rank_state::rank_state(any_transport erased_transport, tracing trace, rank_type me,
                                  std::vector<rank_type> in_parent, std::vector<std::string> const& texts)
    : rank(me),
      sends(static_cast<rank_type>(texts.size())),
      receives(static_cast<rank_type>(texts.size())),
      transport(erased_transport),
      trace_functions(trace),
      name(texts[0], 0, texts[0].find('\n')),
      parent_ranks(std::move(in_parent)),
      members(texts.size()) {
  move = [](progress_entry& entry) noexcept { return static_cast<rank_state&>(entry).move_on(); };
  arm = [](progress_entry& entry) { return static_cast<rank_state&>(entry).transport.arm(); };
  disarm = [](progress_entry& entry) noexcept { static_cast<rank_state&>(entry).transport.disarm(); };
  progress_entry::look = [](progress_entry& entry) noexcept { static_cast<rank_state&>(entry).look_quietly(); };
  std::vector<std::string_view> cores_of(texts.size());
  std::string_view kind_of_rank_0;
  for (rank_type r = 0; r < size(); ++r) {
    std::string_view const text = texts[r];
    auto const number = text.find('\n');
    auto const begin = number == text.npos ? number : text.find('\n', number + 1);
    auto const end = begin == text.npos ? begin : text.find('\n', begin + 1);
    auto const third = end == text.npos ? end : text.find('\n', end + 1);
    if (third == text.npos || !decode(text.substr(third + 1), members[r])) {
      throw error(failure::join,
                  message({"rank ", r, " was built with another version of tutti; build all ranks with one version"}))
          .set_ranks(rank, {r});
    }
    cores_of[r] = text.substr(end + 1, third - end - 1);
    std::string_view const kind = text.substr(begin + 1, end - begin - 1);
    kind_of_rank_0 = r == 0 ? kind : kind_of_rank_0;
    agree_on_machine(*this, r, kind, kind_of_rank_0);
  }
  std::size_t neighbours = 0;
  core_set cores;  // cores that this host's ranks may use
  std::string_view previous_cores;
  for (rank_type r = 0; r < size(); ++r) {
    if (members[r].host == members[rank].host) {
      ++neighbours;
      if (cores_of[r] != previous_cores) {  // most ranks have equal sets
        static_cast<void>(cores.add(cores_of[r]));
        previous_cores = cores_of[r];
      }
    }
  }
  is_oversubscribed = neighbours > cores.usable();
  publish_record(texts[0]);
}

/// Lets tools of this host read the flight recorder. All ranks have the text of rank 0, whose process gives its number
/// to no other communicator.
TUTTI_DECL void rank_state::publish_record(std::string_view text_of_rank_0) {
  communicator_facts facts;
  facts.identity = std::uint64_t{hash(text_of_rank_0)} << 32 | hash(text_of_rank_0, 1);
  facts.rank = rank;
  facts.size = size();
  facts.thread = this_thread_number();
  facts.name = name;
  for (rank_type r = 0; r < size(); ++r) {
    if (members[r].host == members[rank].host && ++facts.local_size <= communicator_record::member_limit) {
      facts.local_members.push_back({r, static_cast<std::uint32_t>(members[r].pid)});
    }
  }
  record->publish(facts);
}

TUTTI_DECL rank_state::~rank_state() = default;

TUTTI_DECL void rank_state::poll() {
  call_guard guard(*this);
  transport.poll();
  advance();
  if (trace_functions.incidents != nullptr) {
    trace_functions.incidents(*this);
  }
  guard.end();
}

TUTTI_DECL sole_user::entry rank_state::enter_after_loan() noexcept {
  sole_user::entry result = sole_user::entry::loan;
  while (result == sole_user::entry::loan && !is_inherited()) {  // a forked child lacks the other thread
    ::sched_yield();
    result = user.try_enter();
  }
  return result;
}

// Reads the operations only while the communicator is borrowed and in no progress list: then no thread changes them.
TUTTI_DECL bool rank_state::serve_idle() noexcept {
  if (!calls_system || transport.waits_itself() || is_inherited() || !user.borrow()) {
    return true;
  }
  bool is_done = true;
  if (progress_list::is_free(*this) && operations.empty()) {
    try {
      transport.poll();
      kin->note_abort(transport.fault());
      if (kin->is_aborted()) {
        kin->carry_out_abort();
      }
      is_done = transport.is_delivered();
    } catch (...) {  // the next poll tries again
    }
  }
  user.give_back();
  return is_done;
}

TUTTI_DECL void rank_state::refuse_call() const {
  expects(!is_inherited(),
          "a process forked from a rank cannot use the rank's communicators: let it call only exec or _exit");
  refuse(
      std::source_location::current(),
      "a running reduction, or a function at the end of a request, may not call its own communicator, except to cancel "
      "requests; make the call after the operation");
}

TUTTI_DECL void rank_state::end_given_up() noexcept {
  while (!is_advancing && std::exchange(has_given_up, false)) {  // reductions run by this may cancel further operations
    operations.advance_all();
  }
}

TUTTI_DECL void rank_state::probe() {
  cancellation_shield const shield(cancellation_shield::points::silent);
  call_guard guard(*this);
  transport.probe();
  if (kin != nullptr) {
    kin->look_for_abort();
  }
  carry_out_abort();
  operations.publish_wait();
  operations.check_deadlines();
  if (progress_list* const other_entries = progress_list::current_unless_only(*this)) [[unlikely]] {
    other_entries->look(*this);
  }
  guard.end();
}

// Called by a thread that waits for something else. Exceptions become errors of the operations here, not of that
// thread's call. After std::bad_alloc, the next turn or wait tries again.
TUTTI_DECL bool rank_state::move_on() noexcept {
  if (is_advancing || is_inherited()) {  // a reduction waits on another communicator, or this is a forked child
    return is_advancing;
  }
  carry_out_abort();
  try {
    if (!transport.waits_itself()) {
      transport.poll();
    }
    advance_operations();
  } catch (...) {
  }
  if (has_given_up) [[unlikely]] {
    end_given_up();
  }
  return !operations.empty();
}
TUTTI_DECL void rank_state::look_quietly() noexcept {
  if (is_advancing || is_inherited()) {
    return;
  }
  try {
    transport.probe();
    operations.publish_wait();
    operations.check_deadlines();
  } catch (...) {
  }
}
TUTTI_DECL void rank_state::end_epoch() noexcept {
  try {
    transport.revoke({failure::cancelled, rank, rank});  // peers would wait for the refused call
  } catch (...) {
  }
}

TUTTI_DECL void rank_state::end_operations() noexcept {
  end_epoch();
  bool const was_moving = std::exchange(is_moving, true);  // functions at the ends may destroy the last handle
  operations.advance_all();
  is_moving = was_moving;
}

TUTTI_DECL host_map rank_state::hosts_by_name() const {
  struct names {
    std::vector<member> const& members;
    [[nodiscard]] std::size_t size() const noexcept { return members.size(); }
    [[nodiscard]] std::string const& operator[](rank_type r) const noexcept { return members[r].host; }
  };
  return host_map(names{members});
}

TUTTI_DECL void rank_state::append_rank(std::string& text, void const* state, std::uint64_t number) {
  auto const& members = static_cast<rank_state const*>(state)->members;
  if (number >= members.size()) {
    append(text, {"an unknown rank"});
  } else {
    append(text, {"rank ", number, " (", tutti::detail::words(members[static_cast<rank_type>(number)]), ")"});
  }
}

/// "ranks wait for each other: rank 0 (...) waits for rank 1 in send/recv(int32 x 1), rank 1 (...) waits ...".
TUTTI_DECL void rank_state::append_circle(std::string& text, std::uint64_t circle) const {
  char const* separator = "ranks wait for each other: ";
  for (rank_type r = 0; r < size(); ++r) {
    if ((circle & tutti::fault::bit_of(r)) == 0) {
      continue;
    }
    append(text, {std::exchange(separator, ", "), words(r)});
    for (std::uint32_t lane = transport.answers() ? lane_count : 0; lane-- > 0;) {  // send and recv first
      wait_report const report = transport.reported_wait(r, lane);
      if ((circle & tutti::fault::bit_of(report.peer)) != 0) {
        append(text, {" waits for rank ", report.peer, " in "});
        append_call(text, report.call);
        break;
      }
    }
  }
}

/// "; the device at 10.0.0.9:7171 waits for rank 2 (...), rank 3 (...)", if an in-network aggregator
/// waits for the culprit and others.
TUTTI_DECL void rank_state::append_others_missing(std::string& text, rank_type culprit) const {
  aggregator_report const report = transport.report_aggregator();
  bool has_culprit = false;
  for (rank_type const r : report.missing) {
    has_culprit = has_culprit || r == culprit;
  }
  if (!has_culprit || report.missing.size() < 2) {
    return;
  }
  append(text, {"; ", report.name, " waits for "});
  char const* separator = "";
  for (rank_type const r : report.missing) {
    append(text, {std::exchange(separator, ", "), words(r)});
  }
}

TUTTI_DECL void rank_state::append_deadline(std::string& text, tutti::fault const& cause) const {
  if (cause.circle != 0) {
    append_circle(text, cause.circle);
  } else if (cause.culprit == no_rank) {
    append(text, {"not complete in time, and no rank at fault was found"});
  } else if (cause.culprit == rank) {
    append(text, {"this rank did not answer in time"});
  } else {
    append(text, {"no answer from ", words(cause.culprit), " in time"});
  }
}

/// Appends if a peer was lost or could never be reached, its address, and the system's error.
TUTTI_DECL void rank_state::append_loss(std::string& text, tutti::fault const& cause) const {
  if (cause.kind == failure::peer_lost && cause.code == 0) {
    return append(text, {words(cause.culprit), " is gone"});
  }
  std::string const place = cause.culprit < size() ? transport.describe_address(cause.culprit) : std::string();
  char const* const preposition = place.empty() ? "" : " at ";
  std::string const system = describe_errno(cause.code);
  std::string_view const remedy = remedy_of(cause.code, "let no firewall block their connections");
  if (cause.kind == failure::unreachable) {
    append(text, {words(cause.reporter), " cannot connect to ", words(cause.culprit), preposition, place, ": ", system,
                  "; ", remedy});
  } else if (cause.code == ECONNREFUSED) {
    append(text, {words(cause.culprit), " is gone: nothing listens any more", preposition, place, ": ", system,
                  "; if its process runs, ", remedy});
  } else {
    append(text,
           {words(cause.culprit), " is gone: nothing comes from its host any more", preposition, place, ": ", system});
  }
}

TUTTI_DECL void rank_state::append_abort(std::string& text, tutti::fault const& cause) const {
  std::string_view const reason = bounded_text(cause.reason);
  std::string_view const separator = reason.empty() ? "" : ": ";
  if (cause.culprit == no_rank) {
    append(text, {"rank ", cause.reporter, " of the world aborted it", separator, reason});
  } else {
    append(text, {words(cause.culprit), " aborted the world", separator, reason});
  }
}

/// The ranks that an error names. If the calls of two ranks differ, each names the other, since either may be wrong. If
/// two ranks cannot connect, both are named, since either may have the wrong address.
TUTTI_DECL std::vector<rank_type> rank_state::at_fault(tutti::fault const& cause) const {
  std::vector<rank_type> ranks;
  auto const blame = [&](rank_type r) {
    if (r != no_rank && (ranks.empty() || ranks.back() != r)) {
      ranks.push_back(r);
    }
  };
  for (rank_type r = 0; r < size(); ++r) {
    blame((cause.circle & tutti::fault::bit_of(r)) != 0 ? r : no_rank);
  }
  if (cause.kind == failure::unreachable) {
    blame(cause.culprit < cause.reporter ? cause.culprit : cause.reporter);
    blame(cause.culprit < cause.reporter ? cause.reporter : cause.culprit);
    return ranks;
  }
  bool const differ = cause.kind == failure::mismatch;
  blame(differ && cause.culprit == rank ? cause.reporter : cause.culprit);
  blame(differ && cause.reporter != rank ? cause.reporter : cause.culprit);
  return ranks;
}

TUTTI_DECL error rank_state::explain(tutti::fault const& cause, labelled_call const& call_record,
                                     operation_number const& number, std::uint32_t step) const {
  std::string text;
  switch (cause.kind) {
    case failure::peer_lost:
    case failure::unreachable:
      append_loss(text, cause);
      break;
    case failure::deadline:
      append_deadline(text, cause);
      break;
    case failure::mismatch:
      append(text, {"the calls of ", words(cause.reporter), " and ", words(cause.culprit),
                    " differ: the error of rank ", cause.reporter, " says how; this operation ended too"});
      break;
    case failure::cancelled:
      append(text, {words(cause.culprit), " gave up its operation", cause.code == 0 ? "" : ": ",
                    cause.code == 0 ? std::string() : advise_on_errno(cause.code)});
      break;
    case failure::aborted:
      append_abort(text, cause);
      break;
    case failure::none:
    case failure::protocol:
    case failure::join:
      append(text, {tutti::name(cause.kind), " error at ", words(cause.culprit)});
  }
  if (cause.elsewhere) {
    append(text, {", in another communicator of the same world"});
  }
  if (cause.reporter != rank && cause.reporter != no_rank && cause.reporter != cause.culprit &&
      cause.kind != failure::unreachable && cause.kind != failure::aborted) {
    append(text, {"; noticed by ", words(cause.reporter)});
  }
  if (cause.kind == failure::deadline) {
    append_others_missing(text, cause.culprit);
  }
  return report(cause.kind, text, call_record, number, step, at_fault(cause));
}

TUTTI_DECL error rank_state::report(failure kind, std::string_view text, labelled_call const& call_record,
                                    operation_number const& number, std::uint32_t step,
                                    std::vector<rank_type> at_fault) const {
  std::string operation = describe(call_record, number);
  std::string const full_text = message({operation, " #", number.sequence, " of ", name, ", step ", step, ", on ",
                                         words(rank), " of ", size(), " (", transport.name(), "): ", text});
  return {{kind, name, std::move(operation), number.sequence, step, rank, std::move(at_fault)}, full_text};
}

}  // namespace tutti::detail::communicator
