// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/error.hpp>
#include <tutti/expects.hpp>
#include <tutti/outcome.hpp>
#include <tutti/packing.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace tutti::inline v0_1_0::detail {

class file_rendezvous::meeting {
 public:
  meeting(std::string path, membership const& me)
      : me_(with_finite_patience(me)), at_(std::move(path)), self_(net::draw_nonce()) {
    if (me.rank == 0) {
      open();
    } else {
      enter();
    }
  }
  meeting(meeting const&) = delete;  // its end has a meaning
  meeting& operator=(meeting const&) = delete;

  ~meeting() {
    if (session_.empty()) {
      return;
    }
    try {
      at_.write("bye." + session_ + "." + std::to_string(me_.rank), {});
      if (at_.list("bye." + session_ + ".").size() == me_.size) {
        sweep([this](std::string const& name) { return name.find(session_) != name.npos; });
        at_.remove_if_empty();
      }
    } catch (...) {  // what stays is swept by the next job; ending is no place to fail
    }
  }

  /// Which hellos rank 0 has refused, and why. The first 64.
  [[nodiscard]] std::vector<std::string> const& refused() const noexcept { return refused_; }

  std::vector<std::string> exchange(std::string_view mine) {
    std::string const round = session_ + "." + std::to_string(round_++);
    return me_.rank == 0 ? collect(round, mine) : contribute(round, mine);
  }

 private:
  static constexpr duration grace = std::chrono::seconds(5);   ///< rank 0 decides first
  static constexpr duration moment = std::chrono::seconds(1);  ///< how long it tells latecomers that it failed

  /// Calls `look` until it says true. False at the deadline, which `look` may move.
  template <class Look>
  static bool wait_for(time_point& deadline, Look&& look) {
    constexpr duration longest = std::chrono::milliseconds(50);
    for (duration pause = std::chrono::milliseconds(1);; pause = (std::min)(2 * pause, longest)) {
      if (look()) {
        return true;
      }
      duration const left = deadline - steady_now();
      if (left <= duration::zero()) {
        return false;
      }
      std::this_thread::sleep_for((std::min)(pause, left));
    }
  }

