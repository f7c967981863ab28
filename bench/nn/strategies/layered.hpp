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
struct layered {
  static constexpr std::size_t scale = 256;
  static constexpr int steps = 3;  ///< steps with an exchange

  /// Time at which servers hand a sum out.
  enum class handing { ready, after, forward };

  cluster hosts;
  std::vector<layer> layers;
  double seconds;         ///< time of computing in a step, a third of it forward
  std::size_t piece = 0;  ///< largest number of elements summed as one; 0: a whole layer
  handing out = handing::ready;
};

namespace detail {

/// A part of a layer, or a piece of it, held by one server.
struct layer_piece {
  std::size_t of;  ///< index of the layer
  std::size_t begin;
  std::size_t count;
  tutti::rank_type server;
};

/// The pieces of all layers, in the order of forward.
[[nodiscard]] inline std::vector<layer_piece> pieces_of(layered const& what, tutti::rank_type servers) {
  std::size_t all = 0;
  for (layer const& one : what.layers) {
    all += one.numbers;
  }
  std::vector<layer_piece> pieces;
  std::size_t at = 0;
  for (std::size_t l = 0; l != what.layers.size(); ++l) {
    for (std::size_t const end = at + what.layers[l].numbers; at != end;) {
      auto const server = static_cast<tutti::rank_type>(at * servers / all);
      std::size_t const shard_ends = ((server + 1) * all + servers - 1) / servers;
      std::size_t const most = what.piece == 0 ? end : at + what.piece;
      std::size_t const until = std::min({end, shard_ends, most});
      pieces.push_back({l, at / layered::scale, (until - at + layered::scale - 1) / layered::scale, server});
      at = until;
    }
  }
  return pieces;
}

[[nodiscard]] inline cluster scaled(cluster hosts) {
  hosts.server.per_byte *= layered::scale;
  hosts.worker.per_byte *= layered::scale;
  hosts.combine *= layered::scale;
  return hosts;
}

/// Events of one rank in the last exchange but one. The last step computes with its sums.
struct step_log {
  struct event {
    double time;
    double bytes;
  };
  double before = 0;          ///< worker: end of the backward that makes the gradients
  double backward = 0;        ///< worker: end of the next backward
  double waited = 0;          ///< worker: time of waiting for sums
  double complete = 0;        ///< server: time at which it has all gradients
  std::vector<event> came{};  ///< gradients to a server, sums to a worker

