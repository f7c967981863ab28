// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
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

/// Is told what a server does.
class server_observer {
 public:
  server_observer() = default;
  server_observer(server_observer const&) = delete;
  server_observer& operator=(server_observer const&) = delete;
  virtual ~server_observer() = default;

  /// The server begins to compute.
  virtual void resume() {}
  /// The server has computed. May sleep.
  virtual void hold() {}
  /// The server has answered what it could, after each message.
  virtual void served() {}
  /// Room for a worker's account of what all servers hold.
  [[nodiscard]] virtual std::span<float> room() { return {}; }
  /// That room is filled.
  virtual void rested() {}
};

/// Serves a shard to workers: applies what they push, and sends what they may read.
///
/// A loop over one request per worker, the first that ends: a message that is received, or the gradient that follows
/// it. Answers are sent meanwhile. A read that has to wait for slower workers is answered by the push that it waits
/// for.
///
/// A worker that is lost - dead, or silent for longer than the deadline - is dropped, with its channels; the others
/// go on. Memory: the shard for the weights, once more for each worker's gradients and once more for what it is sent,
/// and what the optimizer remembers. Source: Li et al., "Scaling distributed machine learning with the parameter
/// server", OSDI 2014.
class server {
 public:
  /// @param channels to the workers, in their order
  server(tutti::detail::owned<channel_list> channels, shard weights);

  /// Serves until all workers have left.
  /// @param tasks the scheduler, if workers ask this server for their tasks
  /// @throws error if all workers are lost; what the observer throws
  void run(scheduler* tasks, server_observer& told);

  /// Updates of its first piece, with those before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return shard_.clock(); }
  [[nodiscard]] std::vector<lost_worker> const& lost() const noexcept { return lost_; }
  /// The figures of this rank. Those of the workers, as they sent them when they left, are in `worker_figures`, of lost
  /// ones the steps that they had reported, to a server that they report to.
  [[nodiscard]] figures own_figures() const;
  [[nodiscard]] figures const& worker_figures(std::size_t worker) const { return peers_[worker].reported; }
  [[nodiscard]] std::span<piece const> pieces() const noexcept { return shard_.pieces(); }

 private:
  /// The next thing to be received from a worker.
  enum class expected { message, gradient, report, state, figures };

  struct peer {
    explicit peer(key_range keys) : weights(keys) {}

    expected next_is = expected::message;
    bool present = true;
    time_point last_message_at{};
    message last_message;
    piece* pushed = nullptr;
    report done;
    task next;
    std::vector<float> memory;  // on its way to this worker
    request sending;            // of memory, or of the next task
    figures reported;
    std::uint64_t steps = 0;  // that it has reported
    outgoing_weights weights;
  };
  /// Weights to be sent, which may have to wait, or the next task.
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
  void receive(std::size_t w, expected what, std::span<T> to) {
    peers_[w].next_is = what;
    requests_[w] = (*channels_)[w].receive(to);
  }
  template <class F>
  void guarded(std::size_t w, scheduler* tasks, F f);
  void serve(std::size_t w, scheduler* tasks, server_observer& told);
  void serve_message(std::size_t w, server_observer& told);
  void answer_all(scheduler* tasks);
  [[nodiscard]] bool ready(answer const& one, scheduler* tasks);
  void send(answer const& one);
  void leave(std::size_t w);
  void drop_silent(scheduler* tasks, time_point now);
  void drop(std::size_t w, scheduler* tasks, std::string why);

  tutti::detail::owned<channel_list> channels_;  // before the requests, which end first
  shard shard_;
  std::vector<peer> peers_;
  std::vector<answer> answers_;    // in the order in which they were asked for
  std::vector<char> waits_;        // workers that cannot be answered yet
  std::vector<request> requests_;  // what is being received, from each worker
  std::size_t present_ = 0;        // workers
  std::vector<lost_worker> lost_;
  time_point began_{};
  time_point looked_{};
  duration busy_{};
  duration waited_{};
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/server.ipp>
#endif
