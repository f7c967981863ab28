// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/door.hpp>
#include <tutti/extend/secret.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

namespace detail {
struct entering;
}

/// Lets the survivors of a fault agree about it, and makes a new world of them, or of them and newcomers. To be
/// constructed before any failure:
///
///     tutti::failure_detector detector{world};
///     try {
///       sum(gradients);
///     } catch (tutti::error const&) {
///       auto smaller = detector.shrink();  // a communicator of its own
///       ...
///     }
///
/// Works for any transport, and for one fault after another. A member is gone when its process or its detector ends: a
/// rank that gives up destroys its detector. Every survivor gets an error, at the latest in its next operation, and
/// then calls `shrink`. So `patience` must be longer than the time between two operations.
///
/// All survivors make the same calls in the same order. A call that throws may be repeated.
///
/// Cost: one listening socket per rank; one exchange at construction; for agreeing, two connections between each member
/// and the lowest surviving rank, and seven short messages; for shrinking, twice as much.
/// Thread safety: one thread at a time.
template <class Transport, class Trace = no_trace>
class failure_detector {
 public:
  /// The type of the new communicator.
  using communicator_type = communicator<Transport, dynamic, Trace>;

  /// The result of `agree`.
  struct agreement {
    std::uint64_t value;  ///< the bitwise AND of the values of the ranks that took part
    /// The ranks of the first world, or of that of the last `grow`, that are gone or left out, in ascending order.
    std::vector<rank_type> lost_ranks;
  };

  /// Opens a listening socket, and exchanges addresses. Collective. @throws error; precondition_error if the patience
  /// is negative
  template <rank_type N>
  explicit failure_detector(communicator<Transport, N, Trace>& world, duration patience = join_timeout)
      : settings_(world.settings()),
        name_(world.name()),
        secret_(detail::access::state(world).secret),
        host_(host_of(world.transport())),
        size_(world.size()),
        patience_(detail::finite_patience(patience)),
        meeting_(meet(world)) {}

  /// Agrees with the other survivors on one value and one set of lost ranks: all that return, return the same, also if
  /// they end afterwards. Collective over the survivors, before a fault and after it, whether the communicator
  /// has failed or not.
  ///
  ///     if (detector.agree(is_written ? 1 : 0).value == 1) {  // all survivors have written their checkpoints
  ///
  /// The value of a rank that ends meanwhile may be part of the result or not. Waits as `shrink` does.
  /// @throws error (failure::join) as `shrink`, or if the rank that reported the result ended while it did so, and no
  ///         other one calls within `patience`; error (failure::mismatch) if another rank calls `shrink`
  [[nodiscard]] agreement agree(std::uint64_t value) {
    detail::cancellation_shield const shield(
        detail::cancellation_shield::points::silent);  // the other ranks would wait for this one
    agreement result{meeting_.agree(detail::detector_call::agree, value, patience_), {}};
    auto position = members().begin();
    for (rank_type r = 0; r < size_; ++r) {
      if (position != members().end() && *position == r) {
        ++position;
      } else {
        result.lost_ranks.push_back(r);
      }
    }
    return result;
  }

  /// Makes a communicator of the survivors, numbered in their previous order. Collective over them. Its name is
  /// "world+1" and so on; `parent_rank` gives ranks in the failed world. The survivors agree on its members, and that
  /// each of them has it.
  ///
  /// Waits for the last survivor, at most `patience`, and again after each further fault; three seconds more if the
  /// host of a lost member is unreachable.
  /// @throws error (failure::join) if enough members neither come nor are gone that they may have continued without
  ///         this one, or if they have; error (failure::mismatch) if another rank makes another call
  [[nodiscard]] communicator_type shrink() { return make_next(detail::detector_call::shrink, nullptr, 0); }

  /// Makes a communicator of the survivors, in their previous order, and of the processes that wait at their doors,
  /// after them. Collective over the survivors, before a fault and after it, whether the communicator has failed or
  /// not. Each member sees its own door; all that any of them sees may enter. `parent_rank` is `no_rank` for newcomers.
  /// Afterwards this detector is that of the new world, also if nobody has entered: `members` and `lost_ranks` have its
  /// ranks.
  ///
  ///     world = detector.grow(door, full_size);
  ///
  /// Waits as `shrink` does, and at most three seconds for each process that waits and does not answer, ten or half the
  /// patience for all. If newcomers end meanwhile, it tries again with the others, and at last without any. If it
  /// throws while the members decide, this rank is left out of later calls. Cost: that of `shrink`, and a new listener;
  /// a visit to each process that waits, and three exchanges.
  /// @param max_size the largest number of ranks of the new world, that of the lowest member; the rest continues to
  ///        wait
  /// @throws error (failure::join) and error (failure::mismatch) as `shrink`
  [[nodiscard]] communicator_type grow(door& entry, rank_type max_size = no_rank) {
    return make_next(detail::detector_call::grow, &detail::door_access::place_of(entry), max_size);
  }

