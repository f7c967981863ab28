// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../common/serve.hpp"
#include "tutti_transports.hpp"
#include <tutti/automatic.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/environment.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/tutti.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace bench {

/// Counts the messages, or parts of messages, that a rank hands to its transport.
struct counting_trace {
  static constexpr bool is_enabled = true;
  std::int64_t message_count = 0;
  void record(tutti::event const& e) noexcept { message_count += e.kind == tutti::event_kind::send; }
};

/// Memory of the vectors: the heap, or tutti::allocator's for the transport.
enum class buffers { ordinary, allocator };

/// True if ranks of one host have a transport of their own, so that topologies may tell hosts apart.
template <class Transport>
concept separates_hosts = requires(Transport& t) { t.within_host(); };

/// tutti as a contender. The algorithm is the name of a topology, or "automatic". If the ranks of a host have a
/// transport of their own it may also be two names joined by +, as in binary_tree+ring: the first topology within each
/// host, the second between hosts.
template <class World>
class tutti_rank {
 public:
  static constexpr bool ranks_are_threads = World::transport_type::in_process;

  tutti_rank(World& world, buffers kind)
      : world_(&world),
        memory_(kind == buffers::allocator ? tutti::allocator<std::byte>(world).source()
                                           : tutti::detail::heap_memory::source()),
        kind_(kind == buffers::allocator ? tutti::memory_kind::allocator : tutti::memory_kind::ordinary),
        barrier_(world, tutti::doubling{}) {}
  [[nodiscard]] unsigned rank() const noexcept { return world_->rank(); }
  [[nodiscard]] unsigned size() const noexcept { return world_->size(); }
  void barrier() { barrier_(); }
  [[nodiscard]] void* take(std::size_t bytes) { return memory_->take(bytes); }
  void give(void* memory, std::size_t bytes) noexcept { memory_->give(memory, bytes); }
  [[nodiscard]] std::int64_t messages() const noexcept {
    if constexpr (World::trace_type::is_enabled) {
      return world_->trace().message_count;
    } else {
      return -1;
    }
  }

  template <class Use>
  void prepare(work const& w, vectors const& v, Use const& use) {
    if constexpr (tutti::aggregates<typename World::transport_type>) {  // anything else runs over its host
      if (!prepare_one_of<tutti::in_network>(w, v, use)) {
        throw not_offered(w);
      }
    } else {
      prepare_over_ranks(w, v, use);
    }
  }

 private:
  template <class Use>
  void prepare_over_ranks(work const& w, vectors const& v, Use const& use) {
    if (w.op == operation::halo && w.algorithm.empty()) {
      return prepare_halo(v, use);
    }
    if (w.algorithm == tutti::automatic::name) {
      if (!best_) {
        best_.emplace(tutti::automatic(*world_).for_memory(kind_));
      }
      if (!prepare_topology(*best_, w, v, use)) {
        throw not_offered(w);
      }
      return;
    }
    bool const is_prepared = prepare_one_of<tutti::ring, tutti::chain, tutti::binary_tree, tutti::double_tree,
                                            tutti::doubling, tutti::butterfly, tutti::star, tutti::direct>(w, v, use);
    if (!is_prepared && !prepare_hierarchy(w, v, use)) {
      throw not_offered(w);
    }
  }

  template <class... Topologies, class Use>
  bool prepare_one_of(work const& w, vectors const& v, Use const& use) {
    return ((Topologies::name == w.algorithm && prepare_topology(Topologies{}, w, v, use)) || ...);
  }

  template <class Use>
  bool prepare_hierarchy(work const& w, vectors const& v, Use const& use) {
    if constexpr (separates_hosts<typename World::transport_type>) {
      return prepare_between_hosts<tutti::ring, tutti::butterfly, tutti::doubling, tutti::double_tree>(w, v, use);
    } else {
      return false;
    }
  }

  template <class... Topologies, class Use>
  bool prepare_between_hosts(work const& w, vectors const& v, Use const& use) {
    using inner = tutti::binary_tree;
    return ((w.algorithm == std::string(inner::name).append("+").append(Topologies::name) &&
             prepare_topology(tutti::hierarchical{inner{}, Topologies{}, world_->hosts()}, w, v, use)) ||
            ...);
  }

  template <class Topology, class Use>
  bool prepare_topology(Topology topology, work const& w, vectors const& v, Use const& use) {
    if (w.op == operation::broadcast) {
      if constexpr (tutti::offers<Topology, tutti::op::broadcast>) {
        tutti::broadcast share{*world_, topology};
        share.segment(w.segment);
        use([&] { share(v.output, 0); });
        return true;
      }
    } else if (w.op == operation::allreduce) {
      if constexpr (tutti::offers<Topology, tutti::op::allreduce>) {
        tutti::allreduce sum{*world_, topology, tutti::sum<float>{}};
        sum.segment(w.segment);
        if (w.input == inputs::rewritten) {
          use([&] { sum(v.output); });
        } else {
          use([&] { sum(v.input, v.output); });
        }
        return true;
      }
    } else if constexpr (!separates_hosts<typename World::transport_type>) {
      return prepare_blocks(topology, w, v, use);
    }
    return false;
  }

