// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
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
/// A step is `begin`, `completed` as often as one likes, `finish`: each piece of the gradient is pushed as soon as it
/// is complete, and its new weights are requested at the same time. So they travel, and are updated, while the
/// gradients before them are computed.
///
/// Memory: the weights twice, since those that arrive may not replace those that backward still reads. Thread
/// safety: that of the communicator. Errors name the server that is lost.
class worker final : public gradient_listener {
 public:
  /// @param channels to the servers, in their order
  /// @param begin the number of steps that have been made
  worker(tutti::detail::owned<channel_list> channels, layout layout, consistency how, clock_value begin = 0);

  /// The weights of a working set: of these ranges of keys and no others, as they are when all other workers have
  /// reached the clock `need`. A range may lie on several servers.
  /// @param weights all of the model's; those of other keys stay as they are
  /// @throws error
  void pull(std::span<float> weights, std::span<key_range const> working_set, clock_value need = 0);

  /// What all optimizers remember.
  /// @param memory as many numbers as there are keys
  /// @throws error
  void pull_memory(std::span<float> memory);
  /// Sends server 0 all that servers hold.
  void hand_over(std::span<float const> state);

  /// A step begins.
  /// @param message where the gradients will be; it outlives `finish`
  /// @param samples, batch of this worker's part of the batch, and of all
  void begin(std::span<float const> message, std::uint64_t samples, std::uint64_t batch);

  /// The gradients from `first` on are final. Never waits.
  TUTTI_DECL void completed(std::size_t first) override;

  /// Until all gradients are pushed and all new weights are there; and the next task, if it was requested.
  /// @throws error
  void finish(std::span<float> weights);

  /// Asks what to do next; the answer is there after `finish`, or `answer`.
  void ask(report const& done);
  /// The steps that it has pushed, with those before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return clock_; }
  [[nodiscard]] task const& answer();

  /// Leaves all servers, with the figures of this worker.
  void leave(double busy);

 private:
  [[nodiscard]] figures said(double busy) const;
  void push(std::size_t i);
  void say(std::size_t k, message const& words) { keep(k, (*channels_)[k].send(std::span<message const>(&words, 1))); }
  template <class T>
  void hear(std::size_t k, std::span<T> place) {
    keep(k, (*channels_)[k].receive(place));
  }
  void keep(std::size_t k, request one) {
    requests_.push_back(std::move(one));
    peers_.push_back(k);
  }
  /// Waits for all that is under way. All channels advance: another worker may need what one of them carries.
  void wait();

  tutti::detail::owned<channel_list> channels_;  // before the requests, which end first
  layout layout_;
  consistency how_;
  std::vector<float> arriving_;
  std::vector<message> pushes_;  // of each piece
  std::vector<message> pulls_;
  message asks_;
  report done_;
  task next_;
  std::span<float const> message_;
  std::uint64_t samples_ = 0;
  std::uint64_t batch_ = 1;
  std::size_t waiting_ = 0;  // pieces that are not pushed yet
  clock_value begin_;
  clock_value clock_;
  duration waited_{};
  std::vector<request> requests_;
  std::vector<std::size_t> peers_;  // the server of each
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/worker.ipp>
#endif
