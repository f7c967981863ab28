// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/replica.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The number of values in a worker's state for a checkpoint: weights, optimizer state and statistics.
[[nodiscard]] inline std::size_t state_size(replica& model) {
  return model.parameters().size() + model.optimizer_state().size() + model.statistics().size();
}

/// The observer of a worker.
class worker_observer {
 public:
  worker_observer() = default;
  worker_observer(worker_observer const&) = delete;
  worker_observer& operator=(worker_observer const&) = delete;
  virtual ~worker_observer() = default;

  /// Called before a gradient is computed, with the duration of the last one. May sleep.
  virtual void begin_gradient(duration last) = 0;
  /// Called after a step, with the worker's new clock.
  virtual void on_advance(clock_value clock) = 0;
};

/// Runs one worker, from its first task to its last.
TUTTI_DECL void work(tutti::detail::owner<channel_list> to_servers, layout const& layout, replica& model,
                     consistency consistency, worker_observer& observer);

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/work.ipp>
#endif
