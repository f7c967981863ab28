// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer.hpp"
#include "network.hpp"
#include "step.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/star.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

/// Steps of training in virtual time, layer by layer: the gradients of a layer leave as soon as backward has them.
///
/// Each number stands for `scale` numbers, so that gigabytes are simulated in megabytes: the network is slower for
/// each byte by that factor.
struct layered_training {
  static constexpr std::size_t scale = 256;
  static constexpr int steps = 3;  ///< steps with an exchange

  /// Time at which servers hand a sum out.
  enum class distribution_policy { when_ready, when_complete, in_forward_order };

  cluster hosts;
  std::vector<layer> layers;
  double seconds;         ///< time of computing in a step, a third of it forward
  std::size_t piece = 0;  ///< largest number of elements summed as one; 0: a whole layer
  distribution_policy policy = distribution_policy::when_ready;
};

namespace detail {

/// A part of a layer, or a piece of it, held by one server.
struct layer_piece {
  std::size_t layer_index;
  std::size_t begin;
  std::size_t count;
  tutti::rank_type server;
};

/// The pieces of all layers, in the order of forward.
[[nodiscard]] inline std::vector<layer_piece> pieces_of(layered_training const& training, tutti::rank_type servers) {
  std::size_t total = 0;
  for (layer const& l : training.layers) {
    total += l.numbers;
  }
  std::vector<layer_piece> pieces;
  std::size_t offset = 0;
  for (std::size_t l = 0; l != training.layers.size(); ++l) {
    for (std::size_t const end = offset + training.layers[l].numbers; offset != end;) {
      auto const server = static_cast<tutti::rank_type>(offset * servers / total);
      std::size_t const shard_ends = ((server + 1) * total + servers - 1) / servers;
      std::size_t const piece_end = training.piece == 0 ? end : offset + training.piece;
      std::size_t const next = std::min({end, shard_ends, piece_end});
      pieces.push_back({l, offset / layered_training::scale,
                        (next - offset + layered_training::scale - 1) / layered_training::scale, server});
      offset = next;
    }
  }
  return pieces;
}

[[nodiscard]] inline cluster scale_network(cluster hosts) {
  hosts.server.per_byte *= layered_training::scale;
  hosts.worker.per_byte *= layered_training::scale;
  hosts.combine *= layered_training::scale;
  return hosts;
}

/// Events of one rank in the last exchange but one. The last step computes with its sums.
struct step_log {
  struct event {
    double time;
    double bytes;
  };
  double previous_backward = 0;   ///< worker: end of the backward that makes the gradients
  double backward = 0;            ///< worker: end of the next backward
  double waiting_time = 0;        ///< worker: time of waiting for sums
  double complete = 0;            ///< server: time at which it has all gradients
  std::vector<event> arrivals{};  ///< gradients to a server, sums to a worker

