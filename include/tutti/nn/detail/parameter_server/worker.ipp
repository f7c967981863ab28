// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/parameter_server/worker.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL worker::worker(tutti::detail::owner<channel_list> channels, layout layout, consistency consistency,
                          clock_value begin)
    : channels_(std::move(channels)),
      layout_(std::move(layout)),
      consistency_(consistency),
      arriving_weights_(layout_.keys()),
      pushes_(layout_.pieces().size()),
      pulls_(layout_.pieces().size()),
      begin_(begin),
      clock_(begin) {
  duration const limit = channels_->deadline();
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    // Servers must drop a slow worker before it gives up on them.
    (*channels_)[k].limit_wait(limit > (duration::max)() / 2 ? limit : 2 * limit);
  }
  requests_.reserve(4 * layout_.pieces().size() + 2);
  peers_.reserve(4 * layout_.pieces().size() + 2);
}

TUTTI_DECL void worker::pull(std::span<float> weights, std::span<key_range const> working_set, clock_value need) {
  expects(weights.size() == layout_.keys(), "parameter server: pull takes a weight for each of ", layout_.keys(),
          " keys, not ", weights.size());
  std::vector<message> headers;
  headers.reserve(working_set.size() * channels_->size());
  for (key_range const range : working_set) {
    expects(range.begin <= range.end && range.end <= layout_.keys(), "parameter server: there are keys 0 to ",
            layout_.keys(), "; a working set cannot have keys ", range.begin, " to ", range.end);
    for (std::size_t k = 0; k != channels_->size(); ++k) {
      if (auto const keys = intersection(layout_.shard(k), range); keys.size() != 0) {
        headers.push_back({.kind = message_kind::pull, .clock = clock_, .need = need, .keys = keys});
        send_message(k, headers.back());
        receive(k, weights.subspan(keys.begin, keys.size()));
      }
    }
  }
  wait();
}

TUTTI_DECL void worker::pull_memory(std::span<float> memory) {
  expects(memory.size() == layout_.keys(), "parameter server: pull_memory takes a number for each of ", layout_.keys(),
          " keys, not ", memory.size());
  message const header{.kind = message_kind::memory, .clock = clock_};
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    send_message(k, header);
    receive(k, memory.subspan(layout_.shard(k).begin, layout_.shard(k).size()));
  }
  wait();
}

TUTTI_DECL void worker::send_state(std::span<float const> state) {
  message const header{.kind = message_kind::send_state, .clock = clock_};
  send_message(0, header);
  add_request(0, (*channels_)[0].send(state));
  wait();
}

TUTTI_DECL void worker::begin(std::span<float const> gradients, std::uint64_t samples, std::uint64_t batch) {
  expects(gradients.size() >= layout_.keys(), "parameter server: a step takes a gradient for each of ", layout_.keys(),
          " keys, not ", gradients.size());
  gradients_ = gradients;
  samples_ = samples;
  batch_ = batch;
  unpushed_pieces_ = layout_.pieces().size();
}

TUTTI_DECL void worker::on_completion(std::size_t first) {
  while (unpushed_pieces_ != 0 && layout_.pieces()[unpushed_pieces_ - 1].begin >= first) {
    push(--unpushed_pieces_);
  }
  channels_->poll();
}

TUTTI_DECL void worker::finish(std::span<float> weights) {
  on_completion(0);
  wait();
  std::ranges::copy(arriving_weights_, weights.begin());
  ++clock_;
}

TUTTI_DECL void worker::request_task(report const& last_report) {
  report_ = last_report;
  task_request_ = {.kind = message_kind::request_task, .clock = clock_};
  send_message(0, task_request_);
  add_request(0, (*channels_)[0].send(std::span<report const>(&report_, 1)));
  receive(0, std::span(&next_task_, 1));
}

TUTTI_DECL task const& worker::answer() {
  wait();
  return next_task_;
}

TUTTI_DECL void worker::leave(double busy_seconds) {
  message const header{.kind = message_kind::leave, .clock = clock_};
  figures final_figures = local_figures(busy_seconds);
  // Counts these messages, too.
  final_figures.communication.messages_sent += 2 * channels_->size();
  final_figures.communication.bytes_sent += (sizeof header + sizeof final_figures) * channels_->size();
  for (std::size_t k = 0; k != channels_->size(); ++k) {
    send_message(k, header);
    add_request(k, (*channels_)[k].send(std::span<figures const>(&final_figures, 1)));
  }
  wait();
}

TUTTI_DECL figures worker::local_figures(double busy_seconds) const {
  figures sum;
  sum.communication = channels_->communication();
  sum.steps = clock_ - begin_;
  sum.busy_seconds = busy_seconds;
  sum.waiting_seconds = static_cast<double>(waiting_time_.count()) * 1e-9;
  return sum;
}

TUTTI_DECL void worker::push(std::size_t i) {
  key_range const keys = layout_.pieces()[i];
  std::size_t const k = layout_.server_of(keys.begin);
  clock_value const need = consistency_.required_clock(clock_ + 1);
  pushes_[i] = {.kind = message_kind::push,
                .answer = consistency_.server_sends ? 1U : 0U,
                .clock = clock_,
                .need = need,
                .keys = keys,
                .samples = samples_,
                .batch = batch_};
  send_message(k, pushes_[i]);
  add_request(k, (*channels_)[k].send(gradients_.subspan(keys.begin, keys.size())));
  if (!consistency_.server_sends) {
    pulls_[i] = {.kind = message_kind::pull, .clock = clock_ + 1, .need = need, .keys = keys};
    send_message(k, pulls_[i]);
  }
  receive(k, std::span(arriving_weights_).subspan(keys.begin, keys.size()));
}

TUTTI_DECL void worker::wait() {
  time_point const wait_begin = channels_->now();
  for (std::size_t left = requests_.size(); left != 0; --left) {
    std::size_t const i = channels_->first_ended(requests_, 0, no_deadline);
    try {
      requests_[i].wait();
    } catch (error const& e) {
      throw(*channels_)[peers_[i]].translate(e);
    }
  }
  requests_.clear();
  peers_.clear();
  waiting_time_ += channels_->now() - wait_begin;
}

}  // namespace tutti::nn::parameter_server::detail
