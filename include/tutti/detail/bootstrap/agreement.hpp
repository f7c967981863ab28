// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

struct agreement_probe;

/// One member's part in the agreements of a world: a state machine without connections or clock, which a
/// `shrink_meeting` drives. Ranks are those of the original world.
///
/// Agreements are *rounds* with running numbers. In each a host, which may be any member, collects the contributions
/// of the guests that come. Then it asks all of them twice, and decides:
///
///     host                                                  guests
///       |  <------------------------------ hello, contribution |   until each has come, is gone or is silent
///       |  query, ballot ------------------------------------> |   follow no lower ballot from now on
///       |  <----------------- promise, last accepted proposal |
///       |  leaves notices with silent members, looks for one of its own
///       |  proposal, ballot ---------------------------------> |   store it
///       |  <-------------------------------------------- accept |
///       |  leaves notices with silent members, looks for one of its own
///       |  verdict ------------------------------------------> |
///
/// A host that is told of accepted proposals proposes the one with the highest ballot again, else its own: the
/// bitwise AND of the contributions, and the members that take part. A member that is not gone and does not answer is
/// *silent*. It gets a notice, which its system keeps: it has been left out, and stays out. A member keeps the result
/// of the last round for guests that missed the verdict because its host died. No member can be further behind, for
/// a later round ends only when all members have accepted its result, are gone, or have a notice.
///
/// Law: all members that decide a round decide one result, whenever members or hosts end, also members that end
/// afterwards. It needs no majority. It does need that only ended members are taken for gone, and that notices arrive.
///
/// Proof. A host h decides P with ballot b. Let b' > b be the lowest ballot of a proposal P' other than P, and h' its
/// host. Let A be h and the members that have accepted P from it. Let B be h' and the members that have promised b' to
/// it. All members outside of A were gone or had a notice when h looked for the last time. All members outside of B
/// were gone or had a notice when h' looked before it proposed P'.
/// A member of both has accepted b before it promised b', as it follows no lower ballot afterwards. So its promise told
/// h' of P, or of a proposal with a ballot between b and b', which is P by choice of b'. Then h' proposed P. So there
/// is no member of both: h is outside of B, and h' outside of A. If h saw h' gone, h' had left h a notice before, which
/// h finds. If h' saw h gone, it finds the notice of h. Otherwise each left the other a notice before it looked, so the
/// one that looked last finds one. A host that finds a notice neither proposes nor decides, so there is no such P'. Of
/// two results of a round, the one with the higher ballot is thus the one with the lower ballot.
///
/// (Lamport, "The part-time parliament", TOCS 1998, for ballots; Gafni and Lamport, "Disk Paxos", 2003, for members
/// that are asleep; Buntinas, "Scalable distributed consensus to support MPI fault tolerance", IPDPS 2012, and Herault
/// et al., "Practical scalable consensus for pseudo-synchronous distributed systems", SC 2015, for the operation.)
///
/// A group continues only if it is larger than the number of silent members, or as large and contains the lowest rank
/// of both. The law does not need that. It decides which one of two groups continues. (A quorum: Gifford, "Weighted
/// voting for replicated data", SOSP 1979; members known to be gone have no vote.)
class agreement {
 public:
  agreement(std::string world, rank_type rank, rank_type size);

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The ranks that are still members.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return result_.members; }
  /// The number of the round that is not decided yet: 1, 2, ...
  [[nodiscard]] std::uint64_t round() const noexcept { return result_.round + 1; }
  /// The result of the round before.
  [[nodiscard]] proposal const& result() const noexcept { return result_; }
  /// True if others continued without this member, which stays out for ever.
  [[nodiscard]] bool is_left_out() const noexcept { return is_left_out_; }

  /// Begins a call in the current round. A call that failed may be repeated, or another one made.
  void begin(detector_call call, std::uint64_t contribution);
  /// Notes that others said that they continued without this member.
  void stay_out() noexcept { is_left_out_ = true; }

  /// An upper bound for the bytes of a message of a member.
  [[nodiscard]] std::size_t longest_message(rank_type size) const { return message(step::notice).longest(size); }

  // Functions of a guest.

  [[nodiscard]] shrink_message hello() const;
  /// The answer to a host's query or proposal; none if the guest follows a higher ballot.
  [[nodiscard]] std::optional<shrink_message> answer(shrink_message const& request);
  /// Takes a verdict over. Returns false if it is none of this round, or leaves this member out.
  [[nodiscard]] bool learn(shrink_message const& verdict);

  // Functions of a host, whose driver calls `next` and does what that returns, again and again.

  /// The next thing that a host does.
  enum class action {
    wait,           ///< wait for members: call one of the functions below for each event, `expire` at the deadline
    ask,            ///< send `request` to all guests; the deadline begins again
    leave_notices,  ///< leave `notice` with each of `ranks_to_notify`, then call `note_notices`
    look,           ///< look for notices to itself: call `read_notice` for each, then `note_look`
    decide,         ///< send `verdict` to all guests that it counts
    fail,           ///< send each guest its `cause_for`, and throw its own
  };
  /// Begins to wait for members.
  /// @param silent members that are not waited for
  /// @param absent members that have ended
  void host(std::vector<rank_type> const& silent, std::vector<rank_type> const& absent);
  [[nodiscard]] action next();

  /// The treatment of a hello.
  enum class reception {
    refused,   ///< it is none, or comes too late: its sender tries again
    welcome,   ///< its sender takes part
    left_out,  ///< its sender is no member
    late,      ///< its sender has missed the last verdict, and gets it
  };
  [[nodiscard]] reception receive(shrink_message const& hello);
  /// True if the hello of this guest was welcome after the guests were asked, so it needs the `request`.
  [[nodiscard]] bool is_asked(rank_type guest) const noexcept;
  /// Takes the answer of a guest to a request.
  void note_answer(shrink_message const& answer);
  /// Notes that a guest has closed its connection; it may come again.
  void note_departure(rank_type guest) noexcept;
  /// Notes that a member has ended.
  void note_end(rank_type member) noexcept;
  /// True if the end of this member is of interest.
  [[nodiscard]] bool watches(rank_type member) const noexcept;
  /// Gives up the members that have neither come nor answered.
  void expire() noexcept;

  [[nodiscard]] shrink_message request() const;
  [[nodiscard]] shrink_message verdict() const { return message(step::verdict); }
  /// The members that need a notice.
  [[nodiscard]] std::vector<rank_type> ranks_to_notify() const;
  [[nodiscard]] shrink_message notice() const;
  void note_notices();
  /// Reads a message that was left for this member. Returns true if it is a notice.
  bool read_notice(shrink_message const& message);
  void note_look() noexcept { has_looked_ = true; }
  /// The failure of a member of this round. Guests that others do not leave out get none, and look for another host.
  /// @param patience the time that members were waited for
  [[nodiscard]] std::optional<rank_failure> cause_for(rank_type member, duration patience) const;

 private:
  friend struct agreement_probe;  ///< reads the state, for models

  using step = shrink_message::step;
  enum class phase : std::uint8_t { idle, gather, query, propose };
  enum class presence : std::uint8_t { awaited, present, silent, absent };

  /// A member, as the host sees it.
  struct peer {
    rank_type rank = no_rank;
    presence state = presence::awaited;
    bool has_answered = false;  ///< the request of this phase
    shrink_message hello = {};
    proposal last_proposal = {};  ///< last one that it accepted before its promise
  };

  [[nodiscard]] shrink_message message(step kind) const;
  [[nodiscard]] peer* find(rank_type rank) noexcept;
  [[nodiscard]] std::vector<rank_type> ranks_in(presence state) const;
  [[nodiscard]] std::vector<rank_type> group() const;
  [[nodiscard]] bool is_waiting() const noexcept;
  [[nodiscard]] bool has_quorum() const;
  /// A guest that makes another call, or null.
  [[nodiscard]] peer const* odd_guest() const noexcept;
  /// True if this may be a result of a round, among members of the round before.
  [[nodiscard]] bool is_plausible(proposal const& p) const noexcept;
  void ask(phase next_phase) noexcept;
  void choose();
  void conclude(proposal decision);
  void leave_out(std::vector<rank_type> rivals);

  std::string world_;
  rank_type rank_;
  proposal result_;         ///< the result of the round before
  ballot promise_;          ///< the highest ballot that this member follows in this round
  proposal last_proposal_;  ///< the last one that it has accepted in this round; none without a ballot
  detector_call call_ = detector_call::agree;
  std::uint64_t contribution_ = 0;
  bool is_left_out_ = false;
  std::vector<rank_type> rival_group_;  ///< the group that has left this member out

  std::vector<rank_type> notified_ranks_;  ///< members that have a notice of this round

  std::vector<peer> peers_;  ///< the other members
  phase phase_ = phase::idle;
  ballot ballot_;
  proposal proposal_;
  bool must_ask_ = false;
  bool has_looked_ = false;
};

/// The failure of a member that has been left out.
[[nodiscard]] TUTTI_DECL rank_failure left_out(rank_type rank);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/agreement.ipp>
#endif