  [[nodiscard]] double outstanding_bytes(double time) const {
    double bytes = 0;
    for (event const& e : arrivals) {
      bytes += e.time > time ? e.bytes : 0;
    }
    return bytes;
  }
};

[[nodiscard]] double current_time(auto& world) {
  return static_cast<double>(world.transport().exact_now().count()) * 1e-12;
}

void compute(auto& world, double seconds) {
  world.transport().spend(tutti::picoseconds(static_cast<std::int64_t>(seconds * 1e12)));
}

[[nodiscard]] inline double bytes_of(layer_piece const& piece) {
  return static_cast<double>(piece.count * layered_training::scale * sizeof(float));
}

/// Forward and backward of a worker. Calls `begin(i)` when the gradients of piece i are there; `sum(i)`, the request
/// for its sum, is complete before its weights are used. If sums arrive in the order of backward, all are needed at
/// once: the first layer's arrive last.
template <class World, class Begin, class Sum>
step_log train(World& world, layered_training const& training, std::vector<layer_piece> const& pieces, Begin begin,
               Sum sum) {
  double products = 0;
  for (layer const& l : training.layers) {
    products += l.products;
  }
  double const seconds_per_product = training.seconds / 3 / products;
  bool const needs_all = training.policy != layered_training::distribution_policy::in_forward_order;
  step_log log;
  auto const await_sum = [&](std::size_t i) {
    double const begin_time = current_time(world);
    sum(i).wait();
    log.waiting_time += current_time(world) - begin_time;
    log.arrivals.push_back({current_time(world), bytes_of(pieces[i])});
  };
  std::size_t pending = 0;  // pieces not yet received, if all are needed
  for (int step = 0;; ++step) {
    log.waiting_time = 0;
    while (pending != 0) {
      await_sum(--pending);
    }
    std::size_t next = 0;
    for (std::size_t l = 0; l != training.layers.size(); ++l) {
      for (; next != pieces.size() && pieces[next].layer_index == l; ++next) {
        if (step != 0 && !needs_all) {
          await_sum(next);
        }
      }
      compute(world, seconds_per_product * training.layers[l].products);
    }
    if (step == layered_training::steps) {
      compute(world, 2 * training.seconds / 3);
      log.backward = current_time(world);
      return log;
    }
    log.arrivals.clear();
    pending = needs_all ? pieces.size() : 0;
    for (std::size_t l = training.layers.size(); l-- != 0;) {
      compute(world, 2 * seconds_per_product * training.layers[l].products);
      for (; pending > next && sum(pending - 1).test(); --pending) {
        log.arrivals.push_back({current_time(world), bytes_of(pieces[pending - 1])});
      }
      for (; next != 0 && pieces[next - 1].layer_index == l; --next) {
        begin(next - 1);
      }
    }
    log.previous_backward = current_time(world);
  }
}

[[nodiscard]] inline std::size_t numbers_in(std::vector<layer_piece> const& pieces) {
  std::size_t count = 0;
  for (layer_piece const& p : pieces) {
    count = std::max(count, p.begin + p.count);
  }
  return count;
}

/// Communicators of a server and all workers: gradients use one, sums the other.
template <class World>
struct channel {
  World push;
  World pull;
};

template <class Distribution, class World>
step_log serve(channel<World>& link, layered_training const& training, std::vector<layer_piece> pieces,
               tutti::rank_type me) {
  std::vector<float> sums(numbers_in(pieces));
  std::erase_if(pieces, [&](layer_piece const& p) { return p.server != me; });
  tutti::reduce add{link.push, tutti::star{}, tutti::sum<float>{}};
  tutti::broadcast hand_out{link.pull, Distribution{}};
  step_log log;
  for (int step = 0; step != layered_training::steps; ++step) {
    log.arrivals.clear();
    std::vector<tutti::request> requests;
    auto const send = [&](layer_piece const& p) {
      requests.push_back(hand_out.start(std::span(sums).subspan(p.begin, p.count), 0));
    };
    for (auto p = pieces.rbegin(); p != pieces.rend(); ++p) {
      add(std::span(sums).subspan(p->begin, p->count), 0);
      log.arrivals.push_back({current_time(link.push), bytes_of(*p) * (link.push.size() - 1)});
      if (training.policy == layered_training::distribution_policy::when_ready) {
        send(*p);
      }
    }
    log.complete = current_time(link.push);
    if (training.policy == layered_training::distribution_policy::when_complete) {
      std::for_each(pieces.rbegin(), pieces.rend(), send);
    } else if (training.policy == layered_training::distribution_policy::in_forward_order) {
      std::for_each(pieces.begin(), pieces.end(), send);
    }
    for (auto& request : requests) {
      request.wait();
    }
  }
  return log;
}

template <class Distribution, class World>
step_log work(World& world, std::vector<channel<World>>& servers, layered_training const& training,
              std::vector<layer_piece> const& pieces) {
  std::vector<float> gradients(numbers_in(pieces));
  std::vector<float> weights(gradients.size());
  using add = decltype(tutti::reduce{servers[0].push, tutti::star{}, tutti::sum<float>{}});
  using receive = decltype(tutti::broadcast{servers[0].pull, Distribution{}});
  std::vector<add> push;
  std::vector<receive> pull;
  for (auto& server : servers) {
    push.push_back({server.push, tutti::star{}, tutti::sum<float>{}});
    pull.push_back({server.pull, Distribution{}});
  }
  auto const part = [&](std::vector<float>& numbers, std::size_t i) {
    return std::span(numbers).subspan(pieces[i].begin, pieces[i].count);
  };
  std::vector<tutti::request> push_requests(pieces.size());
  std::vector<tutti::request> pull_requests(pieces.size());
  auto const start_pull = [&](std::size_t i) { pull_requests[i] = pull[pieces[i].server].start(part(weights, i), 0); };
  auto const begin = [&](std::size_t i) {
    tutti::rank_type const server = pieces[i].server;
    push_requests[i] = push[server].start(part(gradients, i), 0);
    if (training.policy != layered_training::distribution_policy::in_forward_order) {
      start_pull(i);
    } else if (i == 0 || pieces[i - 1].server != server) {
      for (std::size_t j = i; j != pieces.size() && pieces[j].server == server; ++j) {
        start_pull(j);
      }
    }
  };
  return train(world, training, pieces, begin, [&](std::size_t i) -> tutti::request& { return pull_requests[i]; });
}

/// Summarises a worker and the servers. The worker waits for the gradients of all servers.
[[nodiscard]] inline step summary(step_log const& worker, std::span<step_log const> servers, tutti::rank_type workers) {
  step result{.seconds = worker.backward - worker.previous_backward};
  double complete = worker.previous_backward;
  for (step_log const& server : servers) {
    result.push_left += server.outstanding_bytes(worker.previous_backward);
    complete = std::max(complete, server.complete);
  }
  result.aggregation = complete - worker.previous_backward;
  result.distribution = std::max(0.0, worker.waiting_time - result.aggregation);
  result.pull_left = worker.outstanding_bytes(worker.previous_backward) * workers;
  result.pull_left_yet = worker.outstanding_bytes(complete) * workers;
  return result;
}

}  // namespace detail

