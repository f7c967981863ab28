// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/extend/time.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The side of the ranks that connect to rank 0.
class tcp_guest final : public tcp_side {
 public:
  /// Connects, presents itself, and waits until every rank has joined. Rank 0 may start later: a host that is unknown,
  /// unreachable or refuses is tried again until the deadline.
  /// @throws error(failure::join)
  TUTTI_COLD tcp_guest(host_port const& at, membership const& me)
      : me_(with_finite_patience(me)), key_(me.secret), place_(net::format(at)) {
    time_point const deadline = steady_now() + me_.patience;
    constexpr duration longest = std::chrono::milliseconds(250);
    for (duration pause = std::chrono::milliseconds(2);; pause = (std::min)(2 * pause, longest)) {
      if (reach(at, deadline) && enter()) {
        return;
      }
      if (steady_now() + pause >= deadline) {
        throw error(failure::join, "the world did not come together: rank " + std::to_string(me.rank) + " of " +
                                       std::to_string(me.size) + " did not reach rank 0 at " + place_ + " within " +
                                       seconds_text(me_.patience) + ": " + reason_ +
                                       "; start rank 0 there, or set TUTTI_TIMEOUT to wait longer")
            .set_ranks(me.rank, {0});
      }
      sleep_for(pause);
    }
  }

  TUTTI_COLD std::vector<std::string> exchange(std::string_view text) override {
    line_.queue(bootstrap_frame_kind::text, text);
    bootstrap_frame answer;
    // Rank 0's patience begins with its own call, which may be as late as that patience allows.
    time_point const deadline = steady_now() + 2 * me_.patience + grace;
    io state = line_.send(deadline);
    state = state == io::complete ? line_.receive(answer, table_limit, deadline) : state;
    if (state == io::complete && answer.kind == bootstrap_frame_kind::table) {
      unpacker u(answer.payload);
      auto texts = u.texts();
      if (u.is_complete() && texts.size() == me_.size) {
        return texts;
      }
    }
    bool const is_foreign = state == io::hangup && line_.next(answer, table_limit) != channel::parse_result::incomplete;
    line_.close();
    throw_failure_of(answer);
    throw error(failure::join,
                "exchange at " + place_ + ": " +
                    (state == io::late ? "rank 0 did not answer within " + seconds_text(2 * me_.patience + grace)
                     : is_foreign      ? "the answer of rank 0 is no table, or was changed on its way"
                                       : "rank 0 closed the connection: it has failed, or ended before this exchange"))
        .set_ranks(me_.rank, {0});
  }

  /// The address by which others reach this host: that of the interface on the route to rank 0, or the address that
  /// leads to rank 0 if it is on this host.
  [[nodiscard]] std::string local_host() const override { return reach_; }

 private:
  /// The time by which the others outwait rank 0, as only rank 0 can name the missing ranks.
  static constexpr duration grace = std::chrono::seconds(5);
  static constexpr std::uint64_t answer_limit = 1U << 16U;  ///< bytes of a welcome or a failure

  TUTTI_COLD bool reach(host_port const& at, time_point deadline) {
    try {
      for (net::address const& address : net::resolve(at.host, at.port)) {
        // An address that drops packets must not keep the others from being tried.
        time_point const next = steady_now() + std::chrono::seconds(5);
        line_ = channel(net::connect(address, (std::min)(next, deadline)));
        if (line_) {
          return true;
        }
        reason_ = address.text() + ": " + describe_errno(errno);
      }
    } catch (error const& e) {
      reason_ = e.what();
    }
    return false;
  }

  TUTTI_COLD bool enter() {
    time_point const deadline = steady_now() + me_.patience + grace;
    std::string const hello = tcp_hello{me_.rank, me_.size, me_.job, this_member(me_.role)}.encode();
    expects(hello.size() <= tcp_hello::limit, "tcp_rendezvous: the names of job and role make a greeting of ",
            hello.size(), " bytes; shorten them until it is ", tcp_hello::limit, " at most");
    bootstrap_frame answer;
    io state = key_ ? claim_rank(line_, key_, me_.rank, deadline, text_of_world(me_.job, me_.size)) : io::complete;
    if (state == io::complete) {
      line_.queue(bootstrap_frame_kind::hello, hello);
      state = line_.send(deadline);
      // Even if sending fails there may be an answer that says why.
      state = state == io::late ? state : line_.receive(answer, answer_limit, deadline);
    }
    if (state == io::complete && answer.kind == bootstrap_frame_kind::welcome) {
      net::address const address = net::local_address(line_.fd());
      reach_ = address.is_loopback() ? answer.payload : address.host();
      return true;
    }
    throw_failure_of(answer);
    if (state == io::complete && answer.kind == bootstrap_frame_kind::refusal) {
      throw error(failure::join,
                  "the world did not come together: rank 0 at " + place_ + " refuses rank " + std::to_string(me_.rank) +
                      " of " + std::to_string(me_.size) + (me_.job.empty() ? "" : " of job '" + me_.job + "'") +
                      ": it serves another job (TUTTI_JOB), or one with another number of ranks (TUTTI_SIZE)")
          .set_ranks(me_.rank, {me_.rank});
    }
    reason_ = state == io::late
                  ? "it accepts connections but does not answer"
                  : std::string("the program there closed the connection, or is not rank 0 of a world of tutti, or ") +
                        (key_ ? "does not know this TUTTI_SECRET" : "has a TUTTI_SECRET");
    line_.close();
    return false;
  }

  TUTTI_COLD void throw_failure_of(bootstrap_frame const& answer) const {
    rank_failure cause;
    if (answer.kind == bootstrap_frame_kind::failure && decode(answer.payload, cause)) {
      throw error(cause.kind, cause.text).set_ranks(me_.rank, cause.at_fault);
    }
  }

  membership me_;
  net::proof_key key_;
  std::string place_;
  std::string reason_;
  std::string reach_;
  channel line_;
};

}  // namespace tutti::detail::bootstrap