  /// The surviving members, by their ranks in the first world, or in that of the last `grow`.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return meeting_.members(); }

 private:
  friend struct detail::entering;

  /// The detector of a process that enters a world.
  failure_detector(communicator_type const& world, detail::admission const& facts, std::string host,
                   detail::shrink_meeting meeting)
      : settings_(world.settings()),
        name_(facts.base_name),
        secret_(detail::access::state(world).secret),
        host_(std::move(host)),
        size_(world.size()),
        patience_(facts.patience),
        changes_(facts.changes),
        meeting_(std::move(meeting)) {}

  /// @param entry the doorway through which newcomers come, or null
  communicator_type make_next(detail::detector_call call, detail::doorway* entry, rank_type max_size) {
    detail::cancellation_shield const shield(
        detail::cancellation_shield::points::silent);  // the other ranks would wait for this one
    constexpr int max_attempts = 3;
    meeting_.agree(call, 0, patience_);
    for (int attempts = 1;; ++attempts) {
      std::vector<rank_type> const previous_members = members();
      std::optional<detail::survivors> group;
      std::optional<detail::shrink_meeting> meeting;
      std::optional<communicator_type> next;
      std::string const name = name_ + "+" + std::to_string(++changes_);
      error cause(failure::join, std::string(detail::name_of(call)) + ": another survivor could not make the world");
      try {
        group.emplace(meeting_.take_survivors(patience_));
        group->local_host(host_);
        group->secret(secret_);
        group->name(name);
        if (entry != nullptr) {
          rank_type const limit = attempts == max_attempts ? 0 : max_size;
          detail::admit_newcomers(*group, *entry, limit, {{}, 0, patience_, name_, changes_}, secret_);
          meeting.emplace(detail::meet(*group, host_, secret_));
        }
        next.emplace(*group, settings_);
      } catch (error const& e) {
        cause = e;
        group.reset();  // the others wait for this rank's next text no longer
      }
      bool const is_made = decide(call, next.has_value());
      if (members() != previous_members) {
        attempts = 0;  // another fault
      } else if (is_made) {
        if (meeting) {
          group->tell_newcomers();
          // A member that misses the decision, and finds the old listeners closed, has accepted it: it decides the
          // same.
          meeting_ = std::move(*meeting);
          size_ = next->size();
        }
        return std::move(*next);
      } else if (attempts == max_attempts) {
        throw cause;
      }
    }
  }

  /// Agrees that each member has the next world. If a `grow` throws here, the others may use a world that this rank
  /// does not have: it takes part in no further agreement.
  bool decide(detail::detector_call call, bool is_ready) {
    try {
      return meeting_.agree(call, is_ready ? 1 : 0, patience_) == 1;
    } catch (...) {
      if (call == detail::detector_call::grow && is_ready) {
        meeting_.leave();
      }
      throw;
    }
  }

  static std::string host_of(Transport const& transport) {
    if constexpr (requires { transport.local_host(); }) {
      return transport.local_host();
    } else {
      return detail::net::loopback_host();  // all ranks are on this host
    }
  }

  template <class World>
  detail::shrink_meeting meet(World& world) const {
    std::vector<rank_type> members(world.size());
    for (rank_type r = 0; r < world.size(); ++r) {
      members[r] = r;
    }
    group_rendezvous<World> group(world, std::move(members), world.rank());
    return detail::meet(group, host_, secret_);
  }

  typename communicator_type::options settings_;
  std::string name_;
  world_secret secret_;
  std::string host_;
  rank_type size_;
  duration patience_;
  std::uint64_t changes_ = 0;  ///< worlds that were made of the first one
  detail::shrink_meeting meeting_;
};

template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&) -> failure_detector<Transport, Trace>;
template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&, duration) -> failure_detector<Transport, Trace>;

}  // namespace tutti
