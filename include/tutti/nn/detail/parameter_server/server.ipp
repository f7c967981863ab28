// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/wait.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/nn/detail/parameter_server/server.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL server::server(tutti::detail::owner<channel_list> channels, shard weights)
    : channels_(std::move(channels)), shard_(std::move(weights)), requests_(channels_->size()) {
  expects(channels_->size() != 0, "parameter server: a server needs a worker, and there is none; start more ranks");
  peers_.reserve(channels_->size());
  for (std::size_t w = 0; w != channels_->size(); ++w) {
    peers_.emplace_back(shard_.keys());
  }
  waits_.resize(peers_.size());
  answers_.reserve(peers_.size() * (shard_.pieces().size() + 1));
}

TUTTI_DECL void server::run(scheduler* tasks, server_observer& observer) {
  begin_ = channels_->now();
  watch();
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    (*channels_)[w].limit_wait(no_deadline);  // drop_silent distinguishes silent workers from waiting ones
    peers_[w].last_message_time = channels_->now();
    drop_on_error(w, tasks, [&] { receive_message(w); });
  }
  for (std::size_t next = 0; present_count_ != 0;) {
    time_point const wait_begin = channels_->now();
    std::size_t const w = channels_->first_ended(requests_, next, tutti::detail::between_looks);
    time_point const arrival = channels_->now();
    waiting_time_ += arrival - wait_begin;
    observer.resume();
    bool const has_message = w != requests_.size();
    if (has_message) {
      channels_->trace(event_kind::enter, arrival, "serve");
      next = w + 1;
      peers_[w].last_message_time = arrival;
      drop_on_error(w, tasks, [&] {
        requests_[w].wait();
        serve(w, tasks, observer);
      });
      observer.hold();
    }
    if (arrival - last_check_ >= tutti::detail::between_looks) {
      last_check_ = arrival;
      drop_silent(tasks, arrival);
    }
    answer_all(tasks);
    observer.hold();
    observer.on_message();
    time_point const end = channels_->now();
    if (has_message) {
      channels_->trace(event_kind::leave, end, "serve");
    }
    busy_time_ += end - arrival;
  }
  if (lost_workers_.size() == peers_.size()) {
    throw error(failure::peer_lost, "all workers are lost, the last one since " + lost_workers_.back().reason)
        .set_ranks(channels_->rank(), {});
  }
}

TUTTI_DECL figures server::local_figures() const {
  figures sum;
  sum.lead = shard_.lead();
  sum.missed_updates = shard_.missed_updates();
  sum.communication = channels_->communication();
  sum.steps = shard_.steps();
  sum.busy_seconds = static_cast<double>(busy_time_.count()) * 1e-9;
  sum.waiting_seconds = static_cast<double>(waiting_time_.count()) * 1e-9;
  return sum;
}

/// Waits, from now on, only for workers that are still present.
TUTTI_DECL void server::watch() {
  std::vector<std::size_t> present;
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    if (peers_[w].is_present) {
      present.push_back(w);
    }
  }
  present_count_ = present.size();
  if (present_count_ != 0) {
    channels_->watch(present);
  }
}

/// Calls f, and drops the worker if f fails.
template <class F>
void server::drop_on_error(std::size_t w, scheduler* tasks, F f) {
  try {
    f();
  } catch (error const& e) {
    drop(w, tasks, (*channels_)[w].translate(e).what());
  }
}

TUTTI_DECL void server::serve(std::size_t w, scheduler* tasks, server_observer& observer) {
  peer& client = peers_[w];
  switch (client.next_receive) {
    case expected::message:
      serve_message(w, observer);
      return;
    case expected::state:
      tasks->resume();
      if (!observer.on_state()) {
        tasks->end();
      }
      receive_message(w);
      return;
    case expected::gradient:
      shard_.push(*client.pushed_piece, w, client.last_message);
      if (client.last_message.answer != 0) {
        answers_.push_back({w, client.pushed_piece->keys(), client.last_message.clock + 1, client.last_message.need});
      }
      receive_message(w);
      return;
    case expected::report:
      client.sending.wait();
      tasks->take(w, client.last_report);
      client.steps += client.last_report.steps;
      answers_.push_back({.worker = w, .is_task = true});
      receive_message(w);
      return;
    case expected::figures:
      client.sending.wait();
      client.weights.finish();
      leave(w);
      return;
  }
}

