// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cerrno>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL std::string introduction(std::string const& name, std::string const& role) {
  return message({name, "\n", machine_kind(), "\n", core_set::of_thread().text(), "\n", encode(this_member(role))});
}

/// Checks that all ranks have one memory layout: messages are sent as they are in memory.
/// @throws error(failure::join)
TUTTI_DECL void agree_on_machine(rank_state const& s, rank_type them, std::string_view theirs,
                                 std::string_view of_rank_0) {
  constexpr char const* remedy = " one: start all ranks on machines of one byte order, as programs of one word size";
  if (theirs != of_rank_0) {
    throw error(failure::join,
                message({s.words(them), " is a ", theirs, " process, and ", s.words(0), " a ", of_rank_0, remedy}))
        .set_ranks(s.rank, {them});
  }
}

TUTTI_DECL rank_state::rank_state(any_transport over, tracing trace, rank_type me, std::vector<rank_type> in_parent,
                                  std::vector<std::string> const& texts)
    : rank(me),
      sends(static_cast<rank_type>(texts.size())),
      receives(static_cast<rank_type>(texts.size())),
      any(over),
      traced(trace),
      name(texts[0], 0, texts[0].find('\n')),
      parent_ranks(std::move(in_parent)),
      members(texts.size()) {
  move = [](duty& d) noexcept { return static_cast<rank_state&>(d).move_on(); };
  arm = [](duty& d) { return static_cast<rank_state&>(d).any.arm(); };
  disarm = [](duty& d) noexcept { static_cast<rank_state&>(d).any.disarm(); };
  duty::look = [](duty& d) noexcept { static_cast<rank_state&>(d).look_quietly(); };
  std::vector<std::string_view> cores_of(texts.size());
  std::string_view kind_of_rank_0;
  for (rank_type r = 0; r < size(); ++r) {
    std::string_view const text = texts[r];
    auto const begin = text.find('\n');
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
  std::string_view last;
  for (rank_type r = 0; r < size(); ++r) {
    if (members[r].host == members[rank].host) {
      ++neighbours;
      if (cores_of[r] != last) {  // most ranks have equal sets
        static_cast<void>(cores.add(cores_of[r]));
        last = cores_of[r];
      }
    }
  }
  crowded = neighbours > cores.usable();
}

TUTTI_DECL rank_state::~rank_state() = default;

TUTTI_DECL void rank_state::poll() {
  turn mine(*this);
  any.poll();
  advance();
  if (traced.incidents != nullptr) {
    traced.incidents(*this);
  }
  mine.end();
}

TUTTI_DECL void rank_state::refuse_call() const {
  expects(!inherited(),
          "a process forked from a rank cannot use the rank's communicators: let it call only exec or _exit");
  refuse(std::source_location::current(),
         "a running reduction may not call its own communicator, except to cancel requests; make the call after the "
         "operation");
}

/// Ends the operations that were cancelled during a step, after it.
TUTTI_DECL void rank_state::end_given_up() noexcept {
  while (!in_step && std::exchange(gave_up, false)) {  // reductions run by this may cancel further operations
    static_cast<void>(operations.advance(true));
  }
}

TUTTI_DECL void rank_state::probe() {
  uncancelled const throughout(uncancelled::points::none);
  claim();
  expect_callable();
  any.probe();
  operations.publish_wait();
  if (duties* const others = duties::besides(*this)) [[unlikely]] {
    others->look(*this);
  }
}

// Called by a thread that waits for something else. Exceptions become errors of the operations here, not of that
// thread's call. After std::bad_alloc, the next turn or wait tries again.
TUTTI_DECL bool rank_state::move_on() noexcept {
  if (in_step || inherited()) {  // a reduction waits on another communicator, or this is a forked child
    return in_step;
  }
  try {
    if (!any.waits_itself()) {
      any.poll();
    }
    advance_operations();
  } catch (...) {
  }
  if (gave_up) [[unlikely]] {
    end_given_up();
  }
  return !operations.empty();
}
TUTTI_DECL void rank_state::look_quietly() noexcept {
  if (in_step || inherited()) {
    return;
  }
  try {
    any.probe();
    operations.publish_wait();
  } catch (...) {
  }
}
TUTTI_DECL void rank_state::end_epoch() noexcept {
  try {
    any.revoke({failure::cancelled, rank, rank});  // peers would wait for the refused call
  } catch (...) {
  }
}

TUTTI_DECL host_map rank_state::hosts_by_name() const {
  struct names {
    std::vector<member> const& of;
    [[nodiscard]] std::size_t size() const noexcept { return of.size(); }
    [[nodiscard]] std::string const& operator[](rank_type r) const noexcept { return of[r].host; }
  };
  return host_map(names{members});
}

TUTTI_DECL void rank_state::append_rank(std::string& text, void const* of, std::uint64_t which) {
  auto const& members = static_cast<rank_state const*>(of)->members;
  if (which >= members.size()) {
    append(text, {"an unknown rank"});
  } else {
    append(text, {"rank ", which, " (", tutti::detail::words(members[static_cast<rank_type>(which)]), ")"});
  }
}

/// "ranks wait for each other: rank 0 (...) waits for rank 1 in send/recv(int32 x 1), rank 1 (...) waits ...".
TUTTI_DECL void rank_state::append_circle(std::string& text, std::uint64_t members_of_it) const {
  char const* before = "ranks wait for each other: ";
  for (rank_type r = 0; r < size(); ++r) {
    if ((members_of_it & tutti::fault::bit_of(r)) == 0) {
      continue;
    }
    append(text, {std::exchange(before, ", "), words(r)});
    for (std::uint32_t lane = any.answers() ? lane_count : 0; lane-- > 0;) {  // send and recv first
      wait_report const w = any.reported_wait(r, lane);
      if ((members_of_it & tutti::fault::bit_of(w.peer)) != 0) {
        append(text, {" waits for rank ", w.peer, " in "});
        append_call(text, w.call);
        break;
      }
    }
  }
}

/// "; the device at 10.0.0.9:7171 waits for rank 2 (...), rank 3 (...)", if an in-network aggregator
/// waits for the culprit and others.
TUTTI_DECL void rank_state::append_others_missing(std::string& text, rank_type culprit) const {
  aggregator_report const helper = any.report_aggregator();
  bool found = false;
  for (rank_type const r : helper.missing) {
    found = found || r == culprit;
  }
  if (!found || helper.missing.size() < 2) {
    return;
  }
  append(text, {"; ", helper.name, " waits for "});
  char const* before = "";
  for (rank_type const r : helper.missing) {
    append(text, {std::exchange(before, ", "), words(r)});
  }
}

TUTTI_DECL void rank_state::append_deadline(std::string& text, tutti::fault const& why) const {
  if (why.circle != 0) {
    append_circle(text, why.circle);
  } else if (why.culprit == no_rank) {
    append(text, {"not complete in time, and no rank at fault was found"});
  } else if (why.culprit == rank) {
    append(text, {"this rank did not answer in time"});
  } else {
    append(text, {"no answer from ", words(why.culprit), " in time"});
  }
}

/// Appends if a peer was lost or could never be reached, its address, and the system's error.
TUTTI_DECL void rank_state::append_loss(std::string& text, tutti::fault const& why) const {
  if (why.kind == failure::peer_lost && why.code == 0) {
    return append(text, {words(why.culprit), " is gone"});
  }
  std::string const place = why.culprit < size() ? any.place_of(why.culprit) : std::string();
  char const* const at = place.empty() ? "" : " at ";
  std::string const system = describe_errno(why.code);
  std::string_view const remedy = remedy_of(why.code, "let no firewall block their connections");
  if (why.kind == failure::unreachable) {
    append(text,
           {words(why.reporter), " cannot connect to ", words(why.culprit), at, place, ": ", system, "; ", remedy});
  } else if (why.code == ECONNREFUSED) {
    append(text, {words(why.culprit), " is gone: nothing listens any more", at, place, ": ", system,
                  "; if its process runs, ", remedy});
  } else {
    append(text, {words(why.culprit), " is gone: nothing comes from its host any more", at, place, ": ", system});
  }
}

/// The ranks that an error names. If the calls of two ranks differ, each names the other, since either may be wrong. If
/// two ranks cannot connect, both are named, since either may have the wrong address.
TUTTI_DECL std::vector<rank_type> rank_state::at_fault(tutti::fault const& why) const {
  std::vector<rank_type> ranks;
  auto const blame = [&](rank_type r) {
    if (r != no_rank && (ranks.empty() || ranks.back() != r)) {
      ranks.push_back(r);
    }
  };
  for (rank_type r = 0; r < size(); ++r) {
    blame((why.circle & tutti::fault::bit_of(r)) != 0 ? r : no_rank);
  }
  if (why.kind == failure::unreachable) {
    blame(why.culprit < why.reporter ? why.culprit : why.reporter);
    blame(why.culprit < why.reporter ? why.reporter : why.culprit);
    return ranks;
  }
  bool const differ = why.kind == failure::mismatch;
  blame(differ && why.culprit == rank ? why.reporter : why.culprit);
  blame(differ && why.reporter != rank ? why.reporter : why.culprit);
  return ranks;
}

TUTTI_DECL error rank_state::explain(tutti::fault const& why, call const& what, operation_number const& number,
                                     std::uint32_t step) const {
  std::string text;
  switch (why.kind) {
    case failure::peer_lost:
    case failure::unreachable:
      append_loss(text, why);
      break;
    case failure::deadline:
      append_deadline(text, why);
      break;
    case failure::mismatch:
      append(text, {"the calls of ", words(why.reporter), " and ", words(why.culprit), " differ: the error of rank ",
                    why.reporter, " says how; this operation ended too"});
      break;
    case failure::cancelled:
      append(text, {words(why.culprit), " gave up its operation", why.code == 0 ? "" : ": ",
                    why.code == 0 ? std::string() : advise_on_errno(why.code)});
      break;
    case failure::none:
    case failure::protocol:
    case failure::join:
      append(text, {tutti::name(why.kind), " error at ", words(why.culprit)});
  }
  if (why.elsewhere) {
    append(text, {", in another communicator of the same world"});
  }
  if (why.reporter != rank && why.reporter != no_rank && why.reporter != why.culprit &&
      why.kind != failure::unreachable) {
    append(text, {"; noticed by ", words(why.reporter)});
  }
  if (why.kind == failure::deadline) {
    append_others_missing(text, why.culprit);
  }
  return report(why.kind, text, what, number, step, at_fault(why));
}

TUTTI_DECL error rank_state::report(failure kind, std::string_view text, call const& what,
                                    operation_number const& number, std::uint32_t step,
                                    std::vector<rank_type> at_fault) const {
  std::string operation = describe(what, number);
  std::string const said = message({operation, " #", number.sequence, " of ", name, ", step ", step, ", on ",
                                    words(rank), " of ", size(), " (", any.name(), "): ", text});
  return {{kind, name, std::move(operation), number.sequence, step, rank, std::move(at_fault)}, said};
}

}  // namespace tutti::detail::communicator
