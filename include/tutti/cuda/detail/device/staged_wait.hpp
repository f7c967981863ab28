// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>

#include <thread>

namespace tutti::inline v0_1_0::detail::device {

/// Moves on what this rank has enqueued until all has run that is in a stream, as long as deadlines allow; see
/// cuda::wait.
/// @throws error if an operation of this rank's has failed; what the driver throws if something else in the stream has
template <class Communicator>
void wait_for_staged(Communicator const& world, typename Communicator::transport_type::stream_type const& stream) {
  auto& on = world.transport();
  auto const move_on = [&] {
    turn mine(access::state(world));
    world.poll();
    on.staging().collect();
    on.staging().expect_results();
    mine.end();
  };
  try {
    time_point looked = on.now();
    for (move_on(); !on.driver().is_done(stream); move_on()) {
      if (time_point const now = on.now(); now - looked >= between_looks) {
        looked = now;
        access::state(world).look();
      }
      std::this_thread::yield();
    }
    move_on();
  } catch (
      ...) {  // an operation has failed, and the world has; or the device, which runs nothing of this rank any more
    on.revoke({failure::cancelled, world.rank(), world.rank()});
    try {
      world.poll();
    } catch (...) {  // the first one is told
    }
    throw;
  }
}

}  // namespace tutti::detail::device
