// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/execution.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/core/owned.hpp>
#include <tutti/topology/concept.hpp>

#include <cstring>
#include <type_traits>
#include <vector>

namespace tutti {

/// What all operators have: a place to run blocking calls, a pool of places for started ones, and
/// the settings of both. An operator may be destroyed before its requests are.
template <class Communicator, class Topology, class Op, class Payload>
class launcher {
  using execution_type = execution<Communicator, Topology, Op, Payload>;

  /// The places of started operations, reused; lives as long as the operator or any request.
  struct pool;
  struct started : execution_type {
    started(Communicator& world, Topology topology, Payload const& payload, pool& p)
        : execution_type(world, topology, payload), home(&p) {
      this->retire = [](pending& op) { give_back(static_cast<started&>(op)); };
    }
    pool* home;
  };
  struct pool {
    std::vector<owned<started>> idle;
    std::size_t running = 0;
    bool orphaned = false;
  };
  struct leave_pool {
    void operator()(pool* p) const noexcept {
      if (p->running == 0) {
        delete p;
      } else {
        p->orphaned = true;
      }
    }
  };

 public:
  launcher(Communicator& world, Topology topology, Payload const& payload)
      : world_(&world),
        topology_(topology),
        blocking_(new execution_type(world, topology, payload)),
        pool_(new pool),
        deadline_(world.deadline()) {
    if constexpr (has_settings<Topology>) {
      agreed_ = topology.settings(world.size());
    }
  }

  [[nodiscard]] Communicator& world() const noexcept { return *world_; }
  [[nodiscard]] Topology const& topology() const noexcept { return topology_; }

  /// How long each operation may take; the communicator's deadline unless set.
  [[nodiscard]] duration deadline() const noexcept { return deadline_; }
  void deadline(duration d) noexcept { deadline_ = d; }

  /// Vectors are cut into segments of at most so many bytes, several of which are under way at once
  /// (for operations whose blocks belong to ranks, every block is). 0: not at all, the default.
  /// All ranks must set the same.
  [[nodiscard]] std::size_t segment() const noexcept { return segment_; }
  void segment(std::size_t bytes) noexcept { segment_ = bytes; }

 protected:
  void run(Op op, Payload payload, call what, memories const& memory, std::size_t count) {
    blocking_->start(op, payload, tell(what, count), memory, count, segment_);
    blocking_->finish(deadline_);
  }

  [[nodiscard]] request launch(Op op, Payload payload, call what, memories const& memory, std::size_t count) {
    if (pool_->idle.empty()) {
      pool_->idle.push_back(owned<started>(new started(*world_, topology_, payload, *pool_)));
    }
    started& s = *pool_->idle.back().release();
    pool_->idle.pop_back();
    ++pool_->running;
    s.set_limit(deadline_);
    try {
      s.start(op, payload, tell(what, count), memory, count, segment_);
    } catch (...) {
      give_back(s);
      throw;
    }
    request pending(s);
    world_->operations().push_back(s);
    world_->operations().advance();  // the first messages leave at once
    return pending;
  }

 private:
  call& tell(call& what, std::size_t count) const noexcept {
    what.count = count;
    what.identity ^= static_cast<std::uint32_t>((segment_ * 0x9e3779b97f4a7c15U) >> 32);
    if constexpr (has_settings<Topology>) {
      what.identity ^= agreed_.identity;
      std::memcpy(what.topology, agreed_.label, sizeof what.topology);
    }
    return what;
  }

  static void give_back(started& s) {
    pool* const home = s.home;
    owned<started> place(&s);
    if (--home->running == 0 && home->orphaned) {
      delete home;
    } else if (!home->orphaned) {
      home->idle.push_back(std::move(place));
    }
  }

  Communicator* world_;
  struct nothing {};

  [[no_unique_address]] Topology topology_;
  [[no_unique_address]] std::conditional_t<has_settings<Topology>, topology_settings, nothing> agreed_;
  owned<execution_type> blocking_;
  owned<pool, leave_pool> pool_;
  duration deadline_;
  std::size_t segment_ = 0;
};

}  // namespace tutti
