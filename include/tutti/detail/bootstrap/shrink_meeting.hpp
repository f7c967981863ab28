// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/shrink_host.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::detail {

/// One member's part in finding the others again when some are gone: a listener that it keeps from the
/// beginning, and the addresses of all others'. A listener closes with its owner, however that ends, so the system
/// itself tells who is gone. Members go by the numbers that they had in the beginning. Used by one thread at a time.
///
/// The lowest that is left is the host: each tries the listeners of those below it, from the lowest on, and takes one
/// that does not answer for gone. If a host goes in its turn its guests go on to the next listener. The host waits for
/// all others that are not gone, and decides.
///
/// Law: no two groups go on from one world. Who neither comes nor is known to be gone is *silent*: it may be cut off,
/// and have gone on elsewhere. A group goes on if it is more than the silent ones, or as many and has the lowest number
/// of both. (A quorum: Gifford, "Weighted voting for replicated data", SOSP 1979; what is known to be dead has no vote)
class shrink_meeting {
 public:
  /// @param places where everybody's listener is, by rank; `listener` listens at this one's
  /// @param world what nobody else knows, the same for all
  shrink_meeting(rank_type rank, descriptor listener, std::vector<net::address> places, std::string world)
      : mine_{std::move(world), rank, {}}, listener_(std::move(listener)), places_(std::move(places)) {
    for (rank_type r = 0; r < places_.size(); ++r) {
      mine_.members.push_back(r);
    }
  }

  /// Who is still in, by the numbers of the beginning.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return mine_.members; }

  /// Collective over those that are left: a rendezvous of theirs, in which they have the numbers from 0 on, in the
  /// order that they had. Those that are not in it will not be waited for again.
  ///
  /// It takes as long as the last to come, and at most `patience` for that and once more for each host that is silent.
  /// @throws error(failure::join) if too many are silent, or the others went on without this rank
  [[nodiscard]] survivors meet(duration patience) {
    std::vector<rank_type> silent;
    for (rank_type const host : mine_.members) {
      if (host == mine_.rank) {
        break;
      }
      std::vector<rank_type> chosen;
      channel line = visit(host, patience, silent, chosen);
      if (line) {
        mine_.members = chosen;
        return survivors(mine_.rank, std::move(chosen), std::move(line), patience);
      }
    }
    shrink_host host(listener_.get(), mine_, places_, std::move(silent), patience);
    mine_.members = host.gather();
    return survivors(mine_.rank, mine_.members, host.take_lines(), patience);
  }

 private:
  /// Comes to a host. Returns the line to it, once it has decided who is in; none if it is gone or silent.
  ///
  /// A closed listener says that its owner is gone. A closed line does not: a host that lives may have turned it away
  /// for others, or have gone on before it heard it. So this one comes again.
  channel visit(rank_type host, duration patience, std::vector<rank_type>& silent, std::vector<rank_type>& chosen) {
    net::address const& at = places_[host];
    // One that is silent has cost all of the patience; the next ones get less, so that it does not add up.
    duration const share = silent.empty() ? patience : patience / 4;
    time_point deadline = steady_now() + share;
    for (;; ::poll(nullptr, 0, 10)) {
      channel line(net::connect(at, deadline));
      if (!line && (errno == ECONNREFUSED || errno == ECONNRESET)) {
        return {};
      }
      if (!line) {
        break;
      }
      line.queue(bootstrap_frame_kind::hello, mine_.text());
      frame answer;
      io state = line.send(deadline);
      state = state == io::done ? line.receive(answer, shrink_message::limit, deadline) : state;
      if (state == io::done &&
          answer.kind == bootstrap_frame_kind::welcome) {  // it is the host, and keeps the time from now on
        deadline = steady_now() + 2 * patience;
        state = line.receive(answer, shrink_message::limit, deadline);
      }
      rank_failure why;
      if (state == io::done && answer.kind == bootstrap_frame_kind::failure && decode(answer.payload, why)) {
        throw error(why.kind, why.text).between(mine_.rank, why.at_fault);
      }
      shrink_message verdict;
      if (state == io::done && answer.kind == bootstrap_frame_kind::table && verdict.parse(answer.payload) &&
          verdict.world == mine_.world && contains(verdict.members, mine_.rank)) {
        chosen = std::move(verdict.members);
        return line;
      }
      if (state != io::closed || steady_now() >= deadline) {
        break;
      }
    }
    silent.push_back(host);
    return {};
  }

  shrink_message mine_;  // who this is, and who is in
  descriptor listener_;
  std::vector<net::address> places_;
};

}  // namespace tutti::detail
