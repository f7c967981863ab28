// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/replica.hpp>

// Replicas of the host are compiled here where TUTTI_SEPARATE_COMPILATION is defined; nothing includes this otherwise.
namespace tutti::nn {

template class basic_replica<detail::host_learner>;

}  // namespace tutti::nn
