// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>

#include <optional>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::string meeting_folder(std::string_view job) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (char const c : job) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[(hash >> shift) & 15U];
  }
  return "tutti-meeting-" + std::to_string(::geteuid()) + "-" + digits;
}

/// The number after the kind in the name of a meeting's file: the session's, or the writer's for drafts and probes.
/// Empty for every other file. Names are "open" or KIND.NUMBER, followed by more numbers, each after a dot.
TUTTI_DECL std::string_view number_in_name(std::string_view name) noexcept {
  constexpr std::size_t digits = 16;
  auto const dot = name.find('.');
  std::string_view const kind = name.substr(0, dot);
  std::string_view const rest = dot == name.npos ? std::string_view() : name.substr(dot + 1);
  for (std::string_view const candidate :
       {"hello", "welcome", "refusal", "text", "table", "failure", "bye", "unwritten", "draft", "probe"}) {
    if (kind == candidate && rest.size() >= digits && rest.find_first_not_of("0123456789abcdef.") == rest.npos &&
        rest.substr(0, rest.find('.')).size() == digits) {
      return rest.substr(0, digits);
    }
  }
  return {};
}

class file_rendezvous::meeting {
 public:
  TUTTI_COLD meeting(std::string place, membership const& me)
      : me_(with_finite_patience(me)),
        folder_(std::move(place), meeting_folder(me.job),
                net::proof_key(me.secret).derive("store", {meeting_folder(me.job)})),
        self_(net::draw_nonce()),
        roll_(me.size, "'" + folder_.path() + "'") {
    if (me.rank == 0) {
      open();
    } else {
      enter();
    }
  }
  meeting(meeting const&) = delete;  // the destructor says bye
  meeting& operator=(meeting const&) = delete;

  TUTTI_COLD ~meeting() {
    if (session_.empty()) {
      return;
    }
    try {
      if (me_.rank == 0) {
        leave_rivals();
        close();
      }
      folder_.mark("bye." + session_ + "." + std::to_string(me_.rank));
      if (folder_.marks("bye." + session_ + ".").size() == me_.size) {
        sweep([this](std::string_view session) { return session == session_; });
        folder_.remove_if_empty();
      }
    } catch (...) {  // a destructor must not fail; the next meeting of this job sweeps leftovers
    }
  }

  /// The first 64 hellos that rank 0 has refused, and the first 16 files that count as missing, with reasons.
  [[nodiscard]] TUTTI_COLD std::vector<std::string> refusals() const {
    std::vector<std::string> reasons = refusals_;
    for (std::string& reason : folder_.forgeries()) {
      reasons.push_back(std::move(reason));
    }
    return reasons;
  }

  /// The refusals, for an error that they may explain; empty if there are none.
  [[nodiscard]] TUTTI_COLD std::string refusal_text(char const* prefix) const {
    std::string text;
    for (std::string const& reason : refusals()) {
      text.append(text.empty() ? prefix : ", ").append(reason);
    }
    return text;
  }

  TUTTI_COLD std::vector<std::string> exchange(std::string_view text) {
    std::string const round = session_ + "." + std::to_string(round_++);
    return me_.rank == 0 ? collect(round, text) : contribute(round, text);
  }

 private:
  static constexpr duration grace = std::chrono::seconds(5);   ///< rank 0 decides first
  static constexpr duration moment = std::chrono::seconds(1);  ///< time in which latecomers are told of the failure
  static constexpr std::size_t hello_limit = 1U << 16U;        ///< bytes of one rank's hello

  /// Calls `is_found` until it returns true. Returns false at the deadline, which `is_found` may move.
  template <class Check>
  TUTTI_COLD static bool wait_for(time_point& deadline, Check&& is_found) {
    constexpr duration longest = std::chrono::milliseconds(50);
    for (duration pause = std::chrono::milliseconds(1);; pause = (std::min)(2 * pause, longest)) {
      if (is_found()) {
        return true;
      }
      duration const left = deadline - steady_now();
      if (left <= duration::zero()) {
        return false;
      }
      sleep_for((std::min)(pause, left));
    }
  }

  static bool contains(std::vector<std::string> const& names, std::string_view name) noexcept {
    for (std::string const& candidate : names) {
      if (candidate == name) {
        return true;
      }
    }
    return false;
  }

