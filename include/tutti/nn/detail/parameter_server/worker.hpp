// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The worker's side of a training: pushes gradients, pulls weights, asks for tasks.
///
/// A step is `begin`, any number of `on_completion`, `finish`: each piece of the gradient is pushed as soon as it is
/// complete, together with a request for its new weights. So pieces are sent and updated while earlier gradients are
/// computed.
///
/// Memory: the weights twice, because arriving weights must not overwrite the ones that backward still reads. Thread
/// safety: that of the communicator. Errors name the lost server.
class worker final : public gradient_listener {
 public:
  /// @param channels channels to the servers, in order
  /// @param begin number of steps already made
  worker(tutti::detail::owner<channel_list> channels, layout layout, consistency consistency, clock_value begin = 0);

  /// Pulls the weights of a working set, only these ranges of keys, after all other workers have reached the clock
  /// `need`. A range may extend over several servers.
  /// @param weights weights of the whole model; other keys are unchanged
  /// @throws error
  void pull(std::span<float> weights, std::span<key_range const> working_set, clock_value need = 0);

  /// Pulls the state of all optimizers.
  /// @param memory one number for each key
  /// @throws error
  void pull_memory(std::span<float> memory);
  /// Sends server 0 the state of all servers.
  void send_state(std::span<float const> state);

  /// Begins a step.
  /// @param gradients gradient buffer; it outlives `finish`
  /// @param samples, batch samples of this worker's part of the batch, and of the whole batch
  void begin(std::span<float const> gradients, std::uint64_t samples, std::uint64_t batch);

  /// Announces that the gradients from `first` on are final. Never blocks.
  TUTTI_DECL void on_completion(std::size_t first) override;

  /// Waits until all gradients are pushed and all new weights have arrived, and the next task, if it was requested.
  /// @throws error
  void finish(std::span<float> weights);

  /// Requests the next task; it has arrived after `finish` or `answer`.
  void request_task(report const& last_report);
  /// The number of steps pushed, including the ones before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return clock_; }
  [[nodiscard]] task const& answer();

  /// Leaves all servers, and sends the figures of this worker.
  void leave(double busy_seconds);

 private:
  [[nodiscard]] figures local_figures(double busy_seconds) const;
  void push(std::size_t i);
  void send_message(std::size_t k, message const& header) {
    add_request(k, (*channels_)[k].send(std::span<message const>(&header, 1)));
  }
  template <class T>
  void receive(std::size_t k, std::span<T> place) {
    add_request(k, (*channels_)[k].receive(place));
  }
  void add_request(std::size_t k, request pending) {
    requests_.push_back(std::move(pending));
    peers_.push_back(k);
  }
  /// Waits for all pending requests. All channels make progress, because another worker may need a message of one of
  /// them.
  void wait();

  tutti::detail::owner<channel_list> channels_;  // before the requests, which are destroyed first
  layout layout_;
  consistency consistency_;
  std::vector<float> arriving_weights_;
  std::vector<message> pushes_;  // message of each piece
  std::vector<message> pulls_;
  message task_request_;
  report report_;
  task next_task_;
  std::span<float const> gradients_;
  std::uint64_t samples_ = 0;
  std::uint64_t batch_ = 1;
  std::size_t unpushed_pieces_ = 0;  // pieces not pushed yet
  clock_value begin_;
  clock_value clock_;
  duration waiting_time_{};
  std::vector<request> requests_;
  std::vector<std::size_t> peers_;  // server of each request
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/worker.ipp>
#endif
