// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/when_any.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/outgoing_weights.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/detail/parameter_server/scheduler.hpp>
#include <tutti/nn/detail/parameter_server/shard.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Is told when a server computes: between `resume` and `hold`. It may sleep in `hold`.
class serving_pace {
 public:
  serving_pace() = default;
  serving_pace(serving_pace const&) = delete;
  serving_pace& operator=(serving_pace const&) = delete;
  virtual ~serving_pace() = default;
  virtual void resume() = 0;
  virtual void hold() = 0;
};

/// Takes the place of an observer of what all servers hold, where there is none.
struct no_rest {
  static std::span<float> room() noexcept { return {}; }
  static void done() noexcept {}
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
template <group Communicator>
class server {
  using channel_type = peer_channel<Communicator>;
  using channels_type = std::vector<tutti::detail::owned<channel_type>>;

 public:
  /// @param channels to the workers, in their order
  /// @param pace is told when the server computes; null: nobody is
  server(Communicator& world, channels_type channels, shard weights, serving_pace* pace = nullptr)
      : world_(world.alias()),
        shard_(std::move(weights)),
        pace_(pace),
        any_(communicators_of(channels)),
        requests_(channels.size()) {
    for (auto& one : channels) {
      peers_.emplace_back(std::move(one), shard_.keys());
    }
    waits_.resize(peers_.size());
    answers_.reserve(peers_.size() * (shard_.pieces().size() + 1));
  }

  /// Until all workers have left.
  /// @param tasks the scheduler, if workers ask this server for their tasks
  /// @param after is called after each message
  /// @param rest where a worker's account of what all servers hold goes, and what is then done with it
  /// @throws error if all workers are lost; what `after` throws
  template <class After, class Rest = no_rest>
  void run(scheduler* tasks, After after, Rest rest = {}) {
    began_ = world_.transport().now();
    watch();
    for (std::size_t w = 0; w != peers_.size(); ++w) {
      peers_[w].channel->patience(no_deadline);  // drop_silent tells a silent worker from one that waits for an answer
      peers_[w].last_message_at = world_.transport().now();
      guarded(w, tasks, [&] { receive_message(w); });
    }
    for (std::size_t next = 0; present_ != 0;) {
      time_point const before = world_.transport().now();
      std::size_t const w = any_(requests_, next, tutti::detail::between_looks);
      time_point const found = world_.transport().now();
      waited_ += found - before;
      if (pace_ != nullptr) {
        pace_->resume();
      }
      bool const arrived = w != requests_.size();
      if (arrived) {
        trace(event_kind::enter, found);
        next = w + 1;
        peers_[w].last_message_at = found;
        guarded(w, tasks, [&] {
          requests_[w].wait();
          serve(w, tasks, rest);
        });
        hold();
      }
      if (found - looked_ >= tutti::detail::between_looks) {
        looked_ = found;
        drop_silent(tasks, found);
      }
      answer_all(tasks);
      hold();
      after();
      time_point const done = world_.transport().now();
      if (arrived) {
        trace(event_kind::leave, done);
      }
      busy_ += done - found;
    }
    if (lost_.size() == peers_.size()) {
      throw error(failure::peer_lost, "all workers are lost, the last one since " + lost_.back().why)
          .between(world_.rank(), {});
    }
  }

  /// Updates of its first piece, with those before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return shard_.clock(); }
  [[nodiscard]] std::vector<lost_worker> const& lost() const noexcept { return lost_; }
  /// Of this rank; those of the workers, as they sent them when they left, are in `worker_figures`, of lost ones the
  /// steps that they had reported, to a server that they report to.
  [[nodiscard]] figures own_figures() const {
    figures sum;
    sum.lead = shard_.lead();
    sum.missed = shard_.missed();
    for (auto const& one : peers_) {
      sum.moved += one.channel->moved();
    }
    sum.steps = shard_.steps();
    sum.busy = static_cast<double>(busy_.count()) * 1e-9;
    sum.waited = static_cast<double>(waited_.count()) * 1e-9;
    return sum;
  }
  [[nodiscard]] figures const& worker_figures(std::size_t worker) const { return peers_[worker].reported; }
  [[nodiscard]] std::span<piece const> pieces() const noexcept { return shard_.pieces(); }

