// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/extend/expects.hpp>

#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Waits for the first of several requests to end, on one communicator or on several, so that a rank can serve peers
/// in any order.
///
///     tutti::when_any any{world};
///     std::size_t const i = any(requests);
///     requests[i].wait();                    // at once; throws if it has failed
///
/// Several communicators fail independently of each other: with one for each peer, a lost peer ends its own requests
/// alone. The wait may be long, so it does not spin: it yields a few times, then sleeps.
///
/// Cost: one check of each request and communicator per arrival. Allocates only at construction.
/// Thread safety: that of the communicators.
template <group Communicator>
class when_any {
 public:
  /// Waits for requests of one communicator.
  explicit when_any(Communicator& world) : when_any(std::vector<Communicator*>{&world}) {}

  /// Waits for requests of several communicators.
  /// @pre at least one
  explicit when_any(std::vector<Communicator*> const& worlds) {
    for (Communicator* const world : worlds) {
      worlds_.push_back(world->alias());
    }
    expects(!worlds_.empty(), "when_any: there must be 1 communicator or more, not 0; name those of the requests");
  }

  /// Returns the index of a request that has ended, well or not; its own `wait` tells which, at once. Requests that
  /// are not valid, because they have been waited for, are skipped.
  ///
  /// @param requests operations of these communicators
  /// @param first the start of the search, which wraps; passing the index after the last result serves all requests
  /// alike
  /// @param limit the longest wait; after it, the number of requests is returned
  /// @throws precondition_error if no request is valid, or the limit is negative
  [[nodiscard]] std::size_t operator()(std::span<request> requests, std::size_t first = 0,
                                       duration limit = no_deadline) {
    bool has_valid = false;
    for (request const& candidate : requests) {
      has_valid = has_valid || candidate.valid();
    }
    static_cast<void>(detail::expect_deadline(limit));
    expects(has_valid, "when_any: none of the ", requests.size(), " requests is under way; start one first");
    search current_search{requests, first, requests.size()};
    detail::wait_target const target{.object = &current_search,
                                     .advance =
                                         [](void* p) {
                                           auto& state = *static_cast<search*>(p);
                                           state.position = first_ended(state.requests, state.first);
                                           return state.position != state.requests.size();
                                         },
                                     .detect_mismatch =
                                         [](void* p) {
                                           for (request& pending : static_cast<search*>(p)->requests) {
                                             pending.check_deadline();
                                           }
                                         },
                                     .outlasts_faults = true};
    for (Communicator& member : worlds_) {
      detail::exclusion const turn(detail::access::state(member));
      detail::access::state(member).claim();  // this thread's waits advance them, too
    }
    detail::rank_state& world = detail::access::state(worlds_.front());
    detail::call_guard guard(world);
    world.poll();
    bool const yields = !world.transport.waits_itself() && world.wait_policy.yields(steady_now);
    if (!target.advance(&current_search) && !(yields && detail::wait_yielding(world, target, false))) {
      detail::wait_in_naps(world, target, limit);
    }
    guard.end();
    return current_search.position;
  }

 private:
  struct search {
    std::span<request> requests;
    std::size_t first;
    std::size_t position;
  };

  static std::size_t first_ended(std::span<request const> requests, std::size_t first) {
    for (std::size_t k = 0; k != requests.size(); ++k) {
      std::size_t const i = (first + k) % requests.size();
      if (requests[i].valid() && requests[i].has_ended()) {
        return i;
      }
    }
    return requests.size();
  }

  std::vector<Communicator> worlds_;
};

}  // namespace tutti