  [[nodiscard]] double left(double at) const {
    double bytes = 0;
    for (event const& e : came) {
      bytes += e.time > at ? e.bytes : 0;
    }
    return bytes;
  }
};

[[nodiscard]] double now(auto& world) {
  return static_cast<double>(world.transport().exact_now().count()) * 1e-12;
}

void compute(auto& world, double seconds) {
  world.transport().spend(tutti::picoseconds(static_cast<std::int64_t>(seconds * 1e12)));
}

[[nodiscard]] inline double bytes_of(layer_piece const& piece) {
  return static_cast<double>(piece.count * layered::scale * sizeof(float));
}

/// Forward and backward of a worker. Calls `begin(i)` when the gradients of piece i are there; `sum(i)`, the request
/// for its sum, is complete before its weights are used. If sums arrive in the order of backward, all are needed at
/// once: the first layer's arrive last.
template <class World, class Begin, class Sum>
step_log train(World& world, layered const& what, std::vector<layer_piece> const& pieces, Begin begin, Sum sum) {
  double products = 0;
  for (layer const& one : what.layers) {
    products += one.products;
  }
  double const second = what.seconds / 3 / products;  // seconds per product
  bool const needs_all = what.out != layered::handing::forward;
  step_log log;
  auto const take = [&](std::size_t i) {
    double const from = now(world);
    sum(i).wait();
    log.waited += now(world) - from;
    log.came.push_back({now(world), bytes_of(pieces[i])});
  };
  std::size_t untaken = 0;  // pieces not yet received, if all are needed
  for (int step = 0;; ++step) {
    log.waited = 0;
    while (untaken != 0) {
      take(--untaken);
    }
    std::size_t next = 0;
    for (std::size_t l = 0; l != what.layers.size(); ++l) {
      for (; next != pieces.size() && pieces[next].of == l; ++next) {
        if (step != 0 && !needs_all) {
          take(next);
        }
      }
      compute(world, second * what.layers[l].products);
    }
    if (step == layered::steps) {
      compute(world, 2 * what.seconds / 3);
      log.backward = now(world);
      return log;
    }
    log.came.clear();
    untaken = needs_all ? pieces.size() : 0;
    for (std::size_t l = what.layers.size(); l-- != 0;) {
      compute(world, 2 * second * what.layers[l].products);
      for (; untaken > next && sum(untaken - 1).test(); --untaken) {
        log.came.push_back({now(world), bytes_of(pieces[untaken - 1])});
      }
      for (; next != 0 && pieces[next - 1].of == l; --next) {
        begin(next - 1);
      }
    }
    log.before = now(world);
  }
}

[[nodiscard]] inline std::size_t numbers_in(std::vector<layer_piece> const& pieces) {
  std::size_t most = 0;
  for (layer_piece const& p : pieces) {
    most = std::max(most, p.begin + p.count);
  }
  return most;
}

/// Communicators of a server and all workers: gradients use one, sums the other.
template <class World>
struct channel {
  World push;
  World pull;
};

template <class Handing, class World>
step_log serve(channel<World>& at, layered const& what, std::vector<layer_piece> pieces, tutti::rank_type me) {
  std::vector<float> sums(numbers_in(pieces));
  std::erase_if(pieces, [&](layer_piece const& p) { return p.server != me; });
  tutti::reduce add{at.push, tutti::star{}, tutti::sum<float>{}};
  tutti::broadcast hand_out{at.pull, Handing{}};
  step_log log;
  for (int step = 0; step != layered::steps; ++step) {
    log.came.clear();
    std::vector<tutti::request> sent;
    auto const send = [&](layer_piece const& p) {
      sent.push_back(hand_out.start(std::span(sums).subspan(p.begin, p.count), 0));
    };
    for (auto p = pieces.rbegin(); p != pieces.rend(); ++p) {
      add(std::span(sums).subspan(p->begin, p->count), 0);
      log.came.push_back({now(at.push), bytes_of(*p) * (at.push.size() - 1)});
      if (what.out == layered::handing::ready) {
        send(*p);
      }
    }
    log.complete = now(at.push);
    if (what.out == layered::handing::after) {
      std::for_each(pieces.rbegin(), pieces.rend(), send);
    } else if (what.out == layered::handing::forward) {
      std::for_each(pieces.begin(), pieces.end(), send);
    }
    for (auto& one : sent) {
      one.wait();
    }
  }
  return log;
}

template <class Handing, class World>
step_log work(World& world, std::vector<channel<World>>& servers, layered const& what,
              std::vector<layer_piece> const& pieces) {
  std::vector<float> gradients(numbers_in(pieces));
  std::vector<float> weights(gradients.size());
  using add = decltype(tutti::reduce{servers[0].push, tutti::star{}, tutti::sum<float>{}});
  using receive = decltype(tutti::broadcast{servers[0].pull, Handing{}});
  std::vector<add> push;
  std::vector<receive> pull;
  for (auto& one : servers) {
    push.push_back({one.push, tutti::star{}, tutti::sum<float>{}});
    pull.push_back({one.pull, Handing{}});
  }
  auto const part = [&](std::vector<float>& of, std::size_t i) {
    return std::span(of).subspan(pieces[i].begin, pieces[i].count);
  };
  std::vector<tutti::request> pushed(pieces.size());
  std::vector<tutti::request> pulled(pieces.size());
  auto const ask = [&](std::size_t i) { pulled[i] = pull[pieces[i].server].start(part(weights, i), 0); };
  auto const begin = [&](std::size_t i) {
    tutti::rank_type const server = pieces[i].server;
    pushed[i] = push[server].start(part(gradients, i), 0);
    if (what.out != layered::handing::forward) {
      ask(i);
    } else if (i == 0 || pieces[i - 1].server != server) {
      for (std::size_t j = i; j != pieces.size() && pieces[j].server == server; ++j) {
        ask(j);
      }
    }
  };
  return train(world, what, pieces, begin, [&](std::size_t i) -> tutti::request& { return pulled[i]; });
}

/// Summarises a worker and the servers. The worker waits for the gradients of all servers.
[[nodiscard]] inline step summary(step_log const& worker, std::span<step_log const> servers, tutti::rank_type workers) {
  step result{.seconds = worker.backward - worker.before};
  double complete = worker.before;
  for (step_log const& one : servers) {
    result.push_left += one.left(worker.before);
    complete = std::max(complete, one.complete);
  }
  result.aggregation = complete - worker.before;
  result.distribution = std::max(0.0, worker.waited - result.aggregation);
  result.pull_left = worker.left(worker.before) * workers;
  result.pull_left_yet = worker.left(complete) * workers;
  return result;
}

}  // namespace detail

/// Simulates parameter servers, which hand sums out by Handing: `star`, to each worker by itself, or `in_network`,
/// once, as IP multicast does.
template <class Handing>
[[nodiscard]] step by_servers(layered const& what, tutti::rank_type servers, tutti::rank_type workers) {
  auto const pieces = detail::pieces_of(what, servers);
  cluster const hosts = detail::scaled(what.hosts);
  auto all =
      tutti::simulate(hosts.network(servers, workers), servers + workers,
                      [&](auto& world) {
                        using world_type = std::remove_reference_t<decltype(world)>;
                        std::vector<detail::channel<world_type>> mine;
                        for (tutti::rank_type s = 0; s != servers; ++s) {
                          std::uint32_t const part = world.rank() >= servers || world.rank() == s ? 0 : tutti::no_part;
                          detail::channel<world_type> made{tutti::split(world, part), tutti::split(world, part)};
                          if (made.push) {
                            mine.push_back(std::move(made));
                          }
                        }
                        return world.rank() < servers ? detail::serve<Handing>(mine[0], what, pieces, world.rank())
                                                      : detail::work<Handing>(world, mine, what, pieces);
                      },
                      {.place = hosts.place(servers, workers)});
  std::vector<detail::step_log> logs;
  for (auto& one : all.results) {
    logs.push_back(one.value());
  }
  return detail::summary(logs[servers], std::span(logs).first(servers), workers);
}

/// Simulates workers alone, which advance their sums between layers.
template <class Topology>
[[nodiscard]] step by_workers(layered const& what, tutti::rank_type workers) {
  auto const pieces = detail::pieces_of(what, 1);
  cluster const hosts = detail::scaled(what.hosts);
  auto all = tutti::simulate(
      hosts.network(0, workers), workers,
      [&](auto& world) {
        std::vector<float> gradients(detail::numbers_in(pieces));
        std::vector<tutti::request> sums(pieces.size());
        tutti::allreduce add{world, Topology{}, tutti::sum<float>{}};
        return detail::train(
            world, what, pieces,
            [&](std::size_t i) { sums[i] = add.start(std::span(gradients).subspan(pieces[i].begin, pieces[i].count)); },
            [&](std::size_t i) -> tutti::request& { return sums[i]; });
      },
      {.place = hosts.place(0, workers)});
  return detail::summary(all.results[0].value(), {}, workers);
}

}  // namespace bench