  /// Removes files of meetings by the number in their names. All other files in the folder stay.
  template <class Predicate>
  TUTTI_COLD void sweep(Predicate&& predicate) const {
    for (std::string const& name : folder_.list("")) {
      if (std::string_view const number = number_in_name(name); !number.empty() && predicate(number)) {
        folder_.remove(name);
      }
    }
  }

  /// Removes the files of a meeting that failed before it was complete, and the folder. Only the last member that has
  /// heard of the failure does so: each first removes its own sign, which is its hello, or the open file of rank 0.
  /// Members of a meeting that was complete say bye at their end instead.
  TUTTI_COLD void leave_nothing(std::string const& session) const noexcept {
    try {
      if (!session.empty() && read_open().nonce != session && folder_.list("hello." + session + ".").empty() &&
          folder_.list("welcome." + session).empty()) {
        sweep([&](std::string_view number) { return number == session; });
      }
    } catch (...) {  // the next meeting of this job sweeps leftovers
    }
    folder_.remove_if_empty();
  }

  /// Writes a file of a session. On failure an empty file tells the other ranks at once.
  TUTTI_COLD void write(std::string const& session, std::string const& name, std::string_view contents) {
    try {
      folder_.write(name, contents);
    } catch (error const& e) {
      folder_.mark("unwritten." + session + "." + std::to_string(me_.rank));
      throw error(e.kind(), "rank " + std::to_string(me_.rank) + " " + e.what()).set_ranks(me_.rank, {me_.rank});
    }
  }

  /// @throws error(failure::join) if a rank of this session could not write, or rank 0 could not even open a session
  TUTTI_COLD void check_written(std::string const& session, std::vector<std::string> const& earlier = {}) const {
    for (std::string const& name : folder_.marks("unwritten." + session + (session.empty() ? "" : "."))) {
      rank_type rank = 0;
      if (read_number(name.substr(name.rfind('.') + 1), rank) && rank < (session.empty() ? rank_type{1} : me_.size) &&
          rank != me_.rank && !contains(earlier, name)) {
        throw error(failure::join, "the world did not come together: rank " + std::to_string(rank) +
                                       " cannot write to '" + folder_.path() +
                                       "'; see the error of that rank (a full disk, a quota, ulimit -f)")
            .set_ranks(me_.rank, {rank});
      }
    }
  }

  // Functions of rank 0.

  /// The contents of a hello: the member and the number that it drew.
  struct hello {
    std::string nonce;
    rank_type rank = 0;
    rank_type size = 0;
    member process;
  };

  TUTTI_COLD void open() {
    roll_.note(0, this_member(me_.role));
    reporting([&] {
      write_open();
      time_point deadline = steady_now() + me_.patience;
      bool const is_complete = wait_for(deadline, [&] {
        serve();
        return roll_.complete();
      });
      if (!is_complete) {
        roll_.fail_missing(me_.patience, refusal_text(""));
      }
      // Before the welcome no member of this session writes, so drafts can be swept, too.
      sweep([this](std::string_view number) { return number != self_; });
      answer("welcome." + self_, nonces_, {});
    });
    session_ = self_;
    for (std::string const& name : hello_files_) {
      folder_.remove(name);
    }
  }

  /// Writes the sign of rank 0.
  TUTTI_COLD void write_open() {
    write(self_, "open", packer().text(self_).text(encode(this_member(me_.role))).take());
  }

  /// Removes the sign of rank 0, if it belongs to this process.
  TUTTI_COLD void close() const noexcept {
    try {
      if (read_open().nonce == self_) {
        folder_.remove("open");
      }
    } catch (...) {  // another process wrote it
    }
  }

  /// Takes new hellos. A world has one rank 0 and one process for each other rank until this rendezvous ends. A second
  /// process means that two jobs meet here, and ends the rendezvous for all.
  TUTTI_COLD void serve() {
    for (hello const& entry : hear()) {
      roll_.note(entry.rank, entry.process);
    }
    if (auto const peer_failure = read_failure(self_)) {
      throw error(peer_failure->kind, peer_failure->text).set_ranks(0, peer_failure->at_fault);
    }
    hello const rival = read_open();
    bool const is_rival = !rival.nonce.empty() && rival.nonce != self_;
    if (me_.secret) {
      face_rivals(is_rival ? rival.nonce : "");
    } else if (is_rival) {
      try {
        roll_.note(0, rival.process);
      } catch (error const& e) {
        answer("failure." + rival.nonce, {rival.nonce}, encode(rank_failure(e)));
        throw;
      }
    }
    check_written(self_);
  }