 private:
  void hold() {
    if (pace_ != nullptr) {
      pace_->hold();
    }
  }

  /// What is being received from a worker.
  enum class expected { message, gradient, report, state, figures };

  struct peer {
    peer(tutti::detail::owned<channel_type> c, key_range keys) : channel(std::move(c)), weights(keys) {}

    tutti::detail::owned<channel_type> channel;
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
    outgoing_weights<Communicator> weights;
  };
  /// What is to be sent, and may have to wait: weights, or the next task.
  struct answer {
    std::size_t worker = 0;
    key_range keys{};
    clock_value clock = 0;
    clock_value need = 0;
    bool is_task = false;
  };

  static auto communicators_of(channels_type const& channels) {
    expects(!channels.empty(), "parameter server: a server needs a worker, and there is none; start more ranks");
    std::vector<typename channel_type::communicator_type*> all;
    for (auto const& one : channels) {
      all.push_back(&one->communicator());
    }
    return all;
  }

  void trace(event_kind kind, time_point now) {
    record(world_.trace(), [&] { return event{.kind = kind, .time = now, .text = "serve"}; });
  }

  /// Waits from now on for the workers that are still present, and no others.
  void watch() {
    std::vector<typename channel_type::communicator_type*> all;
    for (auto const& one : peers_) {
      if (one.present) {
        all.push_back(&one.channel->communicator());
      }
    }
    present_ = all.size();
    if (present_ != 0) {
      any_ = when_any(std::move(all));
    }
  }

  void receive_message(std::size_t w) { receive(w, expected::message, std::span(&peers_[w].last_message, 1)); }
  template <class T>
  void receive(std::size_t w, expected what, std::span<T> to) {
    peers_[w].next_is = what;
    requests_[w] = peers_[w].channel->receive(to);
  }

  /// What can fail because a worker is lost.
  template <class F>
  void guarded(std::size_t w, scheduler* tasks, F f) {
    try {
      f();
    } catch (error const& e) {
      drop(w, tasks, peers_[w].channel->blamed(e).what());
    }
  }

  template <class Rest>
  void serve(std::size_t w, scheduler* tasks, Rest& rest) {
    peer& p = peers_[w];
    switch (p.next_is) {
      case expected::message:
        serve_message(w, rest);
        return;
      case expected::state:
        tasks->rested();
        rest.done();
        receive_message(w);
        return;
      case expected::gradient:
        shard_.push(*p.pushed, w, p.last_message);
        if (p.last_message.answer != 0) {
          answers_.push_back({w, p.pushed->keys(), p.last_message.clock + 1, p.last_message.need});
        }
        receive_message(w);
        return;
      case expected::report:
        p.sending.wait();
        tasks->take(w, p.done);
        p.steps += p.done.iterated;
        answers_.push_back({.worker = w, .is_task = true});
        receive_message(w);
        return;
      case expected::figures:
        p.sending.wait();
        p.weights.finish();
        leave(w);
        return;
    }
  }