  static bool contains(std::vector<std::string> const& names, std::string_view name) noexcept {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  template <class Which>
  void sweep(Which&& which) const {
    for (std::string_view const kind :
         {"open", "hello.", "welcome.", "refusal.", "text.", "table.", "failure.", "bye.", "draft."}) {
      for (std::string const& name : at_.list(kind)) {
        if (which(name)) {
          at_.remove(name);
        }
      }
    }
  }

  // rank 0

  /// What a member says of itself, and the number that it drew.
  struct hello {
    std::string nonce;
    rank_type rank = 0;
    rank_type size = 0;
    std::string job;
    member process;
  };

  void open() {
    roll_call roll(me_.size, "'" + at_.path() + "'");
    roll.note(0, this_member(me_.role));
    std::vector<std::string> seen;    // names of hellos
    std::vector<std::string> nonces;  // of those that sent them
    try {
      at_.write("open", packer().text(self_).text(encode(this_member(me_.role))).take());
      time_point deadline = steady_now() + me_.patience;
      bool const all = wait_for(deadline, [&] {
        for (hello const& h : hear(seen, nonces)) {
          roll.note(h.rank, h.process);
        }
        check_rival(roll);
        return roll.complete();
      });
      if (!all) {
        std::string why;
        for (std::string const& r : refused_) {
          why.append(why.empty() ? "" : ", ").append(r);
        }
        roll.fail_missing(me_.patience, why);
      }
    } catch (error& e) {
      dismiss(encode(rank_failure(e)), seen, nonces);
      e.between(0, e.at_fault());
      throw;
    }
    session_ = self_;
    // Before the welcome, while no member of this session writes: drafts are swept too.
    sweep([this](std::string const& name) { return name.find("." + session_) == name.npos; });
    answer("welcome." + session_, nonces, {});
    for (std::string const& name : seen) {
      at_.remove(name);
    }
  }

  /// The hellos of this world that have come since the last time. Others are told that they are not of it.
  [[nodiscard]] std::vector<hello> hear(std::vector<std::string>& seen, std::vector<std::string>& nonces) {
    std::vector<hello> out;
    for (std::string const& name : at_.list("hello." + self_ + ".")) {
      if (contains(seen, name)) {
        continue;
      }
      seen.push_back(name);
      auto const bytes = at_.read(name);
      unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
      hello h;
      h.nonce = u.text();
      h.rank = u.number_as<rank_type>();
      h.size = u.number_as<rank_type>();
      h.job = u.text();
      if (!decode(u.text(), h.process) || !u.done()) {
        continue;
      }
      if (std::string const why = objection_to(h); !why.empty()) {
        at_.write("refusal" + name.substr(name.find('.')), why);
        if (refused_.size() < 64) {
          refused_.push_back(why);
        }
        continue;
      }
      nonces.push_back(h.nonce);
      out.push_back(std::move(h));
    }
    return out;
  }

  [[nodiscard]] std::string objection_to(hello const& h) const {
    if (h.job != me_.job) {
      return describe(h.rank, h.process) + " belongs to job '" + h.job + "', this is '" + me_.job + "'";
    }
    if (h.size != me_.size) {
      return describe(h.rank, h.process) + " has a world of " + std::to_string(h.size) + " ranks, rank 0 one of " +
             std::to_string(me_.size) + " (TUTTI_SIZE)";
    }
    return h.rank < me_.size
               ? ""
               : describe(h.process) + " says it is rank " + std::to_string(h.rank) + " of " + std::to_string(h.size);
  }

  /// Tells those that have come why it failed, and for a moment those that are on their way.
  void dismiss(std::string const& why, std::vector<std::string>& seen, std::vector<std::string>& nonces) {
    answer("failure." + self_, nonces, why);
    time_point deadline = steady_now() + (std::min)(me_.patience, moment);
    wait_for(deadline, [&] {
      if (!hear(seen, nonces).empty()) {
        answer("failure." + self_, nonces, why);
      }
      return nonces.size() >= me_.size;  // one more than there should be: one is there twice
    });
    at_.remove("open");
  }

  /// Whether another process has opened the same directory as rank 0: then both are told.
  void check_rival(roll_call& roll) {
    if (auto const told = read_failure(self_)) {
      throw error(told->kind, told->text).between(0, told->at_fault);
    }
    auto const bytes = at_.read("open");
    unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
    std::string const nonce(u.text());
    member other;
    if (u.good() && nonce != self_ && decode(u.text(), other)) {
      try {
        roll.note(0, other);
      } catch (error const& e) {
        answer("failure." + nonce, {nonce}, encode(rank_failure(e)));
        throw;
      }
    }
  }

  void answer(std::string const& name, std::vector<std::string> const& to, std::string_view what) {
    at_.write(name, packer().texts(to).text(what).take());
  }

  std::vector<std::string> collect(std::string const& round, std::string_view mine) {
    std::vector<std::optional<std::string>> texts(me_.size);
    texts[0] = mine;
    time_point deadline = steady_now() + me_.patience;
    std::vector<rank_type> absent;
    bool const all = wait_for(deadline, [&] {
      absent.clear();
      for (rank_type r = 0; r < me_.size; ++r) {
        if (!texts[r]) {
          texts[r] = at_.read("text." + round + "." + std::to_string(r));
        }
        if (!texts[r]) {
          absent.push_back(r);
        }
      }
      return absent.empty();
    });
    if (!all) {
      rank_failure const why{"exchange in '" + at_.path() + "': " + list_ranks(absent) + " of " +
                                 std::to_string(me_.size) + " did not come within " + seconds_text(me_.patience),
                             failure::join, absent};
      at_.write("failure." + session_, encode(why));
      throw error(why.kind, why.text).between(0, absent);
    }
    packer table;
    table.number(me_.size);
    std::vector<std::string> out;
    for (auto& t : texts) {
      table.text(*t);
      out.push_back(std::move(*t));
    }
    at_.write("table." + round, table.take());
    if (round_ >= 2) {  // all have come to this round, so all have read the last one's
      at_.remove("table." + session_ + "." + std::to_string(round_ - 2));
    }
    return out;
  }

  // the others

  void enter() {
    time_point deadline = steady_now() + me_.patience;
    std::string mine;
    std::string session;
    bool const in = wait_for(deadline, [&] {
      auto const bytes = at_.read("open");
      unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
      std::string const now(u.text());
      if (u.good() && now.size() == self_.size() && now != session) {
        at_.remove(mine);
        session = now;
        mine = "hello." + session + "." + self_;
        at_.write(mine, packer()
                            .text(self_)
                            .number(me_.rank)
                            .number(me_.size)
                            .text(me_.job)
                            .text(encode(this_member(me_.role)))
                            .take());
        deadline = steady_now() + me_.patience + grace;  // it may have come just now
      }
      if (auto const why = read_failure(session)) {
        at_.remove(mine);
        throw error(why->kind, why->text).between(me_.rank, why->at_fault);
      }
      std::string const refusal = "refusal." + session + "." + self_;
      if (auto const why = session.empty() ? std::nullopt : at_.read(refusal)) {
        at_.remove(mine);
        at_.remove(refusal);
        throw error(failure::join,
                    "the world did not come together: rank 0 in '" + at_.path() + "' refuses a rank: " + *why)
            .between(me_.rank, {me_.rank});
      }
      return !session.empty() && addressed(at_.read("welcome." + session)).has_value();
    });
    if (!in) {
      at_.remove(mine);
      throw error(failure::join, "the world did not come together: rank " + std::to_string(me_.rank) + " of " +
                                     std::to_string(me_.size) + " did not meet rank 0 in '" + at_.path() + "' within " +
                                     seconds_text(me_.patience) +
                                     "; let all ranks see that folder, or set TUTTI_TIMEOUT to wait longer")
          .between(me_.rank, {0});
    }
    session_ = session;
  }

  /// What an answer says, if it is meant for this very process.
  [[nodiscard]] std::optional<std::string> addressed(std::optional<std::string> const& bytes) const {
    unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
    auto const to = u.texts();
    std::string what(u.text());
    return u.done() && contains(to, self_) ? std::optional(what) : std::nullopt;
  }

  [[nodiscard]] std::optional<rank_failure> read_failure(std::string const& session) const {
    rank_failure why;
    auto const what = session.empty() ? std::nullopt : addressed(at_.read("failure." + session));
    return what && decode(*what, why) ? std::optional(why) : std::nullopt;
  }

  std::vector<std::string> contribute(std::string const& round, std::string_view mine) {
    std::string const name = "text." + round + "." + std::to_string(me_.rank);
    at_.write(name, mine);
    std::optional<std::string> table;
    // Rank 0 keeps the time from when it comes itself, which may be as late as its own patience allows.
    time_point deadline = steady_now() + 2 * me_.patience + grace;
    bool const answered = wait_for(deadline, [&] {
      rank_failure why;
      if (auto const told = at_.read("failure." + session_); told && decode(*told, why)) {
        throw error(why.kind, why.text).between(me_.rank, why.at_fault);
      }
      table = at_.read("table." + round);
      return table.has_value();
    });
    if (!answered) {
      throw error(failure::join, "exchange in '" + at_.path() + "': rank 0 did not answer within " +
                                     seconds_text(2 * me_.patience + grace))
          .between(me_.rank, {0});
    }
    at_.remove(name);
    return unpacker(*table).texts();
  }

  membership me_;
  directory at_;
  std::string self_;     ///< the number that this process drew
  std::string session_;  ///< the one that rank 0 drew; empty until all have come
  std::uint64_t round_ = 0;
  std::vector<std::string> refused_;
};

TUTTI_DECL file_rendezvous::file_rendezvous(std::string path, membership const& me) : rank_(me.rank), size_(me.size) {
  expects(me.rank < me.size, "file_rendezvous: the rank must be below the size of its world, ", me.size, ", not ",
          me.rank);
  meeting_.reset(new meeting(std::move(path), me));
}

TUTTI_DECL file_rendezvous::~file_rendezvous() = default;

TUTTI_DECL std::string file_rendezvous::local_host() const {
  return net::outward_host();
}

TUTTI_DECL std::vector<std::string> file_rendezvous::refused() const {
  return meeting_->refused();
}

TUTTI_DECL std::vector<std::string> file_rendezvous::exchange(std::string_view mine) {
  return meeting_->exchange(mine);
}

}  // namespace tutti::detail
