// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/net/greeter.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>
#include <tutti/expects.hpp>
#include <tutti/outcome.hpp>
#include <tutti/packing.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

namespace tutti::detail {

TUTTI_DECL std::string tcp_hello::encode() const {
  return packer().number(version).number(rank).number(size).text(job).text(detail::encode(process)).take();
}
TUTTI_DECL bool tcp_hello::decode(std::string_view bytes) {
  unpacker u(bytes);
  bool const known = u.number() == version;
  rank = u.number_as<rank_type>();
  size = u.number_as<rank_type>();
  job = u.text();
  return detail::decode(u.text(), process) && u.done() && known;
}

class tcp_rendezvous::side {
 public:
  side() = default;
  side(side const&) = delete;
  side& operator=(side const&) = delete;
  virtual ~side() = default;

  virtual std::vector<std::string> exchange(std::string_view mine) = 0;
  [[nodiscard]] virtual std::string local_host() const = 0;
  [[nodiscard]] virtual std::vector<std::string> refused() const { return {}; }
};

/// Takes the hellos, then serves exchanges over the same connections. Rank 0's own thread does that, inside the calls;
/// nothing is served between them.
///
/// No connection is trusted before a valid hello: one that sends other bytes, too many or none is refused or left aside
/// and never delays the others. It is told nothing of the job, and so is a hello of another job or another world size.
/// A hello is a claim, though, and proves nothing: what the process that made it can do is to close its connection,
/// which frees its seat again, to take a seat, which the right process will find taken, and to send texts, which are
/// bounded.
class tcp_rendezvous::host final : public side {
 public:
  host(descriptor listener, membership const& me)
      : me_(with_finite_patience(me)),
        place_(net::local_address(listener.get()).text()),
        listener_(std::move(listener)),
        roll_(me.size, place_),
        guests_(me.size) {
    net::await_data(listener_.get());
    roll_.note(me.rank, this_member(me.role));
    try {
      gather();
    } catch (error& e) {
      dismiss({e.what(), e.kind(), e.at_fault()});
      e.between(0, e.at_fault());
      throw;
    }
    listener_.reset();
    pending_ = {};
    announce();
  }

  std::vector<std::string> exchange(std::string_view mine) override {
    std::vector<std::string> all(me_.size);
    std::vector<bool> here(me_.size);
    all[0] = mine;
    here[0] = true;
    reporting([&] { collect(all, here); });
    reporting([&] { deliver(bootstrap_frame_kind::table, packer().texts(all).take()); });
    return all;
  }

  /// Not a loopback address, unless all are here.
  [[nodiscard]] std::string local_host() const override { return reach_; }
  [[nodiscard]] std::vector<std::string> refused() const override { return refused_; }

  /// Listens at the port where rank 0 is to serve.
  /// @throws error(failure::join) that names both if another process is rank 0 there
  [[nodiscard]] static descriptor listen_at(net::host_port const& at, membership const& me);

  // What the greeter asks and tells.

  [[nodiscard]] static pending_hello begin(descriptor s) {
    std::string from = net::peer_address(s.get()).text();
    return {channel(std::move(s)), std::move(from)};
  }
  [[nodiscard]] static net::heard hear(pending_hello& p) { return p.hear(tcp_hello::limit); }
  void turn_away(pending_hello const& p, char const* why) { refuse(p.from, why); }
  void arrive(pending_hello p) {
    tcp_hello hello;
    if (!hello.decode(p.said.payload)) {
      return refuse(p.from, "not a hello of tutti");
    }
    if (hello.job != me_.job || hello.size != me_.size || hello.rank >= me_.size || p.line.unread() != 0) {
      refuse(p.from, objection_to(hello));
      p.line.queue(bootstrap_frame_kind::refusal, {});
      p.line.flush();
      return;
    }
    if (verdict_) {
      ++dismissed_;
      return tell(p.line, *verdict_);
    }
    if (guests_[hello.rank]) {
      check_seat(hello.rank);
    }
    try {
      roll_.note(hello.rank, hello.process);
    } catch (error const& e) {
      tell(p.line, {e.what(), e.kind(), e.at_fault()});
      throw;
    }
    guests_[hello.rank] = std::move(p.line);
  }

