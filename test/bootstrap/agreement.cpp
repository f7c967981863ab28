// SPDX-License-Identifier: Apache-2.0
// test: plain optimised (the same code runs under sanitizers in bootstrap_shrink_host)
//
// All executions of small worlds in which members agree. The state machines are those of the library; the network, the
// ends of members and their naps are a model: any member may become host or visit any host at any time, a guest may
// leave its host at any time, messages are late, members end at any time, and a host may give up any member. So what
// the model lets happen contains all that connections, clocks and listeners do.
#include <tutti/detail/bootstrap/agreement.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using tutti::rank_type;
using tutti::detail::agreement;
using tutti::detail::ballot;
using tutti::detail::detector_call;
using tutti::detail::proposal;
using tutti::detail::shrink_message;

/// Writes all that a member knows as numbers.
struct tutti::detail::agreement_probe {
  static void write(std::string& text, std::uint64_t number) {
    text += static_cast<char>(number);
    if (number > 254) {
      BOOST_FAIL("a number is too large for the model");
    }
  }
  static void write(std::string& text, ballot const& b) {
    write(text, b.count);
    write(text, b.host);
  }
  static void write(std::string& text, std::vector<rank_type> const& ranks) {
    write(text, ranks.size());
    for (rank_type const r : ranks) {
      write(text, r);
    }
  }
  static void write(std::string& text, proposal const& p) {
    write(text, p.round);
    write(text, p.number);
    write(text, static_cast<std::uint64_t>(p.call));
    write(text, p.value);
    write(text, p.members);
  }
  static void write(std::string& text, shrink_message const& m) {
    write(text, m.rank == no_rank ? 254 : m.rank);
    write(text, static_cast<std::uint64_t>(m.kind));
    write(text, m.round);
    write(text, m.number);
    write(text, static_cast<std::uint64_t>(m.call));
    write(text, m.value);
    write(text, m.content);
  }
  static void write(std::string& text, agreement const& a) {
    write(text, a.result_);
    write(text, a.promise_);
    write(text, a.last_proposal_);
    write(text, static_cast<std::uint64_t>(a.call_));
    write(text, a.contribution_);
    write(text, a.is_left_out_ ? 1 : 0);
    write(text, a.rival_group_);
    write(text, a.notified_ranks_);
    write(text, a.peers_.size());
    for (auto const& p : a.peers_) {
      write(text, static_cast<std::uint64_t>(p.state) * 2 + (p.has_answered ? 1 : 0));
      write(text, p.hello);
      write(text, p.last_proposal);
    }
    write(text, static_cast<std::uint64_t>(a.phase_));
    write(text, a.ballot_);
    write(text, a.proposal_);
    write(text, (a.must_ask_ ? 2U : 0U) + (a.has_looked_ ? 1U : 0U));
  }
};

namespace {

using probe = tutti::detail::agreement_probe;
using action = agreement::action;
using reception = agreement::reception;

/// The bounds of an exploration.
struct bounds {
  rank_type members;
  std::uint64_t rounds;
  unsigned ends;      ///< members that may end before they have decided all rounds
  unsigned hostings;  ///< attempts to be host, of all members together; 0: in order, the lowest living rank alone
  unsigned naps;      ///< times that a host gives up members that are not gone
  unsigned leaves;    ///< times that a guest leaves its host
};

constexpr rank_type nowhere = 100;

/// A connection from a guest to a host, and the messages under way. An empty message says that the round has failed.
struct connection {
  rank_type guest;
  rank_type host;
  std::deque<shrink_message> to_host;
  std::deque<shrink_message> to_guest;
  bool is_closed_by_guest = false;
  bool is_closed_by_host = false;
};

struct member {
  agreement part;
  enum { idle, guest, host, outsider } role = idle;
  bool is_dead = false;
  rank_type host_rank = nowhere;        ///< the host of a guest
  action pending = action::wait;        ///< the next thing that a host does
  std::vector<rank_type> to_notice;     ///< members that still get a notice
  std::vector<shrink_message> notices;  ///< at this member's listener
  std::vector<rank_type> noted_ends;    ///< members whose end the host knows
};

std::uint64_t contribution_of(rank_type r) {
  return 0x7fU & ~(1U << r);
}

struct world {
  std::vector<member> members;
  std::vector<connection> connections;
  std::vector<proposal> results;  ///< by round
  bounds left;

