// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/secret.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Makes a new world of the survivors when members of one are gone. To be constructed before any failure:
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
/// Cost: one listening socket per rank; one exchange at construction; for shrinking, two connections of each member
/// to the lowest surviving rank.
/// Thread safety: one thread at a time.
template <class Transport, class Trace = no_trace>
class failure_detector {
 public:
  /// The type of the new communicator.
  using communicator_type = communicator<Transport, dynamic, Trace>;

  /// Opens a listening socket, and exchanges addresses. Collective. @throws error; precondition_error if the patience
  /// is negative
  template <rank_type N>
  explicit failure_detector(communicator<Transport, N, Trace>& world, duration patience = join_timeout)
      : settings_(world.settings()),
        name_(world.name()),
        secret_(detail::access::state(world).secret),
        host_(host_of(world.transport())),
        patience_(detail::finite_patience(patience)),
        meeting_(meet(world)) {}

  /// Makes a communicator of the survivors, numbered in their previous order. Collective over them. Its name is
  /// "world+1" and so on; `parent_rank` gives ranks in the failed world.
  ///
  /// Waits for the last survivor, at most `patience`, and again after each further fault; three seconds more if the
  /// host of a lost member is unreachable.
  /// @throws error (failure::join) if enough members neither come nor are gone that they may have continued without
  ///         this one, or if they have
  [[nodiscard]] communicator_type shrink() {
    detail::cancellation_shield const shield(
        detail::cancellation_shield::points::silent);  // the other ranks would wait for this one
    for (std::size_t remaining = meeting_.members().size();; --remaining) {
      detail::survivors meeting = meeting_.meet(patience_);
      meeting.local_host(host_);
      meeting.secret(secret_);
      meeting.name(name_ + "+" + std::to_string(++shrinks_));
      try {
        return communicator_type(meeting, settings_);
      } catch (error const&) {
        if (remaining == 0) {  // each fault takes a member
          throw;
        }
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
  duration patience_;
  unsigned shrinks_ = 0;
  detail::shrink_meeting meeting_;
};

template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&) -> failure_detector<Transport, Trace>;
template <class Transport, rank_type N, class Trace>
failure_detector(communicator<Transport, N, Trace>&, duration) -> failure_detector<Transport, Trace>;

}  // namespace tutti
