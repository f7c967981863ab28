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

/// Throws the error of this rank's first operation without a result, or of `noticed_fault`. The world has failed
/// afterwards, and no kernel accesses this rank's memory.
template <class Communicator>
[[noreturn]] void throw_explained(Communicator const& world, tutti::fault const& noticed_fault) {
  auto& transport = world.transport();
  transport.revoke(noticed_fault);  // if there are several faults, the first becomes known to all
  transport.quiesce();
  tutti::fault const cause = transport.fault();
  std::uint64_t const number = transport.failed_operation();
  call const call_record = transport.recent_call(number);
  operation_number const sequence{.sequence = number == 0 ? 0 : number - 1};
  if (cause.kind == failure::mismatch && (cause.reporter == world.rank() || cause.culprit == world.rank())) {
    rank_type const other = cause.reporter == world.rank() ? cause.culprit : cause.reporter;
    if (call const peer_call = transport.differing_call(other); peer_call.kind != operation_kind::none) {
      error const difference = calls_differ(world.rank(), describe(call_record), other, describe(peer_call));
      throw access::state(world).report(failure::mismatch, difference.what(), call_record, sequence, 0, {other});
    }
  }
  throw access::state(world).explain(cause, call_record, sequence, 0);
}
/// @throws error if an operation of this rank on a device has no result
template <class Communicator>
void expect_results(Communicator const& world) {
  if (world.transport().failed_operation() != 0) [[unlikely]] {
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
      : world_(world), transport_(world.transport()), stream_(stream), watch_(transport_) {}

  /// @throws error if an operation of this rank has ended without a result, or none ends in time
  void run() {
    while (!is_done()) {
      world_.poll();
      if (watch_.is_due()) {
        access::state(world_).probe();
        if (tutti::fault const cause =
                watch_.find_fault((std::max)(world_.deadline(), transport_.longest_deadline()))) {
          throw_explained(world_, cause);
        }
      }
      std::this_thread::yield();
    }
    expect_results(world_);
  }

 private:
  [[nodiscard]] bool is_done() {
    try {
      return transport_.driver().is_done(stream_);
    } catch (...) {  // another kernel has failed, so the device runs no more work of this rank
      transport_.revoke({failure::cancelled, world_.rank(), world_.rank()});
      throw;
    }
  }

  Communicator const& world_;
  transport_type& transport_;
  stream_type const& stream_;
  kernel_watch<transport_type> watch_;
};

}  // namespace tutti::detail::device