  /// Says hello to the rank 0 of another meeting. If it still runs, both meetings fail. If it does not, its open file
  /// is left over, or was put back by a program without the secret.
  /// @param rival the number in the open file, or empty if it is this process's or missing
  TUTTI_COLD void face_rivals(std::string const& rival) {
    if (!rival.empty() && !contains(rivals_, rival)) {
      rivals_.push_back(rival);
      write_hello(rival);
    }
    for (std::string const& other : rivals_) {
      if (auto const cause = read_failure(other)) {
        throw error(cause->kind, cause->text).set_ranks(0, cause->at_fault);
      }
    }
    if (!rival.empty()) {
      write_open();
    }
  }

  /// Removes the hellos to other meetings.
  TUTTI_COLD void leave_rivals() const {
    for (std::string const& rival : rivals_) {
      folder_.remove("hello." + rival + "." + self_);
    }
  }

  /// The hellos of this world since the last call. All others are refused.
  [[nodiscard]] TUTTI_COLD std::vector<hello> hear() {
    std::vector<hello> hellos;
    for (std::string const& name : folder_.list("hello." + self_ + ".")) {
      if (contains(hello_files_, name) || number_in_name(name).empty()) {
        continue;
      }
      auto const bytes = folder_.read(name, hello_limit);
      if (!bytes && me_.secret) {
        continue;  // it has no proof, and could not read a refusal that has one; the rank may still replace it
      }
      hello_files_.push_back(name);
      unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
      hello entry;
      entry.nonce = u.text();
      entry.rank = u.number_as<rank_type>();
      entry.size = u.number_as<rank_type>();
      bool const readable = decode(u.text(), entry.process) && u.is_complete();
      if (std::string const reason = readable ? objection_to(entry) : unreadable(name); !reason.empty()) {
        folder_.write("refusal" + name.substr(name.find('.')), reason);
        if (refusals_.size() < 64) {
          refusals_.push_back(reason);
        }
        continue;
      }
      nonces_.push_back(entry.nonce);
      hellos.push_back(std::move(entry));
    }
    return hellos;
  }

  [[nodiscard]] TUTTI_COLD std::string unreadable(std::string const& name) const {
    return "'" + folder_.path() + "/" + name +
           "' was written by another version of tutti; build all ranks with one version";
  }
  [[nodiscard]] TUTTI_COLD std::string objection_to(hello const& entry) const {
    if (entry.rank != 0 && entry.size != me_.size) {
      return describe(entry.rank, entry.process) + " expects a world of " + std::to_string(entry.size) +
             " ranks, but rank 0 expects " + std::to_string(me_.size) + " (TUTTI_SIZE)";
    }
    return entry.rank < me_.size ? ""
                                 : describe(entry.process) + " says it is rank " + std::to_string(entry.rank) + " of " +
                                       std::to_string(entry.size);
  }

  /// Calls `work`. If that fails, tells the members that have joined why, and for a moment members on their way.
  template <class Work>
  TUTTI_COLD void reporting(Work&& work) {
    try {
      work();
    } catch (error& e) {
      try {
        dismiss(encode(rank_failure(e)));
      } catch (error const&) {
        folder_.mark("unwritten." + self_ + ".0");  // this file stays for ranks that are on their way
        close();
      }
      e.set_ranks(0, e.at_fault());
      throw;
    }
  }

  TUTTI_COLD void dismiss(std::string const& text) {
    leave_rivals();
    answer("failure." + self_, nonces_, text);
    time_point deadline = steady_now() + (std::min)(me_.patience, moment);
    wait_for(deadline, [&] {
      if (!hear().empty()) {
        answer("failure." + self_, nonces_, text);
      }
      // True once all members, or one twice, have joined, and have removed their hellos on hearing of the failure.
      return (!session_.empty() || nonces_.size() >= me_.size) && folder_.list("hello." + self_ + ".").empty();
    });
    close();
    if (session_.empty()) {
      leave_nothing(self_);
    }
  }

