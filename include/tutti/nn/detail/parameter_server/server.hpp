// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/outgoing_weights.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/detail/parameter_server/scheduler.hpp>
#include <tutti/nn/detail/parameter_server/shard.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The observer of a server.
class server_observer {
 public:
  server_observer() = default;
  server_observer(server_observer const&) = delete;
  server_observer& operator=(server_observer const&) = delete;
  virtual ~server_observer() = default;

  /// Called before the server computes.
  virtual void resume() {}
  /// Called after the server has computed. May sleep.
  virtual void hold() {}
  /// Called after each message, when all possible answers have been sent.
  virtual void on_message() {}
  /// The memory for the servers' state, from a worker.
  [[nodiscard]] virtual std::span<float> state_buffer() { return {}; }
  /// Called when that memory has been filled.
  /// @returns false if the training ends here
  [[nodiscard]] virtual bool on_state() { return true; }
};

/// Serves a shard to workers: applies their pushes, and sends the weights that they may read.
///
/// A loop over one pending receive per worker: a message, or the gradient that follows it. Answers are sent in the
/// background. The push that a blocked read waits for answers it.
///
/// A lost worker (dead, or silent for longer than the deadline) is dropped with its channel; the others continue.
/// Memory: the weights of the shard, copies of that size for each worker's gradients and for the weights sent to it,
/// and the optimizer state. Source: Li et al., "Scaling distributed machine learning with the parameter server", OSDI
/// 2014.
class server {
 public:
  /// @param channels channels to the workers, in order
  server(tutti::detail::owner<channel_list> channels, shard weights);

  /// Serves until all workers have left.
  /// @param tasks the scheduler, if workers ask this server for tasks
  /// @throws error if all workers are lost; exceptions of the observer
  void run(scheduler* tasks, server_observer& observer);

  /// The number of updates of the first piece, including the ones before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return shard_.clock(); }
  [[nodiscard]] std::vector<lost_worker> const& lost_workers() const noexcept { return lost_workers_; }
  /// The figures of this rank. `worker_figures` returns the final reports of the workers; for lost workers only
  /// the reported steps, on the server that takes the reports.
  [[nodiscard]] figures local_figures() const;
  [[nodiscard]] figures const& worker_figures(std::size_t worker) const { return peers_[worker].final_figures; }
  [[nodiscard]] std::span<piece const> pieces() const noexcept { return shard_.pieces(); }

 private:
  /// The kind of the next receive from a worker.
  enum class expected { message, gradient, report, state, figures };

  struct peer {
    explicit peer(key_range keys) : weights(keys) {}

    expected next_receive = expected::message;
    bool is_present = true;
    time_point last_message_time{};
    message last_message;
    piece* pushed_piece = nullptr;
    report last_report;
    task next_task;
    std::vector<float> memory;  // state that is being sent to this worker
    request sending;            // send of `memory` or of `next_task`
    figures final_figures;
    std::uint64_t steps = 0;  // steps that the worker has reported
    outgoing_weights weights;
  };
  /// An answer that is due: weights, which may have to wait, or the next task.
  struct answer {
    std::size_t worker = 0;
    key_range keys{};
    clock_value clock = 0;
    clock_value need = 0;
    bool is_task = false;
  };

  void watch();
  void receive_message(std::size_t w) { receive(w, expected::message, std::span(&peers_[w].last_message, 1)); }
  template <class T>
  void receive(std::size_t w, expected kind, std::span<T> destination) {
    peers_[w].next_receive = kind;
    requests_[w] = (*channels_)[w].receive(destination);
  }
  template <class F>
  void drop_on_error(std::size_t w, scheduler* tasks, F f);
  void serve(std::size_t w, scheduler* tasks, server_observer& observer);
  void serve_message(std::size_t w, server_observer& observer);
  void answer_all(scheduler* tasks);
  [[nodiscard]] bool is_ready(answer const& reply, scheduler* tasks);
  void send(answer const& reply);
  void leave(std::size_t w);
  void drop_silent(scheduler* tasks, time_point now);
  void drop(std::size_t w, scheduler* tasks, std::string reason);

  tutti::detail::owner<channel_list> channels_;  // before the requests, which are destroyed first
  shard shard_;
  std::vector<peer> peers_;
  std::vector<answer> answers_;    // due answers, in the order of the requests
  std::vector<char> waits_;        // workers with an answer that must wait
  std::vector<request> requests_;  // pending receive of each worker
  std::size_t present_count_ = 0;  // number of present workers
  std::vector<lost_worker> lost_workers_;
  time_point begin_{};
  time_point last_check_{};
  duration busy_time_{};
  duration waiting_time_{};
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/server.ipp>
#endif
