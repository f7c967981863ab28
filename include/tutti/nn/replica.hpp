// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/basic_replica.hpp>
#include <tutti/nn/detail/host_learner.hpp>
#include <tutti/nn/model.hpp>

namespace tutti::inline v0_1_0::nn {

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class basic_replica<detail::host_learner>;
#endif

/// A replica that computes on the host, made of a model<float> with `attached` numbers.
///
///     tutti::nn::replica mine(tutti::nn::model<float>(layers, tutti::nn::replica::attached), images, tests, settings,
///                             world.rank(), world.size());
class replica : public basic_replica<detail::host_learner> {
 public:
  using basic_replica::basic_replica;
};

}  // namespace tutti::nn
