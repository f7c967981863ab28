// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/transport/shared_memory.hpp>

// The parts of this transport in tutti/compiled.cpp, which linked units need not compile: the engine, which is one for
// all operations, and the creation of communicators.
namespace tutti::inline v0_1_0 {

TUTTI_COMPILED template class detail::mailbox_endpoint<detail::shared_locations>;
TUTTI_COMPILED template class detail::outbox<detail::mailbox_endpoint<detail::shared_locations>>;
TUTTI_COMPILED template class basic_shared_memory<detail::datagram_doorbells>;
TUTTI_COMPILED template class communicator<shared_memory>;
TUTTI_COMPILED template communicator<shared_memory>::state* communicator<shared_memory>::state::make(
    detail::joint_of_one_host&, options const&, no_trace&&);
TUTTI_COMPILED template communicator<shared_memory>::state* communicator<shared_memory>::state::make(
    detail::joint_of_hosts&, options const&, no_trace&&);
TUTTI_COMPILED template communicator<shared_memory>::state* communicator<shared_memory>::state::make(
    detail::joint_of_part<shared_memory>&, options const&, no_trace&&);
TUTTI_COMPILED template class detail::segments<communicator<shared_memory>, false>;
TUTTI_COMPILED template class detail::segments<communicator<shared_memory>, true>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<shared_memory>, false>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<shared_memory>, true>;

}  // namespace tutti
