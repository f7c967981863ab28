// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/engine/wait.hpp>
#include <tutti/operation.hpp>
#include <tutti/time.hpp>
#include <tutti/transport/concept.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

namespace tutti::detail::device {

/// The error of this rank's first operation on a device that has no result, or of `found`. The world has failed then,
/// and no kernel is in this rank's memory any more.
template <class Communicator>
[[noreturn]] void throw_explained(Communicator const& world, tutti::fault const& found) {
  auto& on = world.transport();
  on.revoke(found);  // of several the first one is known to all
  on.quiesce();
  tutti::fault const why = on.fault();
  std::uint64_t const number = on.failed();
  call const what = on.called(number);
  operation_number const which{.sequence = number == 0 ? 0 : number - 1};
  if (why.kind == failure::mismatch && (why.reporter == world.rank() || why.culprit == world.rank())) {
    rank_type const other = why.reporter == world.rank() ? why.culprit : why.reporter;
    if (call const theirs = on.told_by(other); theirs.kind != operation_kind::none) {
      error const both = calls_differ(world.rank(), describe(what), other, describe(theirs));
      throw world.common().report(failure::mismatch, both.what(), what, which, 0, {other});
    }
  }
  throw world.common().explain(why, what, which, 0);
}
/// @throws error if an operation of this rank on a device has no result
template <class Communicator>
void expect_results(Communicator const& world) {
  if (world.transport().failed() != 0) [[unlikely]] {
    throw_explained(world, world.transport().device_fault());
  }
}

/// Waits until all has run that is in a stream, for as long as deadlines allow; see cuda::wait.
template <class Communicator>
class stream_wait {
  using transport_type = typename Communicator::transport_type;
  using stream_type = typename transport_type::stream_type;

 public:
  stream_wait(Communicator const& world, stream_type const& stream)
      : world_(world), on_(world.transport()), stream_(stream), moved_(on_.now()), looked_(moved_) {}

  /// @throws error if an operation of this rank's has ended without a result, or none ends in time
  void run() {
    while (!is_done()) {
      world_.poll();
      if (time_point const now = on_.now(); now - looked_ >= between_looks) {
        looked_ = now;
        world_.look();
        expect_progress(now);
        expect_ranks(now);
      }
      std::this_thread::yield();
    }
    expect_results(world_);
  }

 private:
  /// Kernels find out themselves which rank is late. What has not ended then is the user's own.
  static constexpr duration grace = std::chrono::seconds(1);
  /// What a rank that has left has begun may still be on its way.
  static constexpr duration farewell = std::chrono::seconds(2);

  [[nodiscard]] bool is_done() {
    try {
      return on_.driver().is_done(stream_);
    } catch (...) {  // another kernel has failed: the device runs nothing of this rank any more
      on_.revoke({failure::cancelled, world_.rank(), world_.rank()});
      throw;
    }
  }
  void expect_progress(time_point now) {
    if (std::uint64_t const here = on_.progress(); here != progress_) {
      progress_ = here;
      moved_ = now;
    }
    duration const limit = std::max(world_.deadline(), on_.longest());
    if (limit != no_deadline && now - moved_ > limit + grace) {
      throw_explained(world_, {failure::deadline, no_rank, world_.rank()});
    }
  }
  void expect_ranks(time_point now) {
    if constexpr (requires { on_.missing(); }) {
      rank_type const missing = on_.missing();
      if (missing == no_rank || missing != missing_) {
        missing_ = missing;
        missed_ = now;
      } else if (now - missed_ > farewell) {
        throw_explained(world_, {failure::peer_lost, missing, world_.rank()});
      }
    }
  }

  Communicator const& world_;
  transport_type& on_;
  stream_type const& stream_;
  time_point moved_;
  time_point looked_;
  std::uint64_t progress_ = 0;
  rank_type missing_ = no_rank;
  time_point missed_{};
};

}  // namespace tutti::detail::device
