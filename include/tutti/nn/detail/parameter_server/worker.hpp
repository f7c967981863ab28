// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/when_any.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// A worker's side: pushes gradients, pulls weights, asks what to do.
///
/// A step is `begin`, `completed` as often as one likes, `finish`: each piece of the gradient is pushed as soon as it
/// is complete, and its new weights are requested at the same time. So they travel, and are updated, while the
/// gradients before them are computed.
///
/// Memory: the weights twice, since those that arrive may not replace those that backward still reads. Thread
/// safety: that of the communicator. Errors name the server that is lost.
template <group Communicator>
class worker final : public gradient_listener {
  using channel_type = peer_channel<Communicator>;

 public:
  /// @param channels to the servers, in their order
  /// @param begin how many steps have been made
  worker(Communicator& world, std::vector<tutti::detail::owned<channel_type>> channels, layout layout, consistency how,
         clock_value begin = 0)
      : world_(world.alias()),
        channels_(std::move(channels)),
        layout_(std::move(layout)),
        how_(how),
        any_(worlds()),
        arriving_(layout_.keys()),
        pushes_(layout_.pieces().size()),
        pulls_(layout_.pieces().size()),
        begin_(begin),
        clock_(begin) {
    for (auto const& one : channels_) {
      // A slow worker is to be dropped by the servers before it gives up on them.
      one->patience(world.deadline() > (duration::max)() / 2 ? world.deadline() : 2 * world.deadline());
    }
    requests_.reserve(4 * layout_.pieces().size() + 2);
    peers_.reserve(4 * layout_.pieces().size() + 2);
  }

  /// The weights of a working set: of these ranges of keys and no others, as they are when all other workers have
  /// reached the clock `need`. A range may lie on several servers.
  /// @param weights all of the model's; those of other keys stay as they are
  /// @throws error
  void pull(std::span<float> weights, std::span<key_range const> working_set, clock_value need = 0) {
    expects(weights.size() == layout_.keys(), "parameter server: pull takes a weight for each of ", layout_.keys(),
            " keys, not ", weights.size());
    std::vector<message> words;
    words.reserve(working_set.size() * channels_.size());
    for (key_range const wanted : working_set) {
      expects(wanted.begin <= wanted.end && wanted.end <= layout_.keys(), "parameter server: there are keys 0 to ",
              layout_.keys(), "; a working set cannot have keys ", wanted.begin, " to ", wanted.end);
      for (std::size_t k = 0; k != channels_.size(); ++k) {
        if (auto const keys = common(layout_.shard(k), wanted); keys.size() != 0) {
          words.push_back({.what = verb::pull, .clock = clock_, .need = need, .keys = keys});
          say(k, words.back());
          hear(k, weights.subspan(keys.begin, keys.size()));
        }
      }
    }
    wait();
  }

  /// What all optimizers remember.
  /// @param memory as many numbers as there are keys
  /// @throws error
  void pull_memory(std::span<float> memory) {
    expects(memory.size() == layout_.keys(), "parameter server: pull_memory takes a number for each of ",
            layout_.keys(), " keys, not ", memory.size());
    message const words{.what = verb::memory, .clock = clock_};
    for (std::size_t k = 0; k != channels_.size(); ++k) {
      say(k, words);
      hear(k, memory.subspan(layout_.shard(k).begin, layout_.shard(k).size()));
    }
    wait();
  }
  /// Sends server 0 all that servers hold.
  void hand_over(std::span<float const> state) {
    message const words{.what = verb::rest, .clock = clock_};
    say(0, words);
    keep(0, channels_[0]->send(state));
    wait();
  }

  /// A step begins.
  /// @param message where the gradients will be; it outlives `finish`
  /// @param samples, batch of this worker's part of the batch, and of all
  void begin(std::span<float const> message, std::uint64_t samples, std::uint64_t batch) {
    expects(message.size() >= layout_.keys(), "parameter server: a step takes a gradient for each of ", layout_.keys(),
            " keys, not ", message.size());
    message_ = message;
    samples_ = samples;
    batch_ = batch;
    waiting_ = layout_.pieces().size();
  }