  TUTTI_COLD void answer(std::string const& name, std::vector<std::string> const& nonces, std::string_view text) {
    write(self_, name, packer().texts(nonces).text(text).take());
  }

  TUTTI_COLD std::vector<std::string> collect(std::string const& round, std::string_view text) {
    std::vector<std::optional<std::string>> texts(me_.size);
    texts[0] = text;
    std::vector<std::string> result;
    reporting([&] {
      time_point deadline = steady_now() + me_.patience;
      std::vector<rank_type> absent;
      bool const is_complete = wait_for(deadline, [&] {
        absent.clear();
        for (rank_type r = 0; r < me_.size; ++r) {
          if (!texts[r]) {
            texts[r] = text_of(round, r);
          }
          if (!texts[r]) {
            absent.push_back(r);
          }
        }
        serve();
        return absent.empty();
      });
      if (!is_complete) {
        throw error(failure::join, "exchange in '" + folder_.path() + "': " + list_ranks(absent) + " of " +
                                       std::to_string(me_.size) + " did not come within " + seconds_text(me_.patience) +
                                       refusal_text("; refused: "))
            .set_ranks(0, absent);
      }
      packer table;
      table.number(me_.size);
      for (auto& rank_text : texts) {
        table.text(*rank_text);
        result.push_back(std::move(*rank_text));
      }
      write(session_, "table." + round, table.take());
    });
    if (round_ >= 2) {  // all ranks have joined this round, so all have read the last one's table
      folder_.remove("table." + session_ + "." + std::to_string(round_ - 2));
    }
    return result;
  }

  [[nodiscard]] TUTTI_COLD std::optional<std::string> text_of(std::string const& round, rank_type rank) const {
    try {
      return folder_.read("text." + round + "." + std::to_string(rank), text_limit(me_.size));
    } catch (error& e) {
      e.set_ranks(0, {rank});
      throw;
    }
  }

  // Functions of the other ranks.

  TUTTI_COLD void enter() {
    time_point deadline = steady_now() + me_.patience;
    std::vector<std::string> const earlier = folder_.marks("unwritten.");
    std::string hello_file;
    std::string session;
    try {
      bool const has_entered = wait_for(deadline, [&] {
        if (std::string const now = read_open().nonce; !now.empty() && now != session) {
          folder_.remove(hello_file);
          session = now;
          hello_file = write_hello(session);
          deadline = steady_now() + me_.patience + grace;  // rank 0 may have started only now
        }
        check_written(session, earlier);
        return !session.empty() && is_welcome(session);
      });
      if (!has_entered) {
        throw error(failure::join, "the world did not come together: rank " + std::to_string(me_.rank) + " of " +
                                       std::to_string(me_.size) + (me_.job.empty() ? "" : " of job '" + me_.job + "'") +
                                       " did not meet rank 0 in '" + folder_.path() + "' within " +
                                       seconds_text(me_.patience) +
                                       "; let all ranks see that folder, have one TUTTI_JOB and one TUTTI_SECRET or "
                                       "none, or set TUTTI_TIMEOUT to wait longer" +
                                       refusal_text("; refused: "))
            .set_ranks(me_.rank, {0});
      }
    } catch (...) {
      folder_.remove(hello_file);
      leave_nothing(session);
      throw;
    }
    session_ = session;
  }

  /// True if rank 0 has welcomed this rank.
  /// @throws error(failure::join) if it has refused it, or the world has failed
  [[nodiscard]] TUTTI_COLD bool is_welcome(std::string const& session) const {
    if (auto const cause = read_failure(session)) {
      throw error(cause->kind, cause->text).set_ranks(me_.rank, cause->at_fault);
    }
    std::string const refusal = "refusal." + session + "." + self_;
    if (auto const cause = folder_.read(refusal, hello_limit)) {
      folder_.remove(refusal);
      throw error(failure::join,
                  "the world did not come together: rank 0 in '" + folder_.path() + "' refuses a rank: " + *cause)
          .set_ranks(me_.rank, {me_.rank});
    }
    return answer_text(folder_.read("welcome." + session, table_limit)).has_value();
  }