TUTTI_DECL void server::serve_message(std::size_t w, server_observer& observer) {
  peer& client = peers_[w];
  message const& header = client.last_message;
  switch (header.kind) {
    case message_kind::push:
      client.pushed_piece = &shard_.find(header.keys);
      receive(w, expected::gradient, client.pushed_piece->inbox(w));
      return;
    case message_kind::pull:
      expects(shard_.keys().contains(header.keys), "parameter server: a worker asks for keys ", header.keys.begin,
              " to ", header.keys.end, " of a server that holds ", shard_.keys().begin, " to ", shard_.keys().end);
      answers_.push_back({w, header.keys, header.clock, header.need});
      receive_message(w);
      return;
    case message_kind::memory:
      client.sending.wait();
      shard_.copy_memory(client.memory);
      client.sending = (*channels_)[w].send(std::span<float const>(client.memory));
      receive_message(w);
      return;
    case message_kind::send_state:
      receive(w, expected::state, observer.state_buffer());
      return;
    case message_kind::request_task:
      receive(w, expected::report, std::span(&client.last_report, 1));
      return;
    case message_kind::leave:
      receive(w, expected::figures, std::span(&client.final_figures, 1));
      return;
  }
}

/// Sends all answers that are ready, to each worker in the order of its requests, because it receives in that order.
TUTTI_DECL void server::answer_all(scheduler* tasks) {
  // Repeats, because a dropped worker may have blocked other answers.
  for (std::size_t previous = present_count_ + 1; previous != present_count_;) {
    previous = present_count_;
    std::ranges::fill(waits_, char{0});
    for (std::size_t i = 0; i != answers_.size();) {
      answer const reply = answers_[i];
      if (peers_[reply.worker].is_present && (waits_[reply.worker] != 0 || !is_ready(reply, tasks))) {
        waits_[reply.worker] = 1;
        ++i;
        continue;
      }
      answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (peers_[reply.worker].is_present) {
        peers_[reply.worker].last_message_time = channels_->now();  // it was waiting until now
        drop_on_error(reply.worker, tasks, [&] { send(reply); });
      }
    }
  }
}

TUTTI_DECL bool server::is_ready(answer const& reply, scheduler* tasks) {
  if (!reply.is_task) {
    return shard_.can_read(reply.worker, reply.keys, reply.need);
  }
  auto const next = tasks->next(reply.worker);
  peers_[reply.worker].next_task = next.value_or(task{});
  return next.has_value();
}

TUTTI_DECL void server::send(answer const& reply) {
  peer& client = peers_[reply.worker];
  if (reply.is_task) {
    client.sending = (*channels_)[reply.worker].send(std::span<task const>(&client.next_task, 1));
  } else {
    shard_.read(reply.worker, reply.keys, reply.clock, client.weights.buffer(reply.keys));
    client.weights.send((*channels_)[reply.worker], reply.keys);
  }
}

TUTTI_DECL void server::leave(std::size_t w) {
  peers_[w].is_present = false;
  shard_.drop(w);
  watch();
}

/// Drops workers that have been silent for the deadline, unless they wait for an answer.
TUTTI_DECL void server::drop_silent(scheduler* tasks, time_point now) {
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    if (peers_[w].is_present && now - peers_[w].last_message_time >= channels_->deadline() &&
        std::ranges::none_of(answers_, [w](answer const& reply) { return reply.worker == w; })) {
      drop(w, tasks,
           (*channels_)[w].name() + " has sent nothing for " +
               std::to_string(channels_->deadline().count() / 1'000'000) + " ms");
    }
  }
}

TUTTI_DECL void server::drop(std::size_t w, scheduler* tasks, std::string reason) {
  if (!peers_[w].is_present) {
    return;
  }
  requests_[w] = {};
  auto const loss_time = channels_->now() - begin_;
  lost_workers_.push_back(
      {static_cast<rank_type>(w), std::move(reason), static_cast<double>(loss_time.count()) * 1e-9});
  peers_[w].final_figures = {};
  peers_[w].final_figures.steps = peers_[w].steps;
  if (tasks != nullptr) {
    tasks->drop(w);
  }
  leave(w);
}

}  // namespace tutti::nn::parameter_server::detail
