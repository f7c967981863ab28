// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/transport/loopback.hpp>

// The parts of this transport in tutti/compiled.cpp, which linked units need not compile: the engine, which is one for
// all operations, and the creation of communicators.
namespace tutti::inline v0_1_0 {

TUTTI_COMPILED template class detail::mailbox_endpoint<detail::common_locations>;
TUTTI_COMPILED template class detail::outbox<detail::mailbox_endpoint<detail::common_locations>>;
TUTTI_COMPILED template class communicator<loopback>;
TUTTI_COMPILED template communicator<loopback>::state* communicator<loopback>::state::make(detail::joint_of_one_host&,
                                                                                           options const&, no_trace&&);
TUTTI_COMPILED template communicator<loopback>::state* communicator<loopback>::state::make(
    detail::joint_of_part<loopback>&, options const&, no_trace&&);
TUTTI_COMPILED template class detail::segments<communicator<loopback>, false>;
TUTTI_COMPILED template class detail::segments<communicator<loopback>, true>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<loopback>, false>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<loopback>, true>;

}  // namespace tutti
