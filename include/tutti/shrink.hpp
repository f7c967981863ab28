// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/secret.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Lets the survivors of a fault agree about it, and makes a new world of them. To be constructed before any failure:
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
    std::uint64_t value;                ///< the bitwise AND of the values of the ranks that took part
    std::vector<rank_type> lost_ranks;  ///< the ranks of the first world that are gone or left out, in ascending order
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
  ///         this one, or if they have; error (failure::mismatch) if another rank calls `agree`
  [[nodiscard]] communicator_type shrink() {
    detail::cancellation_shield const shield(
        detail::cancellation_shield::points::silent);  // the other ranks would wait for this one
    constexpr auto call = detail::detector_call::shrink;
    meeting_.agree(call, 0, patience_);
    for (int attempts = 1;; ++attempts) {
      std::vector<rank_type> const previous_members = members();
      std::optional<communicator_type> smaller;
      error cause(failure::join, "shrink: another survivor could not make the smaller world");
      try {
        detail::survivors survivors = meeting_.take_survivors(patience_);
        survivors.local_host(host_);
        survivors.secret(secret_);
        survivors.name(name_ + "+" + std::to_string(++shrinks_));
        smaller.emplace(survivors, settings_);
      } catch (error const& e) {
        cause = e;
      }
      bool const is_made = meeting_.agree(call, smaller ? 1 : 0, patience_) == 1;
      if (members() != previous_members) {
        attempts = 0;  // another fault
      } else if (is_made) {
        return std::move(*smaller);
      } else if (attempts == 3) {
        throw cause;
      }
    }
  }

  /// The surviving members, by their ranks in the first world.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return meeting_.members(); }

 private:
  static std::string host_of(Transport const& transport) {
    if constexpr (requires { transport.local_host(); }) {
      return transport.local_host();
    } else {
      return detail::net::loopback_host();  // all ranks are on this host
    }
  }

  template <class World>
  detail::shrink_meeting meet(World& world) const {
    detail::shrink_listener listener(host_);
    std::vector<rank_type> members(world.size());
    for (rank_type r = 0; r < world.size(); ++r) {
      members[r] = r;
    }
    return listener.meeting(
        world.rank(),
        group_rendezvous<World>(world, std::move(members), world.rank()).exchange(listener.endpoint_info()), secret_);
  }

  typename communicator_type::options settings_;
  std::string name_;
  world_secret secret_;
  std::string host_;
  rank_type size_;
  duration patience_;
  unsigned shrinks_ = 0;
  detail::shrink_meeting meeting_;
};

template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&) -> failure_detector<Transport, Trace>;
template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&, duration) -> failure_detector<Transport, Trace>;

}  // namespace tutti