  explicit world(bounds const& limits) : left(limits) {
    for (rank_type r = 0; r < limits.members; ++r) {
      members.push_back({agreement("", r, limits.members), member::idle, false, nowhere, {}, {}, {}, {}});
      members.back().part.begin(detector_call::agree, contribution_of(r));
    }
  }

  [[nodiscard]] bool has_finished(member const& m) const {
    return m.is_dead || m.role == member::outsider || (m.role == member::idle && m.part.result().round == left.rounds);
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (member const& m : members) {
      probe::write(text, m.is_dead ? 1 : 0);
      if (m.is_dead) {
        continue;
      }
      probe::write(text, static_cast<std::uint64_t>(m.role));
      probe::write(text, m.part);
      probe::write(text, m.host_rank);
      probe::write(text, static_cast<std::uint64_t>(m.pending));
      probe::write(text, m.to_notice);
      probe::write(text, m.noted_ends);
      for (auto const& n : m.notices) {
        probe::write(text, n);
      }
      probe::write(text, 200);
    }
    std::vector<std::string> lines;
    for (connection const& c : connections) {
      std::string& line = lines.emplace_back();
      probe::write(line, c.guest);
      probe::write(line, c.host);
      probe::write(line, (c.is_closed_by_guest ? 1U : 0U) + (c.is_closed_by_host ? 2U : 0U));
      for (auto const* queue : {&c.to_host, &c.to_guest}) {
        probe::write(line, queue->size());
        for (auto const& m : *queue) {
          probe::write(line, m);
        }
      }
    }
    std::sort(lines.begin(), lines.end());
    for (std::string const& line : lines) {
      text += line;
    }
    for (proposal const& p : results) {
      probe::write(text, p.value);
      probe::write(text, p.members);
    }
    for (unsigned const n : {left.ends, left.hostings, left.naps, left.leaves}) {
      probe::write(text, n);
    }
    return text;
  }
};

class explorer {
 public:
  explicit explorer(bounds const& limits) : is_ordered_(limits.hostings == 0) { visit(world(limits)); }