 private:
  static constexpr duration moment = std::chrono::seconds(1);  ///< how long it tells latecomers that it failed

  /// Waits until all have come.
  void gather() {
    time_point const deadline = steady_now() + me_.patience;
    while (!roll_.complete()) {
      listen(deadline);
      for (rank_type r = 1; roll_.complete() && r < me_.size; ++r) {
        check_seat(r);
      }
      // Not by what poll says: a chatty connection must not keep the deadline away.
      if (!roll_.complete() && steady_now() >= deadline) {
        roll_.fail_missing(me_.patience, refused_text());
      }
    }
  }

  /// Tells those that have come why it failed, and for a moment those that are on their way.
  void dismiss(rank_failure why) {
    verdict_ = std::move(why);
    std::size_t left = me_.size - 1;
    for (channel& g : guests_) {
      left -= g ? 1U : 0U;
      tell(g, *verdict_);
    }
    time_point const deadline = steady_now() + std::min(me_.patience, moment);
    while (dismissed_ < left && steady_now() < deadline) {
      listen(deadline);
    }
  }

  /// Waits once, and hears what has come.
  void listen(time_point deadline) {
    std::vector<pollfd> set(1, {listener_.get(), POLLIN, 0});
    for (channel const& g : guests_) {
      set.push_back({g.fd(), POLLIN, 0});  // an absent one has -1, which poll skips
    }
    pending_.append_to(set);
    poll_until(set, deadline);
    for (rank_type r = 1; r < me_.size; ++r) {
      if (set[1 + r].revents != 0) {
        check_seat(r);
      }
    }
    pending_.hear_ready(set, 1 + me_.size, *this);
    if (set[0].revents == 0) {
      return;
    }
    pending_.accept_some(listener_.get(), *this);
    if (pending_.starved() != 0 && pending_.empty() && !verdict_) {
      roll_.fail("rank 0 cannot accept connections at " + place_ + ": " + describe_errno(pending_.starved()) +
                     "; allow it a descriptor for each of the " + std::to_string(me_.size) + " ranks (ulimit -n)",
                 {0});
    }
  }

  /// A rank that has said hello has nothing more to say before it is welcome. If it has, or is gone, its seat is free.
  void check_seat(rank_type r) {
    io const heard = guests_[r].fill(1);
    if (heard == io::open) {
      return;
    }
    refuse(net::peer_address(guests_[r].fd()).text(),
           roll_.known(r) + (heard == io::closed ? " closed its connection" : " sent more than a hello") +
               " while others were still to come");
    guests_[r].close();
    roll_.strike_off(r);
  }

  /// For rank 0 alone: an unknown peer is not told why it was refused.
  [[nodiscard]] std::string objection_to(tcp_hello const& h) const {
    if (h.job != me_.job) {
      return describe(h.process) + " belongs to job '" + h.job + "', this is '" + me_.job + "'";
    }
    if (h.size != me_.size) {
      return describe(h.rank, h.process) + " has a world of " + std::to_string(h.size) + " ranks, rank 0 one of " +
             std::to_string(me_.size) + " (TUTTI_SIZE)";
    }
    return h.rank >= me_.size
               ? describe(h.process) + " says it is rank " + std::to_string(h.rank) + " of " + std::to_string(h.size)
               : describe(h.rank, h.process) + " sent more than a hello";
  }

  void refuse(std::string const& from, std::string const& why) {
    if (refused_.size() < 64) {
      refused_.push_back(from + ": " + why);
    }
  }

  /// The first few that were refused, for a failure that they may explain.
  [[nodiscard]] std::string refused_text() const {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(refused_.size(), most); ++i) {
      text += (i == 0 ? "" : ", ") + refused_[i];
    }
    return refused_.size() > most ? text + " and others" : text;
  }

