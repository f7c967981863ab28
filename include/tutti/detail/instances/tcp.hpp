// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/transport/tcp.hpp>

// The parts of this transport in tutti/compiled.cpp, which linked units need not compile: the engine, which is one for
// all operations, and the creation of communicators.
namespace tutti::inline v0_1_0 {

TUTTI_COMPILED template class communicator<tcp>;
TUTTI_COMPILED template communicator<tcp>::state* communicator<tcp>::state::make(detail::joint_of_one_host&,
                                                                                 options const&, no_trace&&);
TUTTI_COMPILED template communicator<tcp>::state* communicator<tcp>::state::make(detail::joint_of_hosts&,
                                                                                 options const&, no_trace&&);
TUTTI_COMPILED template communicator<tcp>::state* communicator<tcp>::state::make(detail::joint_of_part<tcp>&,
                                                                                 options const&, no_trace&&);
TUTTI_COMPILED template class detail::segments<communicator<tcp>, false>;
TUTTI_COMPILED template class detail::segments<communicator<tcp>, true>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<tcp>, false>;
TUTTI_COMPILED template class detail::segmented_operation<communicator<tcp>, true>;

}  // namespace tutti