  /// The gradients from `first` on are final. Never waits.
  void completed(std::size_t first) override {
    while (waiting_ != 0 && layout_.pieces()[waiting_ - 1].begin >= first) {
      push(--waiting_);
    }
    for (auto const& one : channels_) {
      one->communicator().poll();
    }
  }

  /// Until all gradients are pushed and all new weights are there; and the next task, if it was requested.
  /// @throws error
  void finish(std::span<float> weights) {
    completed(0);
    wait();
    std::ranges::copy(arriving_, weights.begin());
    ++clock_;
  }

  /// Asks what to do next; the answer is there after `finish`, or `answer`.
  void ask(report const& done) {
    done_ = done;
    asks_ = {.what = verb::ask, .clock = clock_};
    say(0, asks_);
    keep(0, channels_[0]->send(std::span<report const>(&done_, 1)));
    hear(0, std::span(&next_, 1));
  }
  /// The steps that it has pushed, with those before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return clock_; }
  [[nodiscard]] task const& answer() {
    wait();
    return next_;
  }

  /// Leaves all servers, with the figures of this worker.
  void leave(double busy) {
    message const words{.what = verb::leave, .clock = clock_};
    figures own = said(busy);
    // These messages count as well.
    own.moved.messages_sent += 2 * channels_.size();
    own.moved.bytes_sent += (sizeof words + sizeof own) * channels_.size();
    for (std::size_t k = 0; k != channels_.size(); ++k) {
      say(k, words);
      keep(k, channels_[k]->send(std::span<figures const>(&own, 1)));
    }
    wait();
  }

 private:
  [[nodiscard]] figures said(double busy) const {
    figures sum;
    for (auto const& one : channels_) {
      sum.moved += one->moved();
    }
    sum.steps = clock_ - begin_;
    sum.busy = busy;
    sum.waited = static_cast<double>(waited_.count()) * 1e-9;
    return sum;
  }

  [[nodiscard]] std::vector<typename channel_type::communicator_type*> worlds() const {
    std::vector<typename channel_type::communicator_type*> all;
    for (auto const& one : channels_) {
      all.push_back(&one->communicator());
    }
    return all;
  }

  void push(std::size_t i) {
    key_range const keys = layout_.pieces()[i];
    std::size_t const k = layout_.server_of(keys.begin);
    clock_value const need = how_.needed(clock_ + 1);
    pushes_[i] = {.what = verb::push,
                  .answer = how_.server_sends ? 1U : 0U,
                  .clock = clock_,
                  .need = need,
                  .keys = keys,
                  .samples = samples_,
                  .batch = batch_};
    say(k, pushes_[i]);
    keep(k, channels_[k]->send(message_.subspan(keys.begin, keys.size())));
    if (!how_.server_sends) {
      pulls_[i] = {.what = verb::pull, .clock = clock_ + 1, .need = need, .keys = keys};
      say(k, pulls_[i]);
    }
    hear(k, std::span(arriving_).subspan(keys.begin, keys.size()));
  }

  void say(std::size_t k, message const& words) { keep(k, channels_[k]->send(std::span<message const>(&words, 1))); }
  template <class T>
  void hear(std::size_t k, std::span<T> place) {
    keep(k, channels_[k]->receive(place));
  }
  void keep(std::size_t k, request one) {
    requests_.push_back(std::move(one));
    peers_.push_back(k);
  }

  /// For everything that is under way. All channels move on: another worker may need what one of them carries.
  void wait() {
    time_point const before = world_.transport().now();
    for (std::size_t left = requests_.size(); left != 0; --left) {
      std::size_t const i = any_(requests_);
      try {
        requests_[i].wait();
      } catch (error const& e) {
        throw channels_[peers_[i]]->blamed(e);
      }
    }
    requests_.clear();
    peers_.clear();
    waited_ += world_.transport().now() - before;
  }

  Communicator world_;
  std::vector<tutti::detail::owned<channel_type>> channels_;  // before the requests, which end first
  layout layout_;
  consistency how_;
  when_any<typename channel_type::communicator_type> any_;
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