/// Simulates parameter servers, which hand sums out over Distribution: `star`, to each worker by itself, or
/// `in_network`, once, as IP multicast does.
template <class Distribution>
[[nodiscard]] step simulate_servers(layered_training const& training, tutti::rank_type servers,
                                    tutti::rank_type workers) {
  auto const pieces = detail::pieces_of(training, servers);
  cluster const hosts = detail::scale_network(training.hosts);
  auto simulation = tutti::simulate(
      hosts.network(servers, workers), servers + workers,
      [&](auto& world) {
        using world_type = std::remove_reference_t<decltype(world)>;
        std::vector<detail::channel<world_type>> channels;
        for (tutti::rank_type s = 0; s != servers; ++s) {
          std::uint32_t const part = world.rank() >= servers || world.rank() == s ? 0 : tutti::no_part;
          detail::channel<world_type> new_channel{tutti::split(world, part), tutti::split(world, part)};
          if (new_channel.push) {
            channels.push_back(std::move(new_channel));
          }
        }
        return world.rank() < servers ? detail::serve<Distribution>(channels[0], training, pieces, world.rank())
                                      : detail::work<Distribution>(world, channels, training, pieces);
      },
      {.place = hosts.place(servers, workers)});
  std::vector<detail::step_log> logs;
  for (auto& outcome : simulation.results) {
    logs.push_back(outcome.value());
  }
  return detail::summary(logs[servers], std::span(logs).first(servers), workers);
}

/// Simulates workers alone, which advance their sums between layers.
template <class Topology>
[[nodiscard]] step simulate_workers(layered_training const& training, tutti::rank_type workers) {
  auto const pieces = detail::pieces_of(training, 1);
  cluster const hosts = detail::scale_network(training.hosts);
  auto simulation = tutti::simulate(
      hosts.network(0, workers), workers,
      [&](auto& world) {
        std::vector<float> gradients(detail::numbers_in(pieces));
        std::vector<tutti::request> sums(pieces.size());
        tutti::allreduce add{world, Topology{}, tutti::sum<float>{}};
        return detail::train(
            world, training, pieces,
            [&](std::size_t i) { sums[i] = add.start(std::span(gradients).subspan(pieces[i].begin, pieces[i].count)); },
            [&](std::size_t i) -> tutti::request& { return sums[i]; });
      },
      {.place = hosts.place(0, workers)});
  return detail::summary(simulation.results[0].value(), {}, workers);
}

}  // namespace bench
