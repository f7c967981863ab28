// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/linkage.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/time.hpp>
#include <tutti/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail {

/// What a member says when it comes to a shrink meeting, and what the host says when it has decided.
struct shrink_message {
  static constexpr std::uint64_t version = 1;
  static constexpr std::uint64_t limit = 1U << 22U;  ///< bytes; longer ones are refused before they are read

  std::string world;               ///< which
  rank_type rank = no_rank;        ///< whose message it is
  std::vector<rank_type> members;  ///< which are in, as far as that one knows

  [[nodiscard]] std::string text() const;
  /// False: `bytes` are something else.
  [[nodiscard]] bool parse(std::string_view bytes);

  /// Whether a rank is among the members.
  [[nodiscard]] bool counts(rank_type one) const noexcept;
};

/// The rendezvous of those that are left of a world, over the lines between the lowest of them and each other. If
/// another one goes meanwhile, its exchanges fail on all. Used by one thread at a time.
class survivors {
 public:
  /// @param lines on the host those to all others, in the order of their numbers; on the others the one to the host
  survivors(rank_type me, std::vector<rank_type> members, std::vector<channel> lines, duration patience);

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }

  /// The number by which the others reach this host.
  [[nodiscard]] std::string const& local_host() const noexcept { return host_; }
  void local_host(std::string host) { host_ = std::move(host); }

  /// What they are called together; rank 0's counts.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  void name(std::string text) { name_ = std::move(text); }

  /// Their ranks in the world that failed.
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const noexcept { return members_; }

  std::vector<std::string> exchange(std::string_view mine);

 private:
  std::vector<std::string> serve(std::string_view mine);
  std::vector<std::string> ask(std::string_view mine);

  std::vector<rank_type> members_;  ///< by the numbers of the beginning
  rank_type rank_;
  std::vector<channel> lines_;
  duration patience_;
  std::string name_;
  std::string host_;
};

/// One member's part in finding the others again when some are gone: a listener that it keeps from the
/// beginning, and the addresses of all others'. A listener closes with its owner, however that ends, so the system
/// itself tells which are gone. Members go by the numbers that they had in the beginning. Used by one thread at a time.
///
/// The lowest that is left is the host: each tries the listeners of those below it, from the lowest on, and takes one
/// that does not answer for gone. If a host goes in its turn its guests go on to the next listener. The host waits for
/// all others that are not gone, and decides.
///
/// Law: no two groups go on from one world. A member that neither comes nor is known to be gone is *silent*: it may be
/// cut off, and have gone on elsewhere. A group goes on if it is more than the silent ones, or as many and has the
/// lowest number of both. (A quorum: Gifford, "Weighted voting for replicated data", SOSP 1979; what is known to be
/// dead has no vote)
class shrink_meeting {
 public:
  /// @param places where every member's listener is, by rank; `listener` listens at this one's
  /// @param world what no other program knows, the same for all
  shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places, std::string world);

  /// Which are still in, by the numbers of the beginning.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return mine_.members; }

  /// Finds the others. Collective over those that are left, which are numbered anew from 0 on by the rendezvous, in the
  /// order that they had. Those that are not in it will not be waited for again.
  ///
  /// It takes as long as the last to come, and at most `patience` for that and once more for each host that is silent.
  /// @throws error(failure::join) if too many are silent, or the others went on without this rank
  [[nodiscard]] survivors meet(duration patience);

 private:
  class host;

  channel visit(rank_type at, duration patience, std::vector<rank_type>& silent, std::vector<rank_type>& chosen);

  shrink_message mine_;  ///< which rank this is, and which are in
  descriptor listener_;
  std::vector<net::address> places_;
};

/// A listener for a shrink meeting, before the others are known.
class shrink_listener {
 public:
  /// @param host the number by which the others reach this host
  /// @throws error(failure::join) if it cannot listen there
  explicit shrink_listener(std::string const& host);

  /// What the others have to know of this one.
  [[nodiscard]] std::string card() const;

  /// The meeting of those whose cards these are, by rank.
  /// @pre called once
  [[nodiscard]] shrink_meeting meeting(rank_type rank, std::vector<std::string> const& cards);

 private:
  net::address own_;
  descriptor socket_;
};

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/bootstrap/shrink_meeting.ipp>
#endif