  [[nodiscard]] std::size_t states() const { return known_states_.size(); }
  [[nodiscard]] std::size_t decisions() const { return decisions_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  /// The number of states from which no member has to end, nap or leave for all to finish.
  [[nodiscard]] std::size_t finishing_states() const {
    std::vector<std::vector<std::size_t>> sources(states());
    for (auto const& [source, target] : steps_) {
      sources[target].push_back(source);
    }
    std::vector<bool> is_known(states());
    std::vector<std::size_t> next = ends_;
    std::size_t count = 0;
    while (!next.empty()) {
      std::size_t const state = next.back();
      next.pop_back();
      if (!is_known[state]) {
        is_known[state] = true;
        ++count;
        next.insert(next.end(), sources[state].begin(), sources[state].end());
      }
    }
    return count;
  }

 private:
  /// Returns the number of the state.
  std::size_t visit(world const& w) {
    auto const [position, is_new] = known_states_.emplace(w.text(), known_states_.size());
    std::size_t const number = position->second;
    if (!is_new) {
      return number;
    }
    if (std::all_of(w.members.begin(), w.members.end(), [&](member const& m) { return w.has_finished(m); })) {
      ends_.push_back(number);
    }
    auto const branch = [&](bool is_progress, auto const& change) {
      world next = w;
      change(next);
      tidy(next);
      std::size_t const end = visit(next);
      if (is_progress) {
        steps_.emplace_back(number, end);
      }
    };
    for (rank_type r = 0; r < w.members.size(); ++r) {
      member const& m = w.members[r];
      if (m.is_dead) {
        continue;
      }
      if (w.left.ends != 0 || (is_ordered_ && w.has_finished(m))) {
        branch(w.has_finished(m), [&](world& n) { end(n, r, w.has_finished(m)); });
      }
      if (w.has_finished(m)) {
        continue;
      }
      if (m.role == member::idle) {
        begin(w, r, branch);
      } else if (m.role == member::guest) {
        follow(w, r, branch);
      } else if (m.role == member::host) {
        lead(w, r, branch);
      }
    }
    return number;
  }

  /// An idle member becomes a host, or visits one.
  template <class Branch>
  void begin(world const& w, rank_type r, Branch const& branch) {
    bool const is_lowest =
        std::all_of(w.members.begin(), w.members.begin() + r, [](member const& m) { return m.is_dead; });
    if (is_ordered_ ? is_lowest : w.left.hostings != 0) {
      branch(true, [&](world& n) {
        n.left.hostings -= is_ordered_ ? 0 : 1;
        member& m = n.members[r];
        m.role = member::host;
        m.noted_ends.clear();
        std::vector<rank_type> absent;
        for (rank_type other = 0; is_ordered_ && other < r; ++other) {
          absent.push_back(other);
          m.noted_ends.push_back(other);
        }
        m.part.host({}, absent);
        advance(n, r);
      });
    }
    for (rank_type host = 0; host < w.members.size() && !(is_ordered_ && is_lowest); ++host) {
      member const& h = w.members[host];
      if (host != r && !h.is_dead && h.role == member::host) {
        branch(true, [&](world& n) {
          n.members[r].role = member::guest;
          n.members[r].host_rank = host;
          n.connections.push_back({r, host, {n.members[r].part.hello()}, {}});
        });
      }
      if (!h.is_dead && is_ordered_) {
        break;  // only the lowest one that lives
      }
    }
  }

  static connection* open_connection(world& w, rank_type guest) {
    auto const c = std::find_if(w.connections.begin(), w.connections.end(),
                                [guest](connection const& x) { return x.guest == guest && !x.is_closed_by_guest; });
    return c == w.connections.end() ? nullptr : &*c;
  }

  static void go_idle(world& w, rank_type r) {
    member& m = w.members[r];
    if (connection* const c = open_connection(w, r)) {
      c->is_closed_by_guest = true;
    }
    for (connection& c : w.connections) {
      c.is_closed_by_host = c.is_closed_by_host || c.host == r;
    }
    m.role = m.part.is_left_out() ? member::outsider : member::idle;
    m.host_rank = nowhere;
    m.pending = action::wait;
    m.to_notice.clear();
    m.noted_ends.clear();
    m.part.begin(detector_call::agree, contribution_of(r));
  }

  /// A guest takes a message, or leaves.
  template <class Branch>
  void follow(world const& w, rank_type r, Branch const& branch) {
    auto const line = std::find_if(w.connections.begin(), w.connections.end(),
                                   [r](connection const& x) { return x.guest == r && !x.is_closed_by_guest; });
    bool const is_host_dead = w.members[line->host].is_dead;
    if (!line->to_guest.empty()) {
      branch(true, [&](world& n) {
        connection& c = *open_connection(n, r);
        shrink_message const m = c.to_guest.front();
        c.to_guest.pop_front();
        member& me = n.members[r];
        if (m.rank == tutti::no_rank) {
          if (m.value == 1) {
            me.part.stay_out();
          }
          go_idle(n, r);
        } else if (me.part.learn(m)) {
          note_result(n, r);
          go_idle(n, r);
        } else if (auto const answer = me.part.answer(m)) {
          c.to_host.push_back(*answer);
        } else {
          go_idle(n, r);
        }
      });
    }
    if ((line->to_guest.empty() && line->is_closed_by_host) || is_host_dead) {
      branch(true, [&](world& n) { go_idle(n, r); });
    } else if (w.left.leaves != 0) {
      branch(false, [&](world& n) {
        --n.left.leaves;
        go_idle(n, r);
      });
    }
  }

  /// A host handles an event, or does what is pending.
  template <class Branch>
  void lead(world const& w, rank_type r, Branch const& branch) {
    member const& me = w.members[r];
    for (std::size_t i = 0; i < w.connections.size(); ++i) {
      connection const& c = w.connections[i];
      if (c.host != r || c.is_closed_by_host) {
        continue;
      }
      bool const is_hello = !c.to_host.empty() && c.to_host.front().kind == shrink_message::step::hello;
      if (!c.to_host.empty() && (me.pending == action::wait || (me.pending == action::look && is_hello))) {
        branch(true, [&](world& n) { hear(n, i); });
      }
      if (me.pending == action::wait && (c.is_closed_by_guest || w.members[c.guest].is_dead) &&
          (c.to_host.empty() || w.members[c.guest].is_dead)) {
        branch(true, [&](world& n) {
          n.connections[i].is_closed_by_host = true;
          n.members[r].part.note_departure(c.guest);
          advance(n, r);
        });
      }
    }
    if (me.pending == action::wait) {
      for (rank_type other = 0; other < w.members.size(); ++other) {
        if (w.members[other].is_dead && me.part.watches(other) &&
            std::count(me.noted_ends.begin(), me.noted_ends.end(), other) == 0) {
          branch(true, [&](world& n) {
            n.members[r].noted_ends.push_back(other);
            n.members[r].part.note_end(other);
            advance(n, r);
          });
        }
      }
      if (w.left.naps != 0) {
        branch(false, [&](world& n) {
          --n.left.naps;
          n.members[r].part.expire();
          advance(n, r);
        });
      }
      return;
    }
    branch(true, [&](world& n) { act(n, r); });
  }

  void hear(world& n, std::size_t i) {
    connection& c = n.connections[i];
    agreement& part = n.members[c.host].part;
    shrink_message const m = c.to_host.front();
    c.to_host.pop_front();
    if (m.kind != shrink_message::step::hello) {
      part.note_answer(m);
      return advance(n, c.host);
    }
    switch (part.receive(m)) {
      case reception::refused:
        c.is_closed_by_host = true;
        break;
      case reception::left_out:
        c.to_guest.push_back({});
        c.to_guest.back().value = 1;
        c.is_closed_by_host = true;
        break;
      case reception::late:
        c.to_guest.push_back(part.verdict());
        c.is_closed_by_host = true;
        break;
      case reception::welcome:
        for (connection& older : n.connections) {  // a line takes the place of the guest's older one
          older.is_closed_by_host =
              older.is_closed_by_host || (&older != &c && older.host == c.host && older.guest == c.guest);
        }
        if (part.is_asked(c.guest)) {
          c.to_guest.push_back(part.request());
        }
    }
    if (n.members[c.host].pending == action::wait) {
      advance(n, c.host);
    }
  }

  /// Calls `next` until the host waits, or is to do something that others may come before.
  static void advance(world& n, rank_type r) {
    member& me = n.members[r];
    for (;;) {
      me.pending = me.part.next();
      if (me.pending != action::ask) {
        break;
      }
      for (connection& c : n.connections) {
        bool const has_come = c.host == r && !c.is_closed_by_host &&
                              (c.to_host.empty() || c.to_host.front().kind != shrink_message::step::hello);
        if (has_come) {
          c.to_guest.push_back(me.part.request());
        }
      }
    }
    if (me.pending == action::leave_notices) {
      me.to_notice = me.part.ranks_to_notify();
    }
  }

  void act(world& n, rank_type r) {
    member& me = n.members[r];
    switch (me.pending) {
      case action::leave_notices:
        if (!me.to_notice.empty()) {
          n.members[me.to_notice.back()].notices.push_back(me.part.notice());
          me.to_notice.pop_back();
        }
        if (me.to_notice.empty()) {
          me.part.note_notices();
          advance(n, r);
        }
        break;
      case action::look:
        for (shrink_message const& notice : std::exchange(me.notices, {})) {
          me.part.read_notice(notice);
        }
        me.part.note_look();
        advance(n, r);
        break;
      case action::decide:
        for (connection& c : n.connections) {
          if (c.host == r && !c.is_closed_by_host) {
            bool const is_in = me.part.result().counts(c.guest);
            c.to_guest.push_back(is_in ? me.part.verdict() : shrink_message{});
            c.to_guest.back().value = is_in ? c.to_guest.back().value : 1;
          }
        }
        if (!me.part.is_left_out()) {
          note_result(n, r);
        }
        go_idle(n, r);
        break;
      default:  // fail
        for (shrink_message const& notice : std::exchange(me.notices, {})) {
          me.part.read_notice(notice);
        }
        for (connection& c : n.connections) {
          auto const cause = me.part.cause_for(c.guest, {});
          if (c.host == r && !c.is_closed_by_host && cause) {
            c.to_guest.push_back({});
            c.to_guest.back().value = cause->at_fault == std::vector<rank_type>{c.guest} ? 1 : 0;
          }
        }
        left_out_ += me.part.is_left_out() ? 1U : 0U;
        go_idle(n, r);
    }
  }

  /// Compares a member's result with the first one of that round.
  void note_result(world& n, rank_type r) {
    ++decisions_;
    proposal const& result = n.members[r].part.result();
    BOOST_REQUIRE(result.counts(r));
    std::uint64_t value = ~std::uint64_t{0};
    for (rank_type const m : result.members) {
      value &= contribution_of(m);
    }
    BOOST_REQUIRE(result.value == value);
    if (n.results.size() < result.round) {
      BOOST_REQUIRE(n.results.size() + 1 == result.round);
      n.results.push_back(result);
    }
    proposal const& first = n.results[static_cast<std::size_t>(result.round) - 1];
    BOOST_REQUIRE_MESSAGE(first.members == result.members && first.value == result.value,
                          "two members have two results of round " << result.round);
  }

  static void end(world& n, rank_type r, bool has_finished) {
    n.left.ends -= has_finished ? 0 : 1;
    n.members[r].is_dead = true;
    n.members[r].notices.clear();
  }

  /// Removes what changes nothing any more.
  static void tidy(world& n) {
    std::erase_if(n.connections, [&](connection const& c) {
      bool const has_guest = !c.is_closed_by_guest && !n.members[c.guest].is_dead;
      bool const has_host = !c.is_closed_by_host && !n.members[c.host].is_dead;
      return !has_guest && !has_host;
    });
    for (member& m : n.members) {
      if (m.role == member::outsider) {
        m.notices.clear();
      }
    }
  }

  bool is_ordered_;
  std::unordered_map<std::string, std::size_t> known_states_;  ///< texts and numbers
  std::vector<std::pair<std::size_t, std::size_t>> steps_;     ///< all that need no end, nap or leave
  std::vector<std::size_t> ends_;                              ///< states in which all have finished
  std::size_t decisions_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

/// A member follows no lower ballot, and of two accepted proposals the one with the higher ballot is proposed again.
BOOST_AUTO_TEST_CASE(a_higher_ballot_counts) {
  agreement host("", 2, 3);
  host.begin(detector_call::agree, 7);
  host.host({}, {});
  std::vector<agreement> guests;
  for (rank_type const r : {0U, 1U}) {
    agreement& guest = guests.emplace_back("", r, 3);
    shrink_message request{"", r, shrink_message::step::proposal, 1, {4 - 2 * r, r}};
    request.content = {1, {}, detector_call::agree, r, {0, 1, 2}};
    BOOST_REQUIRE(guest.answer(request));
    request.number.count -= 1;
    BOOST_TEST(!guest.answer(request));
    request.kind = shrink_message::step::query;
    BOOST_TEST(!guest.answer(request));
    BOOST_TEST((host.receive(guest.hello()) == reception::welcome));
  }
  BOOST_REQUIRE((host.next() == action::ask));
  for (agreement& guest : guests) {
    auto const promise = guest.answer(host.request());
    BOOST_REQUIRE(promise);
    host.note_answer(*promise);
  }
  BOOST_REQUIRE((host.next() == action::look));
  host.note_look();
  BOOST_REQUIRE((host.next() == action::ask));
  BOOST_TEST(host.request().content.value == 0U);
  BOOST_TEST(host.request().number.count == 5U);
}

/// A guest that has followed another host meanwhile answers no lower ballot, so its host asks all again, with a higher
/// one. It proposes what the other host's ballot made the guest accept.
BOOST_AUTO_TEST_CASE(a_host_restarts_when_a_guest_follows_a_higher_ballot) {
  for (bool const is_proposing : {false, true}) {
    agreement host("", 0, 3);
    agreement first("", 1, 3);
    agreement second("", 2, 3);
    host.begin(detector_call::agree, 7);
    host.host({}, {});
    for (agreement const* const guest : {&first, &second}) {
      BOOST_REQUIRE((host.receive(guest->hello()) == reception::welcome));
    }
    auto const ask = [&](agreement& guest) {
      auto const answer = guest.answer(host.request());
      BOOST_REQUIRE(answer);
      host.note_answer(*answer);
    };
    BOOST_REQUIRE((host.next() == action::ask));
    if (is_proposing) {
      ask(first);
      ask(second);
      BOOST_REQUIRE((host.next() == action::look));
      host.note_look();
      BOOST_REQUIRE((host.next() == action::ask));
    }
    ask(first);
    shrink_message request{"", 1, shrink_message::step::proposal, 1, {5, 1}};
    request.content = {1, {}, detector_call::agree, 3, {0, 1, 2}};
    BOOST_REQUIRE(second.answer(request));
    host.note_departure(2);
    BOOST_REQUIRE((host.receive(second.hello()) == reception::welcome));
    BOOST_REQUIRE((host.next() == action::ask));
    BOOST_TEST((host.request().kind == shrink_message::step::query));
    BOOST_TEST(host.request().number.count == 6U);
    ask(first);
    ask(second);
    BOOST_REQUIRE((host.next() == action::look));
    host.note_look();
    BOOST_REQUIRE((host.next() == action::ask));
    BOOST_TEST(host.request().content.value == 3U);
  }
}

/// Only the lowest living rank is host, and guests leave it when it ends. If no more members end, all can finish.
BOOST_AUTO_TEST_CASE(members_that_end_keep_none_from_deciding_alike) {
  for (bounds const& limits : {bounds{2, 3, 2, 0, 0, 0}, {3, 2, 2, 0, 0, 0}, {4, 1, 2, 0, 0, 0}}) {
    explorer const exploration(limits);
    BOOST_TEST_MESSAGE(limits.members << " members, " << limits.rounds << " rounds: " << exploration.states()
                                      << " states");
    BOOST_TEST(exploration.decisions() != 0U);
    BOOST_TEST(exploration.left_out() == 0U);
    BOOST_TEST(exploration.finishing_states() == exploration.states());
  }
}

/// Members may be asleep, several hosts may be at work, and groups may leave each other out.
BOOST_AUTO_TEST_CASE(members_that_sleep_decide_nothing_else) {
  for (bounds const& limits : {bounds{2, 2, 1, 3, 2, 1}, {3, 1, 0, 2, 2, 1}, {3, 1, 1, 2, 1, 0}}) {
    explorer const exploration(limits);
    BOOST_TEST_MESSAGE(limits.members << " members, " << limits.rounds << " rounds: " << exploration.states()
                                      << " states");
    BOOST_TEST(exploration.decisions() != 0U);
    BOOST_TEST(exploration.left_out() != 0U);
  }
}
