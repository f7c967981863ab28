// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/engine/wait.hpp>
#include <tutti/operation.hpp>
#include <tutti/time.hpp>

#include <string>
#include <thread>

namespace tutti::detail::device {

/// Waits until all has run that is in a stream, for as long as the communicator's deadline allows; see cuda::wait.
template <class Communicator>
class stream_wait {
  using transport_type = typename Communicator::transport_type;
  using stream_type = typename transport_type::stream_type;

 public:
  stream_wait(Communicator const& world, stream_type const& stream)
      : world_(world), on_(world.transport()), stream_(stream) {}

  /// @throws error if an operation of this rank's has ended without a result, or the deadline has passed
  void run() {
    time_point const begun = on_.now();
    time_point looked = begun;
    while (!on_.driver().is_done(stream_)) {
      world_.poll();
      time_point const now = on_.now();
      if (now - looked >= between_looks) {
        looked = now;
        world_.look();
        if (world_.deadline() != no_deadline && now - begun > world_.deadline() + grace) {
          throw_explained({failure::deadline, no_rank, world_.rank()});
        }
      }
      std::this_thread::yield();
    }
    if (on_.failed() != 0) {
      throw_explained(on_.device_fault());
    }
  }

 private:
  /// Kernels find out themselves which rank is late. What has not ended then is the user's own.
  static constexpr duration grace = std::chrono::seconds(1);

  [[noreturn]] void throw_explained(tutti::fault const& found) {
    on_.revoke(found);  // of several the first one is known to all
    on_.quiesce();
    tutti::fault const why = on_.fault();
    std::uint64_t const number = on_.failed();
    call const what = number == 0 ? call{} : on_.called(number);
    operation_number const which{.sequence = number == 0 ? 0 : number - 1};
    if (why.kind == failure::mismatch && (why.reporter == world_.rank() || why.culprit == world_.rank())) {
      rank_type const other = why.reporter == world_.rank() ? why.culprit : why.reporter;
      if (call const theirs = on_.told_by(other); theirs.kind != operation_kind::none) {
        error const both = calls_differ(world_.rank(), describe(what), other, describe(theirs));
        throw world_.common().report(failure::mismatch, both.what(), what, which, 0, {other});
      }
    }
    throw world_.common().explain(why, what, which, 0);
  }

  Communicator const& world_;
  transport_type& on_;
  stream_type const& stream_;
};

}  // namespace tutti::detail::device