  TUTTI_COLD std::vector<std::string> contribute(std::string const& round, std::string_view text) {
    std::string const name = "text." + round + "." + std::to_string(me_.rank);
    write(session_, name, text);
    std::optional<std::string> table;
    // Rank 0's patience begins with its own call, which may be as late as that patience allows.
    time_point deadline = steady_now() + 2 * me_.patience + grace;
    bool const has_table = wait_for(deadline, [&] {
      if (auto const cause = read_failure(session_)) {
        throw error(cause->kind, cause->text).set_ranks(me_.rank, cause->at_fault);
      }
      check_written(session_);
      table = folder_.read("table." + round, table_limit);
      return table.has_value();
    });
    if (!has_table) {
      throw error(failure::join, "exchange in '" + folder_.path() + "': rank 0 did not answer within " +
                                     seconds_text(2 * me_.patience + grace) + refusal_text("; refused: "))
          .set_ranks(me_.rank, {0});
    }
    folder_.remove(name);
    unpacker u(*table);
    auto texts = u.texts();
    if (!u.is_complete() || texts.size() != me_.size) {
      throw error(failure::join, "exchange in '" + folder_.path() + "': the answer of rank 0 must hold " +
                                     std::to_string(me_.size) + " texts, but does not")
          .set_ranks(me_.rank, {0});
    }
    return texts;
  }

  // Functions of all ranks.

  /// Writes this rank's hello to a session; returns the file's name.
  TUTTI_COLD std::string write_hello(std::string const& session) {
    std::string name = "hello." + session + "." + self_;
    write(session, name,
          packer().text(self_).number(me_.rank).number(me_.size).text(encode(this_member(me_.role))).take());
    return name;
  }

  /// The process that is rank 0 here now, with its number; the number is empty if there is none.
  [[nodiscard]] TUTTI_COLD hello read_open() const {
    auto const bytes = folder_.read("open", hello_limit);
    unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
    hello result;
    result.nonce = u.text();
    return decode(u.text(), result.process) && u.is_complete() && result.nonce.size() == self_.size() ? result
                                                                                                      : hello();
  }

  /// The contents of an answer that is addressed to this process, else nothing.
  [[nodiscard]] TUTTI_COLD std::optional<std::string> answer_text(std::optional<std::string> const& bytes) const {
    unpacker u(bytes ? std::string_view(*bytes) : std::string_view());
    auto const nonces = u.texts();
    std::string text(u.text());
    return u.is_complete() && contains(nonces, self_) ? std::optional(text) : std::nullopt;
  }

  [[nodiscard]] TUTTI_COLD std::optional<rank_failure> read_failure(std::string const& session) const {
    rank_failure cause;
    auto const text = answer_text(folder_.read("failure." + session, table_limit));
    return text && decode(*text, cause) ? std::optional(cause) : std::nullopt;
  }

  membership me_;
  directory folder_;
  std::string self_;     ///< the number that this process drew
  std::string session_;  ///< the number that rank 0 drew; empty until all have joined
  std::uint64_t round_ = 0;
  // Used by rank 0 only.
  roll_call roll_;
  std::vector<std::string> hello_files_;  ///< names of hello files
  std::vector<std::string> nonces_;       ///< the numbers of the senders of hellos
  std::vector<std::string> refusals_;
  std::vector<std::string> rivals_;  ///< the numbers of other meetings whose open files were here
};

TUTTI_DECL file_rendezvous::file_rendezvous(std::string place, membership const& me) : rank_(me.rank), size_(me.size) {
  expects(me.rank < me.size, "file_rendezvous: the rank must be below the size of its world, ", me.size, ", not ",
          me.rank);
  try {
    meeting_.reset(new meeting(std::move(place), me));
  } catch (error& e) {
    if (e.at_fault().empty()) {
      e.set_ranks(me.rank, {me.rank});
    }
    throw;
  }
}

TUTTI_DECL file_rendezvous::~file_rendezvous() = default;

TUTTI_DECL std::string file_rendezvous::local_host() const {
  return net::outward_host();
}

TUTTI_DECL std::vector<std::string> file_rendezvous::refusals() const {
  return meeting_->refusals();
}

TUTTI_DECL std::vector<std::string> file_rendezvous::exchange(std::string_view text) {
  return meeting_->exchange(text);
}

}  // namespace tutti::detail::bootstrap