  void announce() {
    reach_ = me_.size == 1 ? net::loopback_host() : std::string();
    for (rank_type r = 1; r < me_.size; ++r) {
      net::address const here = net::local_address(guests_[r].fd());
      if (r == 1 || !here.is_loopback()) {
        reach_ = here.host();
      }
      if (!here.is_loopback()) {
        break;
      }
    }
    reporting([&] { deliver(bootstrap_frame_kind::welcome, reach_); });
  }

  void collect(std::vector<std::string>& all, std::vector<bool>& here) {
    time_point const deadline = steady_now() + me_.patience;
    std::vector<pollfd> set(me_.size);
    for (;;) {
      std::vector<rank_type> absent;
      set[0] = {-1, 0, 0};
      for (rank_type r = 1; r < me_.size; ++r) {
        if (!here[r]) {
          take(r, all[r], here);
        }
        if (!here[r]) {
          if (!guests_[r]) {
            fail(roll_.known(r) + " is not connected any more", {r});
          }
          absent.push_back(r);
        }
        set[r] = {here[r] ? -1 : guests_[r].fd(), POLLIN, 0};
      }
      if (absent.empty()) {
        return;
      }
      if (steady_now() >= deadline) {
        fail(list_ranks(absent) + " of " + std::to_string(me_.size) + " did not come within " +
                 seconds_text(me_.patience),
             absent);
      }
      poll_until(set, deadline);
      for (rank_type r = 1; r < me_.size; ++r) {
        if (set[r].revents != 0 && guests_[r].fill() == io::closed) {
          take(r, all[r], here);
          if (!here[r]) {
            guests_[r].close();
            fail(roll_.known(r) + " closed its connection", {r});
          }
        }
      }
    }
  }

  void take(rank_type r, std::string& text, std::vector<bool>& here) {
    bootstrap_frame f;
    std::uint64_t const limit = text_limit();
    auto const found = guests_[r].next(f, limit);
    if (found == channel::found::nothing) {
      return;
    }
    if (found == channel::found::too_long) {
      fail(roll_.known(r) + " gave a text of more than " + std::to_string(limit) + " bytes", {r});
    }
    if (found != channel::found::frame || f.kind != bootstrap_frame_kind::text) {
      fail(roll_.known(r) + " sent bytes that are no text of an exchange", {r});
    }
    text = std::move(f.payload);
    here[r] = true;
  }

  /// Writes the same to all guests, one after the other: the system takes it at once.
  void deliver(bootstrap_frame_kind kind, std::string_view what) {
    time_point const deadline = steady_now() + me_.patience;
    for (rank_type r = 1; r < me_.size; ++r) {
      if (guests_[r]) {
        guests_[r].queue(kind, what);
        if (guests_[r].send(deadline) != io::done) {
          fail(roll_.known(r) + " closed its connection or does not read from it", {r});
        }
      }
    }
  }

  /// How long a text of an exchange may be, so that all together are a few megabytes.
  [[nodiscard]] std::uint64_t text_limit() const noexcept {
    constexpr std::uint64_t all = 1U << 22U;
    constexpr std::uint64_t least = 1U << 14U;
    return std::max(all / me_.size, least);
  }

  [[noreturn]] void fail(std::string const& what, std::vector<rank_type> at_fault) const {
    throw error(failure::join, "exchange at " + place_ + ": " + what).between(0, std::move(at_fault));
  }

  /// Does `work`; if that fails, all guests are told why.
  template <class Work>
  void reporting(Work&& work) {
    try {
      work();
    } catch (error& e) {
      for (channel& g : guests_) {
        tell(g, {e.what(), e.kind(), e.at_fault()});
      }
      e.between(me_.rank, e.at_fault());
      throw;
    }
  }