  /// Prepares operations on blocks of any lengths, and scans.
  template <class Topology, class Use>
  bool prepare_blocks(Topology topology, work const& w, vectors const& v, Use const& use) {
    auto const run = [&](auto&& collective, auto const&... blocks) {
      collective.segment(w.segment);
      use([&] { collective(v.input, v.output, blocks...); });
      return true;
    };
    tutti::sum<float> const sum;
    if (w.op == operation::allgatherv || w.op == operation::allgatherv_90) {
      if constexpr (tutti::offers<Topology, tutti::op::allgather>) {
        return run(tutti::allgather{*world_, topology}, tutti::partition(block_lengths(w, size())));
      }
    } else if (w.op == operation::reduce_scatterv || w.op == operation::reduce_scatterv_90) {
      if constexpr (tutti::offers<Topology, tutti::op::reduce_scatter>) {
        return run(tutti::reduce_scatter{*world_, topology, sum}, tutti::partition(block_lengths(w, size())));
      }
    } else if (w.op == operation::alltoallv) {
      if constexpr (tutti::offers<Topology, tutti::op::alltoall>) {
        return run(tutti::alltoall{*world_, topology}, tutti::partition(outgoing_lengths(w, rank(), size())),
                   tutti::partition(incoming_lengths(w, rank(), size())));
      }
    } else if constexpr (tutti::offers<Topology, tutti::op::scan>) {
      return w.op == operation::scan     ? run(tutti::scan{*world_, topology, sum})
             : w.op == operation::exscan ? run(tutti::exscan{*world_, topology, sum})
                                         : false;
    }
    return false;
  }

  /// Prepares the exchange of halves of the vector with both neighbours.
  template <class Use>
  void prepare_halo(vectors const& v, Use const& use) {
    tutti::rank_type const left = (rank() + size() - 1) % size();
    tutti::rank_type const right = (rank() + 1) % size();
    std::size_t const half = v.input.size() / 2;
    tutti::exchange halos{*world_};
    halos.send(v.input.first(half), left);
    halos.send(v.input.subspan(half), right);
    halos.recv(v.output.first(half), right);
    halos.recv(v.output.subspan(half), left);
    use([&] { halos(); });
  }

  World* world_;
  tutti::intrusive_pointer<tutti::memory_source> memory_;
  tutti::memory_kind kind_;
  tutti::barrier<World, tutti::doubling> barrier_;
  std::optional<tutti::automatic> best_;
};

/// The exit status of a program with these outcomes.
template <class Outcomes>
int status_of(Outcomes const& ends) {
  int status = 0;
  for (auto const& end : ends) {
    try {
      end.value();
    } catch (std::exception const& e) {
      std::fprintf(stderr, "%s\n", e.what());
      status = 1;
    }
  }
  return status;
}

/// Runs the ranks of this process, started by a launcher among others: one, or "threads" of them.
template <class Transport, class Rank>
int run_launched(settings const& s, Rank const& rank) {
  tutti::detail::launched_rendezvous processes{tutti::read_environment()};
  if constexpr (Transport::in_process) {
    return status_of(tutti::detail::run_threads(static_cast<tutti::rank_type>(s.number("threads", 1)), [&](auto& seat) {
      tutti::detail::team_rendezvous meet(seat, processes);
      rank(meet);
    }));
  } else {
    rank(processes);
    return 0;
  }
}

template <class Transport, class Trace>
int run_tutti(settings const& s) {
  auto const size = static_cast<tutti::rank_type>(s.number("ranks", 2));
  auto const rank = [&](auto& meet) {
    pin(meet.rank(), meet.size());
    tutti::communicator<Transport, tutti::dynamic, Trace> world(meet);
    tutti_rank me(world, s.one_of("buffers", {"ordinary", "own"}) == "own" ? buffers::allocator : buffers::ordinary);
    serve(me, s);
  };
  if (s.one_of("launched", {"no", "yes"}) == "yes") {
    return run_launched<Transport>(s, rank);
  }
  if constexpr (separates_hosts<Transport>) {
    throw std::runtime_error("transport=" + s.text("transport", "") + " is for several hosts: add launched=yes");
  }
  auto const ends = [&] {
    if constexpr (Transport::in_process) {
      return tutti::detail::run_threads(size, rank);
    } else {
      return tutti::detail::run_processes(size, rank);
    }
  }();
  return status_of(ends);
}

/// Serves as a world of s's "ranks" ranks; with "trace=yes" their messages are counted.
template <class Transport>
int run_tutti(settings const& s) {
  return s.one_of("trace", {"no", "yes"}) == "yes" ? run_tutti<Transport, counting_trace>(s)
                                                   : run_tutti<Transport, tutti::no_trace>(s);
}

}  // namespace bench
