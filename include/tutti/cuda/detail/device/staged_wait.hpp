// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>

#include <thread>

namespace tutti::inline v0_1_0::detail::device {

/// Advances this rank's enqueued operations until everything in a stream has run, or deadlines pass; see cuda::wait.
/// @throws error if an operation of this rank has failed; the driver's error if other work in the stream has failed
template <class Communicator>
void wait_for_staged(Communicator const& world, typename Communicator::transport_type::stream_type const& stream) {
  auto& transport = world.transport();
  auto const advance = [&] {
    call_guard guard(access::state(world));
    world.poll();
    transport.staging().collect();
    transport.staging().expect_results();
    guard.end();
  };
  try {
    time_point check_time = transport.now();
    for (advance(); !transport.driver().is_done(stream); advance()) {
      if (time_point const now = transport.now(); now - check_time >= between_looks) {
        check_time = now;
        access::state(world).probe();
      }
      std::this_thread::yield();
    }
    advance();
  } catch (
      ...) {  // an operation has failed, and with it the world; or the device, which runs no more work of this rank
    transport.revoke({failure::cancelled, world.rank(), world.rank()});
    try {
      world.poll();
    } catch (...) {  // the first error is reported
    }
    throw;
  }
}

}  // namespace tutti::detail::device