  static void tell(channel& line, rank_failure const& why) {
    if (line) {
      line.queue(bootstrap_frame_kind::failure, encode(why));
      line.send(steady_now() + std::chrono::milliseconds(100));
      line.close();
    }
  }

  membership me_;
  std::string place_;
  descriptor listener_;
  roll_call roll_;
  std::vector<channel> guests_;  ///< by rank
  net::greeter<pending_hello> pending_;
  std::vector<std::string> refused_;
  std::optional<rank_failure> verdict_;  ///< why the world does not come together
  std::size_t dismissed_ = 0;            ///< how many have been told that after they came late
  std::string reach_;
};

/// Comes to rank 0.
class tcp_rendezvous::guest final : public side {
 public:
  /// Connects, presents itself, and waits until every rank has come. Rank 0 may start later: until
  /// the deadline a host that is unknown, unreachable or refuses is tried again.
  /// @throws error(failure::join)
  guest(net::host_port const& at, membership const& me) : me_(with_finite_patience(me)), place_(net::format(at)) {
    time_point const deadline = steady_now() + me_.patience;
    constexpr duration longest = std::chrono::milliseconds(250);
    for (duration pause = std::chrono::milliseconds(2);; pause = std::min(2 * pause, longest)) {
      if (reach(at, deadline) && enter()) {
        return;
      }
      if (steady_now() + pause >= deadline) {
        throw error(failure::join, "the world did not come together: rank " + std::to_string(me.rank) + " of " +
                                       std::to_string(me.size) + " did not reach rank 0 at " + place_ + " within " +
                                       seconds_text(me_.patience) + ": " + reason_)
            .between(me.rank, {0});
      }
      std::this_thread::sleep_for(pause);
    }
  }

  std::vector<std::string> exchange(std::string_view mine) override {
    line_.queue(bootstrap_frame_kind::text, mine);
    bootstrap_frame answer;
    // Rank 0 keeps the time from when it comes itself, which may be as late as its own patience allows.
    time_point const deadline = steady_now() + 2 * me_.patience + grace;
    io state = line_.send(deadline);
    state = state == io::done ? line_.receive(answer, most_table, deadline) : state;
    if (state == io::done && answer.kind == bootstrap_frame_kind::table) {
      unpacker u(answer.payload);
      auto all = u.texts();
      if (u.done() && all.size() == me_.size) {
        return all;
      }
    }
    line_.close();
    throw_if_told(answer);
    throw error(failure::join,
                "exchange at " + place_ + ": " +
                    (state == io::late ? "rank 0 did not answer within " + seconds_text(2 * me_.patience + grace)
                                       : "rank 0 closed the connection: it has failed, or ended before this exchange"))
        .between(me_.rank, {0});
  }

  /// The number by which others reach this host: the interface that leads to rank 0, or what leads
  /// to it where rank 0 is on this very host.
  [[nodiscard]] std::string local_host() const override { return reach_; }

 private:
  /// How much longer than rank 0 the others wait: it is the one that can say which are missing.
  static constexpr duration grace = std::chrono::seconds(5);
  static constexpr std::uint64_t most_words = 1U << 16U;  ///< of a welcome or a failure
  static constexpr std::uint64_t most_table = 1U << 28U;  ///< of all texts

  bool reach(net::host_port const& at, time_point deadline) {
    try {
      for (net::address const& to : net::resolve(at.host, at.port)) {
        // An address that swallows packets must not keep the others from being tried.
        time_point const next = steady_now() + std::chrono::seconds(5);
        line_ = channel(net::connect(to, std::min(next, deadline)));
        if (line_) {
          return true;
        }
        reason_ = to.text() + ": " + describe_errno(errno);
      }
    } catch (error const& e) {
      reason_ = e.what();
    }
    return false;
  }

