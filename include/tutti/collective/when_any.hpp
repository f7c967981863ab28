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

/// Waits for the first of several requests to end, on one communicator or on several: how a rank serves
/// peers that come in no order.
///
///     tutti::when_any any{world};
///     std::size_t const i = any(requests);
///     requests[i].wait();                    // at once; throws if it has failed
///
/// Several communicators fail independently of each other: with one for each peer, the end of one peer is
/// the end of its requests alone. Such a wait is long: it does not spin, and some yields come before sleep.
///
/// Cost: one look at each request and communicator, and again whenever something arrives. No allocation once made.
/// Thread safety: that of the communicators.
template <group Communicator>
class when_any {
 public:
  /// Waits for requests of one communicator.
  explicit when_any(Communicator& world) : when_any(std::vector<Communicator*>{&world}) {}

  /// @pre at least one
  explicit when_any(std::vector<Communicator*> const& worlds) {
    for (Communicator* const one : worlds) {
      worlds_.push_back(one->alias());
    }
    expects(!worlds_.empty(), "when_any: there must be 1 communicator or more, not 0; name those of the requests");
  }

  /// The index of a request that has ended, well or not; its own `wait` says which, at once. Those that are not
  /// valid, because they have been waited for, do not count.
  ///
  /// @param requests of these communicators
  /// @param first the search begins there, and wraps: the index after the last one serves all alike
  /// @param limit how long to wait; the number of requests is returned if none has ended by then
  /// @throws precondition_error if no request is valid, or the limit is negative
  [[nodiscard]] std::size_t operator()(std::span<request> requests, std::size_t first = 0,
                                       duration limit = no_deadline) {
    bool any = false;
    for (request const& one : requests) {
      any = any || one.valid();
    }
    static_cast<void>(detail::expect_deadline(limit));
    expects(any, "when_any: none of the ", requests.size(),
            " requests is under way, so none will ever end; start one first");
    search at{requests, first, requests.size()};
    detail::wait_target const one_ended{.of = &at,
                                        .advance =
                                            [](void* p) {
                                              auto& s = *static_cast<search*>(p);
                                              s.found = first_ended(s.among, s.first);
                                              return s.found != s.among.size();
                                            },
                                        .inquire =
                                            [](void* p) {
                                              for (request& one : static_cast<search*>(p)->among) {
                                                one.check_deadline();
                                              }
                                            },
                                        .outlasts_faults = true};
    for (Communicator& one : worlds_) {
      detail::access::state(one).claim();  // so they are among those that this thread moves on
    }
    detail::rank_state& world = detail::access::state(worlds_.front());
    world.poll();
    bool const yields = !world.any.rests() && world.patience.yields(steady_now);
    if (!one_ended.advance(&at) && !(yields && detail::wait_yielding(world, one_ended, false))) {
      detail::wait_in_naps(world, one_ended, limit);
    }
    return at.found;
  }

 private:
  struct search {
    std::span<request> among;
    std::size_t first;
    std::size_t found;
  };

  static std::size_t first_ended(std::span<request const> requests, std::size_t first) {
    for (std::size_t k = 0; k != requests.size(); ++k) {
      std::size_t const i = (first + k) % requests.size();
      if (requests[i].valid() && requests[i].ended()) {
        return i;
      }
    }
    return requests.size();
  }

  std::vector<Communicator> worlds_;
};

}  // namespace tutti