  template <class Rest>
  void serve_message(std::size_t w, Rest& rest) {
    peer& p = peers_[w];
    message const& words = p.last_message;
    switch (words.what) {
      case verb::push:
        p.pushed = &shard_.find(words.keys);
        receive(w, expected::gradient, p.pushed->inbox(w));
        return;
      case verb::pull:
        expects(shard_.keys().holds(words.keys), "parameter server: a worker asks for keys ", words.keys.begin, " to ",
                words.keys.end, " of a server that holds ", shard_.keys().begin, " to ", shard_.keys().end);
        answers_.push_back({w, words.keys, words.clock, words.need});
        receive_message(w);
        return;
      case verb::memory:
        p.sending.wait();
        shard_.copy_memory(p.memory);
        p.sending = p.channel->send(std::span<float const>(p.memory));
        receive_message(w);
        return;
      case verb::rest:
        receive(w, expected::state, rest.room());
        return;
      case verb::ask:
        receive(w, expected::report, std::span(&p.done, 1));
        return;
      case verb::leave:
        receive(w, expected::figures, std::span(&p.reported, 1));
        return;
    }
  }

  // --- answering

  /// Sends all that no longer has to wait, to each worker in the order in which it asked: it receives in that order.
  void answer_all(scheduler* tasks) {
    for (std::size_t before = present_ + 1; before != present_;) {  // no answer waits for a worker that is lost
      before = present_;
      std::ranges::fill(waits_, char{0});
      for (std::size_t i = 0; i != answers_.size();) {
        answer const one = answers_[i];
        if (peers_[one.worker].present && (waits_[one.worker] != 0 || !ready(one, tasks))) {
          waits_[one.worker] = 1;
          ++i;
          continue;
        }
        answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
        if (peers_[one.worker].present) {
          peers_[one.worker].last_message_at = world_.transport().now();  // it was waiting until now
          guarded(one.worker, tasks, [&] { send(one); });
        }
      }
    }
  }

  [[nodiscard]] bool ready(answer const& one, scheduler* tasks) {
    if (!one.is_task) {
      return shard_.fresh_for(one.worker, one.keys, one.need);
    }
    auto const next = tasks->next(one.worker);
    peers_[one.worker].next = next.value_or(task{});
    return next.has_value();
  }

  void send(answer const& one) {
    peer& p = peers_[one.worker];
    if (one.is_task) {
      p.sending = p.channel->send(std::span<task const>(&p.next, 1));
    } else {
      shard_.read(one.worker, one.keys, one.clock, p.weights.room(one.keys));
      p.weights.send(*p.channel, one.keys);
    }
  }

  // --- leaving

  void leave(std::size_t w) {
    peers_[w].present = false;
    shard_.drop(w);
    watch();
  }

  /// A worker that waits for an answer is not silent.
  void drop_silent(scheduler* tasks, time_point now) {
    for (std::size_t w = 0; w != peers_.size(); ++w) {
      if (peers_[w].present && now - peers_[w].last_message_at >= world_.deadline() &&
          std::ranges::none_of(answers_, [w](answer const& one) { return one.worker == w; })) {
        drop(w, tasks,
             peers_[w].channel->name() + " has sent nothing for " +
                 std::to_string(world_.deadline().count() / 1'000'000) + " ms");
      }
    }
  }

  void drop(std::size_t w, scheduler* tasks, std::string why) {
    if (!peers_[w].present) {
      return;
    }
    requests_[w] = {};
    auto const since = world_.transport().now() - began_;
    lost_.push_back({static_cast<rank_type>(w), std::move(why), static_cast<double>(since.count()) * 1e-9});
    peers_[w].reported = {};
    peers_[w].reported.steps = peers_[w].steps;
    if (tasks != nullptr) {
      tasks->drop(w);
    }
    leave(w);
  }

  Communicator world_;
  shard shard_;
  serving_pace* pace_;
  std::vector<peer> peers_;      // before their requests, which end first
  std::vector<answer> answers_;  // in the order in which they were asked for
  std::vector<char> waits_;      // workers that cannot be answered yet
  when_any<typename channel_type::communicator_type> any_;
  std::vector<request> requests_;  // what is being received, from each worker
  std::size_t present_ = 0;        // workers
  std::vector<lost_worker> lost_;
  time_point began_{};
  time_point looked_{};
  duration busy_{};
  duration waited_{};
};

}  // namespace tutti::nn::parameter_server::detail
