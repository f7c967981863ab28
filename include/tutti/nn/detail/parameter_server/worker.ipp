// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/parameter_server/worker.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL worker::worker(tutti::detail::owner<channel_list> channels, layout layout, consistency how,
                          clock_value begin)
    : channels_(std::move(channels)),
      layout_(std::move(layout)),
      how_(how),
      arriving_(layout_.keys()),
      pushes_(layout_.pieces().size()),
      pulls_(layout_.pieces().size()),
      begin_(begin),
      clock_(begin) {
  duration const limit = channels_->deadline();
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    // Servers must drop a slow worker before it gives up on them.
    (*channels_)[k].patience(limit > (duration::max)() / 2 ? limit : 2 * limit);
  }
  requests_.reserve(4 * layout_.pieces().size() + 2);
  peers_.reserve(4 * layout_.pieces().size() + 2);
}

TUTTI_DECL void worker::pull(std::span<float> weights, std::span<key_range const> working_set, clock_value need) {
  expects(weights.size() == layout_.keys(), "parameter server: pull takes a weight for each of ", layout_.keys(),
          " keys, not ", weights.size());
  std::vector<message> words;
  words.reserve(working_set.size() * channels_->size());
  for (key_range const wanted : working_set) {
    expects(wanted.begin <= wanted.end && wanted.end <= layout_.keys(), "parameter server: there are keys 0 to ",
            layout_.keys(), "; a working set cannot have keys ", wanted.begin, " to ", wanted.end);
    for (std::size_t k = 0; k != channels_->size(); ++k) {
      if (auto const keys = common(layout_.shard(k), wanted); keys.size() != 0) {
        words.push_back({.what = verb::pull, .clock = clock_, .need = need, .keys = keys});
        say(k, words.back());
        hear(k, weights.subspan(keys.begin, keys.size()));
      }
    }
  }
  wait();
}

TUTTI_DECL void worker::pull_memory(std::span<float> memory) {
  expects(memory.size() == layout_.keys(), "parameter server: pull_memory takes a number for each of ", layout_.keys(),
          " keys, not ", memory.size());
  message const words{.what = verb::memory, .clock = clock_};
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    say(k, words);
    hear(k, memory.subspan(layout_.shard(k).begin, layout_.shard(k).size()));
  }
  wait();
}

TUTTI_DECL void worker::hand_over(std::span<float const> state) {
  message const words{.what = verb::rest, .clock = clock_};
  say(0, words);
  keep(0, (*channels_)[0].send(state));
  wait();
}

TUTTI_DECL void worker::begin(std::span<float const> message, std::uint64_t samples, std::uint64_t batch) {
  expects(message.size() >= layout_.keys(), "parameter server: a step takes a gradient for each of ", layout_.keys(),
          " keys, not ", message.size());
  message_ = message;
  samples_ = samples;
  batch_ = batch;
  waiting_ = layout_.pieces().size();
}

TUTTI_DECL void worker::on_completion(std::size_t first) {
  while (waiting_ != 0 && layout_.pieces()[waiting_ - 1].begin >= first) {
    push(--waiting_);
  }
  channels_->poll();
}

TUTTI_DECL void worker::finish(std::span<float> weights) {
  on_completion(0);
  wait();
  std::ranges::copy(arriving_, weights.begin());
  ++clock_;
}

TUTTI_DECL void worker::ask(report const& done) {
  done_ = done;
  asks_ = {.what = verb::ask, .clock = clock_};
  say(0, asks_);
  keep(0, (*channels_)[0].send(std::span<report const>(&done_, 1)));
  hear(0, std::span(&next_, 1));
}

TUTTI_DECL task const& worker::answer() {
  wait();
  return next_;
}

TUTTI_DECL void worker::leave(double busy) {
  message const words{.what = verb::leave, .clock = clock_};
  figures own = said(busy);
  // Counts these messages, too.
  own.moved.messages_sent += 2 * channels_->size();
  own.moved.bytes_sent += (sizeof words + sizeof own) * channels_->size();
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    say(k, words);
    keep(k, (*channels_)[k].send(std::span<figures const>(&own, 1)));
  }
  wait();
}

TUTTI_DECL figures worker::said(double busy) const {
  figures sum;
  sum.moved = channels_->moved();
  sum.steps = clock_ - begin_;
  sum.busy = busy;
  sum.waited = static_cast<double>(waited_.count()) * 1e-9;
  return sum;
}

TUTTI_DECL void worker::push(std::size_t i) {
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
  keep(k, (*channels_)[k].send(message_.subspan(keys.begin, keys.size())));
  if (!how_.server_sends) {
    pulls_[i] = {.what = verb::pull, .clock = clock_ + 1, .need = need, .keys = keys};
    say(k, pulls_[i]);
  }
  hear(k, std::span(arriving_).subspan(keys.begin, keys.size()));
}

TUTTI_DECL void worker::wait() {
  time_point const before = channels_->now();
  for (std::size_t left = requests_.size(); left != 0; --left) {
    std::size_t const i = channels_->first_ended(requests_, 0, no_deadline);
    try {
      requests_[i].wait();
    } catch (error const& e) {
      throw(*channels_)[peers_[i]].blamed(e);
    }
  }
  requests_.clear();
  peers_.clear();
  waited_ += channels_->now() - before;
}

}  // namespace tutti::nn::parameter_server::detail
