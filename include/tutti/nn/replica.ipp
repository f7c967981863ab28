// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/replica.hpp>

// Replicas of the host are compiled here where TUTTI_SEPARATE_COMPILATION is defined; nothing includes this otherwise.
namespace tutti::inline v0_1_0::nn {

template class basic_replica<detail::host_learner>;

}  // namespace tutti::nn
