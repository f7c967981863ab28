// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// What makes a new world of those that are left when members of one are gone. To be made while all are well:
///
///     tutti::failure_detector detector{world};
///     try {
///       sum(gradients);
///     } catch (tutti::error const&) {
///       auto smaller = detector.shrink();  // a communicator of its own
///       ...
///     }
///
/// It works for any transport, and after one fault for the next. Members go when their process ends, however it does,
/// or when their detector does: a rank that gives up destroys it. A rank that got an error shrinks; as all survivors do
/// get one, all come, at the latest when their next operation fails. So the patience has to be longer than what a rank
/// does between two operations.
///
/// Cost: one listening socket for each rank; making it, one exchange; shrinking, two connections per member to the
/// host.
/// Thread safety: one thread at a time.
template <class Transport, class Trace = no_trace>
class failure_detector {
 public:
  /// What `shrink` makes.
  using communicator_type = communicator<Transport, dynamic, Trace>;

  /// Collective. @throws error; precondition_error if the patience is negative
  template <rank_type N>
  explicit failure_detector(communicator<Transport, N, Trace>& world, duration patience = join_timeout)
      : settings_(world.settings()),
        name_(world.name()),
        host_(host_of(world.transport())),
        patience_(detail::finite_patience(patience)),
        meeting_(meet(world)) {}

  /// Collective over those that are left; they are numbered anew, in the order that they had. They are called
  /// "world+1" and so on, and `parent_rank` says their ranks in the world that failed.
  ///
  /// Takes as long as the last one takes to come, and at most `patience` for that and for each further fault; three
  /// seconds more where the system of one that is left out cannot be reached.
  /// @throws error (failure::join) if so many members neither come nor are gone that they may have gone on without
  ///         this one, or if they have
  [[nodiscard]] communicator_type shrink() {
    detail::uncancelled const throughout(detail::uncancelled::points::none);  // the others would wait for this rank
    for (std::size_t left = meeting_.members().size();; --left) {
      detail::survivors all = meeting_.meet(patience_);
      all.local_host(host_);
      all.name(name_ + "+" + std::to_string(++shrinks_));
      try {
        return communicator_type(all, settings_);
      } catch (error const&) {
        if (left == 0) {  // each fault takes a member
          throw;
        }
      }
    }
  }

  /// Which members are still in, by the ranks of the first world.
  [[nodiscard]] std::vector<rank_type> const& members() const noexcept { return meeting_.members(); }

 private:
  static std::string host_of(Transport const& transport) {
    if constexpr (requires { transport.local_host(); }) {
      return transport.local_host();
    } else {
      return detail::net::loopback_host();  // all are on this host
    }
  }

  template <class World>
  detail::shrink_meeting meet(World& world) const {
    detail::shrink_listener mine(host_);
    std::vector<rank_type> all(world.size());
    for (rank_type r = 0; r < world.size(); ++r) {
      all[r] = r;
    }
    return mine.meeting(world.rank(),
                        group_rendezvous<World>(world, std::move(all), world.rank()).exchange(mine.card()));
  }

  typename communicator_type::options settings_;
  std::string name_;
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
