// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/collective/wait.hpp>
#include <tutti/core/expects.hpp>

#include <poll.h>
#include <span>
#include <utility>
#include <vector>

namespace tutti {

/// Waits for the first of several requests to end, on one communicator or on several: how a rank serves
/// peers that come in no order.
///
///     tutti::when_any any{world};
///     std::size_t const i = any(requests);
///     requests[i].wait();                    // at once; throws if it has failed
///
/// Several communicators fail independently of each other: with one for each peer, the end of one peer is
/// the end of his requests alone. Those who wait so wait for long: nobody spins, some yields come before sleep.
///
/// Thread safety: that of the communicators.
template <group Communicator>
class when_any {
 public:
  explicit when_any(Communicator& world) : when_any(std::vector<Communicator*>{&world}) {}

  /// @pre at least one
  explicit when_any(std::vector<Communicator*> const& worlds) : handles_(worlds.size()) {
    for (Communicator* const one : worlds) {
      worlds_.push_back(one->alias());
    }
    expects(!worlds_.empty(), "when_any: name at least one communicator");
  }

  /// The index of a request that has ended, well or not; its own `wait` says which, at once. Those that are not
  /// valid, because they have been waited for, do not count.
  ///
  /// @param requests of these communicators
  /// @param first the search begins there, and wraps: who passes the index after the last one serves all alike
  /// @param limit how long to wait, negative for as long as it takes; the number of requests is returned if none
  ///        has ended by then
  /// @pre at least one request is valid
  /// Cost: one look at each request and communicator, and again whenever something arrives. No allocation.
  [[nodiscard]] std::size_t operator()(std::span<request> requests, std::size_t first = 0,
                                       duration limit = duration(-1)) {
    bool any = false;
    for (request const& one : requests) {
      any = any || one.valid();
    }
    expects(any, "when_any: none of the requests is under way, so none will ever end");
    std::size_t found = requests.size();
    auto const ended = [&] { return (found = search(requests, first)) != requests.size(); };
    advance();
    if (!ended()) {
      wait(requests, ended, limit);
    }
    return found;
  }

 private:
  static std::size_t search(std::span<request const> requests, std::size_t first) {
    for (std::size_t k = 0; k != requests.size(); ++k) {
      std::size_t const i = (first + k) % requests.size();
      if (requests[i].valid() && requests[i].ended()) {
        return i;
      }
    }
    return requests.size();
  }

  static constexpr duration nap(duration limit) noexcept {
    return limit >= duration::zero() && limit < between_looks ? limit : between_looks;
  }
  static constexpr bool passed(time_point begin, duration limit, time_point now) noexcept {
    return limit >= duration::zero() && now - begin >= limit;
  }

  void advance() {
    for (Communicator& one : worlds_) {
      one.poll();
    }
  }

  /// Peers that are gone and deadlines that have passed end requests.
  void look(std::span<request> requests) {
    for (Communicator& one : worlds_) {
      one.transport().look();
    }
    for (request& one : requests) {
      one.check_deadline();
    }
  }

  template <class Ended>
  void wait(std::span<request> requests, Ended const& ended, duration limit) {
    Communicator& world = worlds_.front();
    time_point const begin = world.transport().now();
    if (world.patience().yields(steady_now)) {
      for (int i = 0; i < 64; ++i) {
        time_point const before = steady_now();
        std::this_thread::yield();
        time_point const now = steady_now();
        bool const late = world.patience().late(now - before, now);
        advance();
        if (ended()) {
          world.patience().saved_a_wake_up();
          return;
        }
        if (late) {
          break;
        }
      }
    }
    for (time_point next_look = begin + between_looks; !ended();) {
      for (std::size_t i = 0; i != worlds_.size(); ++i) {
        handles_[i] = {.fd = worlds_[i].transport().arm(), .events = POLLIN, .revents = 0};
      }
      advance();
      if (!ended()) {
        ::poll(handles_.data(), handles_.size(), static_cast<int>(nap(limit).count() / 1'000'000));
      }
      for (Communicator& one : worlds_) {
        one.transport().disarm();
      }
      advance();
      if (time_point const now = world.transport().now(); now >= next_look) {
        look(requests);
        next_look = now + between_looks;
      }
      if (passed(begin, limit, world.transport().now())) {
        return;
      }
    }
  }

  /// Over a transport that waits by itself.
  template <class Ended>
  void wait(std::span<request> requests, Ended const& ended, duration limit)
    requires rests<typename Communicator::transport_type>
  {
    auto& transport = worlds_.front().transport();
    time_point const begin = transport.now();
    time_point next_look = begin + between_looks;
    for (;;) {
      for (Communicator& one : worlds_) {
        one.operations().advance();
      }
      if (ended() || passed(begin, limit, transport.now())) {
        return;
      }
      if (transport.now() >= next_look) {
        look(requests);
        next_look = transport.now() + between_looks;
      } else {
        transport.rest(nap(limit));
      }
    }
  }

  std::vector<Communicator> worlds_;
  std::vector<::pollfd> handles_;
};

}  // namespace tutti
