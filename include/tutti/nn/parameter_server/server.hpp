// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/when_any.hpp>
#include <tutti/detail/engine/wait.hpp>
#include <tutti/expects.hpp>
#include <tutti/nn/parameter_server/consistency.hpp>
#include <tutti/nn/parameter_server/figures.hpp>
#include <tutti/nn/parameter_server/layout.hpp>
#include <tutti/nn/parameter_server/message.hpp>
#include <tutti/nn/parameter_server/outgoing_weights.hpp>
#include <tutti/nn/parameter_server/peer_channel.hpp>
#include <tutti/nn/parameter_server/piece.hpp>
#include <tutti/nn/parameter_server/rates.hpp>
#include <tutti/nn/parameter_server/regulariser.hpp>
#include <tutti/nn/parameter_server/roles.hpp>
#include <tutti/nn/parameter_server/scheduler.hpp>
#include <tutti/time.hpp>
#include <tutti/trace/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::nn::parameter_server {

/// Who has no use for what all servers hold.
struct no_rest {
  static std::span<float> room() noexcept { return {}; }
  static void done() noexcept {}
};

/// Holds a shard of the weights, applies what workers push, and gives out what they may read.
///
/// A loop over one request per worker, whichever ends first: a message that is received, or the gradient that follows
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

 public:
  /// @param channels to the workers, in their order
  /// @param weights all of the model, to begin with
  /// @param memory what an optimizer of all of them remembers; empty: nothing yet
  /// @param begin how many steps have been made
  server(Communicator& world, std::vector<tutti::detail::owned<channel_type>> channels, std::size_t number,
         layout const& where, consistency how, settings const& asked, batch_plan const& plan, regulariser extra,
         std::span<float const> weights, std::span<float const> memory = {}, clock_value begin = 0)
      : world_(world.alias()),
        how_(how),
        shard_(where.shard(number)),
        rates_(asked, plan),
        begin_(begin),
        any_(world_of(channels)),
        requests_(channels.size()) {
    for (key_range const keys : where.pieces(number)) {
      pieces_.emplace_back(keys, weights.subspan(keys.begin, keys.size()), asked, extra, channels.size(),
                           how.synchronous(), memory.empty() ? memory : memory.subspan(keys.begin, keys.size()), begin);
    }
    for (auto& one : channels) {
      peers_.emplace_back(std::move(one), shard_);
    }
    waits_.resize(peers_.size());
    answers_.reserve(peers_.size() * (pieces_.size() + 1));
  }

  /// Until all workers have left.
  /// @param tasks whom workers ask, if they ask this server
  /// @param after is called after each message
  /// @param rest where a worker's account of what all servers hold goes, and what is then done with it
  /// @throws error if all workers are lost; what `after` throws
  template <class After, class Rest = no_rest>
  void run(scheduler* tasks, After after, Rest rest = {}) {
    began_ = world_.transport().now();
    watch();
    for (std::size_t w = 0; w != peers_.size(); ++w) {
      peers_[w].wire->patience(no_deadline);  // drop_silent knows who is silent and who is kept waiting
      peers_[w].heard = world_.transport().now();
      guarded(w, tasks, [&] { listen(w); });
    }
    for (std::size_t next = 0; here_ != 0;) {
      time_point const before = world_.transport().now();
      std::size_t const w = any_(requests_, next, tutti::detail::between_looks);
      time_point const found = world_.transport().now();
      waited_ += found - before;
      bool const comes = w != requests_.size();
      if (comes) {
        tell(event_kind::enter, found);
        next = w + 1;
        peers_[w].heard = found;
        guarded(w, tasks, [&] {
          requests_[w].wait();
          serve(w, tasks, rest);
        });
      }
      if (found - looked_ >= tutti::detail::between_looks) {
        looked_ = found;
        drop_silent(tasks, found);
      }
      answer_all(tasks);
      after();
      time_point const done = world_.transport().now();
      if (comes) {
        tell(event_kind::leave, done);
      }
      busy_ += done - found;
    }
    if (lost_.size() == peers_.size()) {
      throw error(failure::peer_lost, "all workers are lost, the last one since " + lost_.back().why)
          .between(world_.rank(), {});
    }
  }

  [[nodiscard]] std::vector<lost_worker> const& lost() const noexcept { return lost_; }
  /// Of this rank; those of the workers, as they told them when they left, are in `worker_figures`, of lost ones the
  /// steps that they had reported, to a server that they report to.
  [[nodiscard]] figures own_figures() const {
    figures sum = counted_;
    for (auto const& one : peers_) {
      sum.moved += one.wire->moved();
    }
    sum.steps = pieces_.front().updates() - begin_;
    sum.busy = static_cast<double>(busy_.count()) * 1e-9;
    sum.waited = static_cast<double>(waited_.count()) * 1e-9;
    return sum;
  }
  [[nodiscard]] figures const& worker_figures(std::size_t worker) const { return peers_[worker].said; }
  [[nodiscard]] std::span<piece const> pieces() const noexcept { return pieces_; }

 private:
  /// What is being received from a worker.
  enum class stage { words, gradient, wish, state, farewell };

  struct peer {
    peer(tutti::detail::owned<channel_type> l, key_range shard) : wire(std::move(l)), sent(shard) {}

    tutti::detail::owned<channel_type> wire;
    stage at = stage::words;
    bool here = true;
    time_point heard{};
    message said_last;
    piece* pushed = nullptr;
    report done;
    task next;
    std::vector<float> memory;  // on its way to this worker
    request telling;
    figures said;
    std::uint64_t steps = 0;  // that it has reported
    outgoing_weights<Communicator> sent;
  };

  /// What is to be sent, and may have to wait: weights, or the next task.
  struct answer {
    std::size_t worker = 0;
    key_range keys{};
    clock_value clock = 0;
    clock_value need = 0;
    bool tells_task = false;
  };

  static std::vector<typename channel_type::communicator_type*> world_of(
      std::vector<tutti::detail::owned<channel_type>> const& channels) {
    expects(!channels.empty(), "parameter server: a server needs a worker");
    std::vector<typename channel_type::communicator_type*> all;
    for (auto const& one : channels) {
      all.push_back(&one->communicator());
    }
    return all;
  }

  void tell(event_kind kind, time_point now) {
    record(world_.trace(), [&] { return event{.kind = kind, .time = now, .text = "serve"}; });
  }

  /// Whoever is still here is listened to.
  void watch() {
    std::vector<typename channel_type::communicator_type*> all;
    for (auto const& one : peers_) {
      if (one.here) {
        all.push_back(&one.wire->communicator());
      }
    }
    here_ = all.size();
    if (here_ != 0) {
      any_ = when_any(std::move(all));
    }
  }

  void listen(std::size_t w) {
    peers_[w].at = stage::words;
    requests_[w] = peers_[w].wire->receive(std::span(&peers_[w].said_last, 1));
  }

  /// What can fail because a worker is lost.
  template <class F>
  void guarded(std::size_t w, scheduler* tasks, F f) {
    try {
      f();
    } catch (error const& e) {
      drop(w, tasks, peers_[w].wire->blamed(e).what());
    }
  }

  template <class Rest>
  void serve(std::size_t w, scheduler* tasks, Rest& rest) {
    peer& p = peers_[w];
    switch (p.at) {
      case stage::words:
        heed(w, rest);
        return;
      case stage::state:
        tasks->rested();
        rest.done();
        listen(w);
        return;
      case stage::gradient:
        p.pushed->pushed(w, p.said_last, rates_, counted_.missed);
        if (p.said_last.answer != 0) {
          answers_.push_back({w, p.pushed->keys(), p.said_last.clock + 1, p.said_last.need});
        }
        listen(w);
        return;
      case stage::wish:
        p.telling.wait();
        tasks->take(p.done);
        p.steps += p.done.iterated;
        answers_.push_back({.worker = w, .tells_task = true});
        listen(w);
        return;
      case stage::farewell:
        p.telling.wait();
        p.sent.finish();
        leave(w);
        return;
    }
  }

  template <class Rest>
  void heed(std::size_t w, Rest& rest) {
    peer& p = peers_[w];
    message const& said = p.said_last;
    switch (said.what) {
      case verb::push:
        p.pushed = find(said.keys);
        p.at = stage::gradient;
        requests_[w] = p.wire->receive(p.pushed->inbox(w));
        return;
      case verb::pull:
        expects(shard_.holds(said.keys), "parameter server: a server is asked for keys that it does not hold");
        answers_.push_back({w, said.keys, said.clock, said.need});
        listen(w);
        return;
      case verb::memory:
        p.telling.wait();
        p.memory.clear();
        for (piece& one : pieces_) {
          p.memory.insert(p.memory.end(), one.memory().begin(), one.memory().end());
        }
        p.telling = p.wire->send(std::span<float const>(p.memory));
        listen(w);
        return;
      case verb::rest:
        p.at = stage::state;
        requests_[w] = p.wire->receive(rest.room());
        return;
      case verb::ask:
        p.at = stage::wish;
        requests_[w] = p.wire->receive(std::span(&p.done, 1));
        return;
      case verb::leave:
        p.at = stage::farewell;
        requests_[w] = p.wire->receive(std::span(&p.said, 1));
        return;
    }
  }

  [[nodiscard]] piece* find(key_range keys) {
    for (piece& one : pieces_) {
      if (one.keys() == keys) {
        return &one;
      }
    }
    throw precondition_error("parameter server: gradients are pushed for whole pieces of the layout",
                             std::source_location::current());
  }

  // --- answering

  /// Sends all that no longer has to wait, to each worker in the order in which it asked: it receives in that order.
  void answer_all(scheduler* tasks) {
    for (std::size_t before = here_ + 1; before != here_;) {  // those of a lost worker keep nobody waiting
      before = here_;
      std::ranges::fill(waits_, char{0});
      for (std::size_t i = 0; i != answers_.size();) {
        answer const one = answers_[i];
        if (peers_[one.worker].here && (waits_[one.worker] != 0 || !ready(one, tasks))) {
          waits_[one.worker] = 1;
          ++i;
          continue;
        }
        answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
        if (peers_[one.worker].here) {
          peers_[one.worker].heard = world_.transport().now();  // it was waiting until now
          guarded(one.worker, tasks, [&] { give(one); });
        }
      }
    }
  }
  [[nodiscard]] bool ready(answer const& r, scheduler* tasks) {
    if (r.tells_task) {
      auto const next = tasks->next(r.worker);
      peers_[r.worker].next = next.value_or(task{});
      return next.has_value();
    }
    for (piece const& one : pieces_) {
      if (one.keys().overlaps(r.keys) && !one.fresh_for(r.worker, r.need)) {
        return false;
      }
    }
    return true;
  }
  void give(answer const& r) {
    peer& p = peers_[r.worker];
    if (r.tells_task) {
      p.telling = p.wire->send(std::span<task const>(&p.next, 1));
      return;
    }
    auto const room = p.sent.room(r.keys);
    for (piece& one : pieces_) {
      key_range const part = common(one.keys(), r.keys);
      if (part.size() != 0) {
        auto const from = one.weights().subspan(part.begin - one.keys().begin, part.size());
        std::ranges::copy(from, room.subspan(part.begin - r.keys.begin, part.size()).begin());
        one.read(r.worker, r.clock, counted_.lead);
      }
    }
    p.sent.send(*p.wire, r.keys);
  }

  // --- leaving

  void leave(std::size_t w) {
    peers_[w].here = false;
    for (piece& one : pieces_) {
      one.drop(w, rates_);
    }
    watch();
  }
  /// Whoever waits for an answer is not silent.
  void drop_silent(scheduler* tasks, time_point now) {
    for (std::size_t w = 0; w != peers_.size(); ++w) {
      if (peers_[w].here && now - peers_[w].heard >= world_.deadline() &&
          std::ranges::none_of(answers_, [w](answer const& one) { return one.worker == w; })) {
        drop(w, tasks,
             peers_[w].wire->name() + " has said nothing for " + std::to_string(world_.deadline().count() / 1'000'000) +
                 " ms");
      }
    }
  }
  void drop(std::size_t w, scheduler* tasks, std::string why) {
    if (!peers_[w].here) {
      return;
    }
    requests_[w] = {};
    auto const since = world_.transport().now() - began_;
    lost_.push_back({static_cast<rank_type>(w), std::move(why), static_cast<double>(since.count()) * 1e-9});
    peers_[w].said = {};
    peers_[w].said.steps = peers_[w].steps;
    if (tasks != nullptr) {
      tasks->drop(w);
    }
    leave(w);
  }

  Communicator world_;
  consistency how_;
  key_range shard_;
  rates rates_;
  clock_value begin_;
  std::vector<piece> pieces_;
  std::vector<peer> peers_;      // before their requests, which end first
  std::vector<answer> answers_;  // in the order in which they were asked for
  std::vector<char> waits_;      // workers that cannot be answered yet
  when_any<typename channel_type::communicator_type> any_;
  std::vector<request> requests_;  // what is being received, from each worker
  std::size_t here_ = 0;
  std::vector<lost_worker> lost_;
  figures counted_;
  time_point began_{};
  time_point looked_{};
  duration busy_{};
  duration waited_{};
};

}  // namespace tutti::nn::parameter_server