  bool enter() {
    time_point const deadline = steady_now() + me_.patience + grace;
    std::string const hello = tcp_hello{me_.rank, me_.size, me_.job, this_member(me_.role)}.encode();
    expects(hello.size() <= tcp_hello::limit, "tcp_rendezvous: the names of job and role make a greeting of ",
            hello.size(), " bytes; shorten them until it is ", tcp_hello::limit, " at most");
    line_.queue(bootstrap_frame_kind::hello, hello);
    bootstrap_frame answer;
    io state = line_.send(deadline);
    // Even if sending fails there may be an answer that says why.
    state = state == io::late ? state : line_.receive(answer, most_words, deadline);
    if (state == io::done && answer.kind == bootstrap_frame_kind::welcome) {
      net::address const mine = net::local_address(line_.fd());
      reach_ = mine.is_loopback() ? answer.payload : mine.host();
      return true;
    }
    throw_if_told(answer);
    if (state == io::done && answer.kind == bootstrap_frame_kind::refusal) {
      throw error(failure::join,
                  "the world did not come together: rank 0 at " + place_ + " refuses rank " + std::to_string(me_.rank) +
                      " of " + std::to_string(me_.size) + (me_.job.empty() ? "" : " of job '" + me_.job + "'") +
                      ": it serves another job (TUTTI_JOB), or one with another number of ranks (TUTTI_SIZE)")
          .between(me_.rank, {me_.rank});
    }
    reason_ = state == io::late ? "it accepts connections but does not answer"
                                : "what listens there closed the connection, or is no rank 0 of tutti";
    line_.close();
    return false;
  }

  void throw_if_told(bootstrap_frame const& answer) const {
    rank_failure why;
    if (answer.kind == bootstrap_frame_kind::failure && decode(answer.payload, why)) {
      throw error(why.kind, why.text).between(me_.rank, why.at_fault);
    }
  }

  membership me_;
  std::string place_;
  std::string reason_;
  std::string reach_;
  channel line_;
};

TUTTI_DECL descriptor tcp_rendezvous::host::listen_at(net::host_port const& at, membership const& me) {
  try {
    return net::listen(at.port);
  } catch (error const& e) {
    // If another process is rank 0 here, it names both when this one says hello.
    constexpr duration short_visit = std::chrono::milliseconds(200);
    membership brief = me;
    brief.patience = std::min(me.patience, short_visit);
    try {
      guest const second({"localhost", at.port}, brief);
    } catch (error const& told) {
      if (std::string_view(told.what()).find("two processes") != std::string_view::npos) {
        throw;
      }
    }
    throw error(failure::join, std::string(e.what()) +
                                   "; rank 0 serves the rendezvous there: is another program, or an earlier job, "
                                   "still at this port? Choose another with TUTTI_MASTER_PORT")
        .between(0, {0});
  }
}

TUTTI_DECL tcp_rendezvous::tcp_rendezvous(net::host_port const& at, membership const& me)
    : rank_(me.rank), size_(me.size) {
  expects(me.rank < me.size, "tcp_rendezvous: the rank must be below the size of its world, ", me.size, ", not ",
          me.rank);
  if (me.rank == 0) {
    side_.reset(new host(host::listen_at(at, me), me));
  } else {
    side_.reset(new guest(at, me));
  }
}

TUTTI_DECL tcp_rendezvous::tcp_rendezvous(descriptor listener, membership const& me) : rank_(me.rank), size_(me.size) {
  expects(me.rank == 0, "tcp_rendezvous: a listener must be given by rank 0, not by rank ", me.rank,
          ", which gives an address");
  side_.reset(new host(std::move(listener), me));
}

TUTTI_DECL tcp_rendezvous::~tcp_rendezvous() = default;

TUTTI_DECL std::vector<std::string> tcp_rendezvous::exchange(std::string_view mine) {
  return side_->exchange(mine);
}
TUTTI_DECL std::string tcp_rendezvous::local_host() const {
  return side_->local_host();
}
TUTTI_DECL std::vector<std::string> tcp_rendezvous::refused() const {
  return side_->refused();
}

}  // namespace tutti::detail
