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

TUTTI_DECL void server::run(scheduler* tasks, server_observer& told) {
  began_ = channels_->now();
  watch();
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    (*channels_)[w].patience(no_deadline);  // drop_silent distinguishes silent workers from waiting ones
    peers_[w].last_message_at = channels_->now();
    guarded(w, tasks, [&] { receive_message(w); });
  }
  for (std::size_t next = 0; present_ != 0;) {
    time_point const before = channels_->now();
    std::size_t const w = channels_->first_ended(requests_, next, tutti::detail::between_looks);
    time_point const found = channels_->now();
    waited_ += found - before;
    told.resume();
    bool const arrived = w != requests_.size();
    if (arrived) {
      channels_->trace(event_kind::enter, found, "serve");
      next = w + 1;
      peers_[w].last_message_at = found;
      guarded(w, tasks, [&] {
        requests_[w].wait();
        serve(w, tasks, told);
      });
      told.hold();
    }
    if (found - looked_ >= tutti::detail::between_looks) {
      looked_ = found;
      drop_silent(tasks, found);
    }
    answer_all(tasks);
    told.hold();
    told.served();
    time_point const done = channels_->now();
    if (arrived) {
      channels_->trace(event_kind::leave, done, "serve");
    }
    busy_ += done - found;
  }
  if (lost_.size() == peers_.size()) {
    throw error(failure::peer_lost, "all workers are lost, the last one since " + lost_.back().why)
        .set_ranks(channels_->rank(), {});
  }
}

TUTTI_DECL figures server::own_figures() const {
  figures sum;
  sum.lead = shard_.lead();
  sum.missed = shard_.missed();
  sum.moved = channels_->moved();
  sum.steps = shard_.steps();
  sum.busy = static_cast<double>(busy_.count()) * 1e-9;
  sum.waited = static_cast<double>(waited_.count()) * 1e-9;
  return sum;
}

/// Waits, from now on, only for workers that are still present.
TUTTI_DECL void server::watch() {
  std::vector<std::size_t> present;
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    if (peers_[w].present) {
      present.push_back(w);
    }
  }
  present_ = present.size();
  if (present_ != 0) {
    channels_->watch(present);
  }
}

/// Calls f, and drops the worker if f fails.
template <class F>
void server::guarded(std::size_t w, scheduler* tasks, F f) {
  try {
    f();
  } catch (error const& e) {
    drop(w, tasks, (*channels_)[w].blamed(e).what());
  }
}

TUTTI_DECL void server::serve(std::size_t w, scheduler* tasks, server_observer& told) {
  peer& p = peers_[w];
  switch (p.next_is) {
    case expected::message:
      serve_message(w, told);
      return;
    case expected::state:
      tasks->rested();
      told.rested();
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

TUTTI_DECL void server::serve_message(std::size_t w, server_observer& told) {
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
      p.sending = (*channels_)[w].send(std::span<float const>(p.memory));
      receive_message(w);
      return;
    case verb::rest:
      receive(w, expected::state, told.room());
      return;
    case verb::ask:
      receive(w, expected::report, std::span(&p.done, 1));
      return;
    case verb::leave:
      receive(w, expected::figures, std::span(&p.reported, 1));
      return;
  }
}

/// Sends all answers that are ready, to each worker in the order of its requests, because it receives in that order.
TUTTI_DECL void server::answer_all(scheduler* tasks) {
  // Repeats, because a dropped worker may have blocked other answers.
  for (std::size_t before = present_ + 1; before != present_;) {
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
        peers_[one.worker].last_message_at = channels_->now();  // it was waiting until now
        guarded(one.worker, tasks, [&] { send(one); });
      }
    }
  }
}

TUTTI_DECL bool server::ready(answer const& one, scheduler* tasks) {
  if (!one.is_task) {
    return shard_.fresh_for(one.worker, one.keys, one.need);
  }
  auto const next = tasks->next(one.worker);
  peers_[one.worker].next = next.value_or(task{});
  return next.has_value();
}

TUTTI_DECL void server::send(answer const& one) {
  peer& p = peers_[one.worker];
  if (one.is_task) {
    p.sending = (*channels_)[one.worker].send(std::span<task const>(&p.next, 1));
  } else {
    shard_.read(one.worker, one.keys, one.clock, p.weights.room(one.keys));
    p.weights.send((*channels_)[one.worker], one.keys);
  }
}

TUTTI_DECL void server::leave(std::size_t w) {
  peers_[w].present = false;
  shard_.drop(w);
  watch();
}

/// Drops workers that have been silent for the deadline, unless they wait for an answer.
TUTTI_DECL void server::drop_silent(scheduler* tasks, time_point now) {
  for (std::size_t w = 0; w != peers_.size(); ++w) {
    if (peers_[w].present && now - peers_[w].last_message_at >= channels_->deadline() &&
        std::ranges::none_of(answers_, [w](answer const& one) { return one.worker == w; })) {
      drop(w, tasks,
           (*channels_)[w].name() + " has sent nothing for " +
               std::to_string(channels_->deadline().count() / 1'000'000) + " ms");
    }
  }
}

TUTTI_DECL void server::drop(std::size_t w, scheduler* tasks, std::string why) {
  if (!peers_[w].present) {
    return;
  }
  requests_[w] = {};
  auto const since = channels_->now() - began_;
  lost_.push_back({static_cast<rank_type>(w), std::move(why), static_cast<double>(since.count()) * 1e-9});
  peers_[w].reported = {};
  peers_[w].reported.steps = peers_[w].steps;
  if (tasks != nullptr) {
    tasks->drop(w);
  }
  leave(w);
}

}  // namespace tutti::nn::parameter_server::detail
