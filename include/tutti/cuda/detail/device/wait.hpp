// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/kernel_watch.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/mismatch.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/transport.hpp>

#include <algorithm>
#include <cstdint>
#include <thread>

namespace tutti::inline v0_1_0::detail::device {

/// Throws the error of this rank's first operation without a result, or of `found`. The world has failed afterwards,
/// and no kernel accesses this rank's memory.
template <class Communicator>
[[noreturn]] void throw_explained(Communicator const& world, tutti::fault const& found) {
  auto& on = world.transport();
  on.revoke(found);  // if there are several faults, the first becomes known to all
  on.quiesce();
  tutti::fault const why = on.fault();
  std::uint64_t const number = on.failed();
  call const what = on.called(number);
  operation_number const which{.sequence = number == 0 ? 0 : number - 1};
  if (why.kind == failure::mismatch && (why.reporter == world.rank() || why.culprit == world.rank())) {
    rank_type const other = why.reporter == world.rank() ? why.culprit : why.reporter;
    if (call const theirs = on.told_by(other); theirs.kind != operation_kind::none) {
      error const both = calls_differ(world.rank(), describe(what), other, describe(theirs));
      throw access::state(world).report(failure::mismatch, both.what(), what, which, 0, {other});
    }
  }
  throw access::state(world).explain(why, what, which, 0);
}
/// @throws error if an operation of this rank on a device has no result
template <class Communicator>
void expect_results(Communicator const& world) {
  if (world.transport().failed() != 0) [[unlikely]] {
    throw_explained(world, world.transport().device_fault());
  }
}

/// Waits until everything in a stream has run, or deadlines pass; see cuda::wait.
template <class Communicator>
class stream_wait {
  using transport_type = typename Communicator::transport_type;
  using stream_type = typename transport_type::stream_type;

 public:
  stream_wait(Communicator const& world, stream_type const& stream)
      : world_(world), on_(world.transport()), stream_(stream), watch_(on_) {}

  /// @throws error if an operation of this rank has ended without a result, or none ends in time
  void run() {
    while (!is_done()) {
      world_.poll();
      if (watch_.is_due()) {
        access::state(world_).probe();
        if (tutti::fault const found = watch_.found((std::max)(world_.deadline(), on_.longest()))) {
          throw_explained(world_, found);
        }
      }
      std::this_thread::yield();
    }
    expect_results(world_);
  }

 private:
  [[nodiscard]] bool is_done() {
    try {
      return on_.driver().is_done(stream_);
    } catch (...) {  // another kernel has failed, so the device runs no more work of this rank
      on_.revoke({failure::cancelled, world_.rank(), world_.rank()});
      throw;
    }
  }

  Communicator const& world_;
  transport_type& on_;
  stream_type const& stream_;
  kernel_watch<transport_type> watch_;
};

}  // namespace tutti::detail::device
