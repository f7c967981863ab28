// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// A wait on one communicator advances the operations that its rank has started on others. Each law returns a
/// complaint.
namespace laws {

using tutti::rank_type;

/// Even ranks start on `a` and block on `b`; odd ranks start on `b` and block on `a`. Neither call can end before both
/// have begun: a rank that waits in one must serve the other. Runs twice, to test the state kept between calls.
template <class World>
[[nodiscard]] std::string crossed_pair(World& world, std::size_t count) {
  auto a = tutti::split(world, 0);
  auto b = tutti::split(world, 0);
  tutti::allreduce sum_a{a, tutti::ring{}, tutti::sum<std::uint32_t>{}};
  tutti::allreduce sum_b{b, tutti::ring{}, tutti::sum<std::uint32_t>{}};
  for (std::uint32_t turn = 1; turn <= 2; ++turn) {
    std::vector<std::uint32_t> x(count, turn);
    std::vector<std::uint32_t> y(count, turn + 1);
    if (world.rank() % 2 == 0) {
      auto pending = sum_a.start(x);
      sum_b(y);
      pending.wait();
    } else {
      auto pending = sum_b.start(y);
      sum_a(x);
      pending.wait();
    }
    std::uint32_t const n = world.size();
    if (x != std::vector(count, n * turn) || y != std::vector(count, n * (turn + 1))) {
      return "sums over two communicators differ";
    }
  }
  return {};
}

/// The state of one rank in a trial of `crossed_at_random`: several communicators of the same members, the operations
/// under way on them, and two dice, one that all ranks throw alike and one of its own.
template <class World>
class crossing {
 public:
  crossing(World& world, std::size_t communicators, std::uint64_t seed)
      : shared_dice_(seed), local_dice_(seed ^ ((world.rank() + 1) * 0x9e3779b97f4a7c15U)) {
    for (std::size_t i = 0; i < communicators; ++i) {
      sides_.push_back(std::make_unique<side>(world));
    }
  }

  /// In each turn every rank starts the same operations: those of one communicator in one order, those of different
  /// communicators in any order. The last may be a blocking call. Then it awaits some of the operations under way.
  [[nodiscard]] std::string run(std::size_t turns) {
    for (std::size_t turn = 0; turn < turns; ++turn) {
      start_all();
      while (!pending_.empty() && throw_dice(local_dice_) % 3 != 0) {
        end_one();
      }
    }
    while (!pending_.empty()) {
      end_one();
    }
    return complaint_;
  }

 private:
  using world_type = decltype(tutti::split(std::declval<World&>(), 0));
  using add = tutti::sum<std::uint32_t>;

  struct side {
    explicit side(World& world)
        : group(tutti::split(world, 0)),
          by_ring(group, tutti::ring{}, add{}),
          by_butterfly(group, tutti::butterfly{}, add{}),
          share(group, tutti::binary_tree{}) {
      by_butterfly.segment(4096);
    }
    world_type group;
    tutti::allreduce<world_type, tutti::ring, add> by_ring;
    tutti::allreduce<world_type, tutti::butterfly, add> by_butterfly;
    tutti::broadcast<world_type, tutti::binary_tree> share;
  };
  struct task {
    std::uint64_t kind;
    std::size_t count;
    std::size_t salt;
  };
  struct running {
    std::unique_ptr<std::vector<std::uint32_t>> data;
    tutti::request operation;
    task assignment;
  };

  static std::uint64_t throw_dice(std::uint64_t& state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33;
  }

  static std::vector<std::uint32_t> contribution(rank_type r, task const& assignment) {
    std::vector<std::uint32_t> v(assignment.count);
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = static_cast<std::uint32_t>((r + 1) * (i + assignment.salt));
    }
    return v;
  }
  [[nodiscard]] std::vector<std::uint32_t> expected(task const& assignment) const {
    rank_type const n = sides_[0]->group.size();
    auto v = contribution(assignment.kind == 2 ? static_cast<rank_type>(assignment.salt % n) : 0, assignment);
    for (std::uint32_t& x : v) {
      x *= assignment.kind == 2 ? 1 : n * (n + 1) / 2;
    }
    return v;
  }

  void start_all() {
    std::vector<std::deque<task>> todo(sides_.size());
    std::size_t left = 1 + throw_dice(shared_dice_) % 4;
    for (std::size_t i = 0; i < left; ++i) {
      constexpr std::size_t longest[] = {10, 1000, 30'000, 100'000};
      std::size_t const side_index = throw_dice(shared_dice_) % todo.size();
      std::uint64_t const kind = throw_dice(shared_dice_) % 3;
      todo[side_index].push_back({kind, throw_dice(shared_dice_) % longest[throw_dice(shared_dice_) % 4], ++salt_});
    }
    for (; left != 0; --left) {
      std::size_t side_index = throw_dice(local_dice_) % todo.size();
      while (todo[side_index].empty()) {
        side_index = (side_index + 1) % todo.size();
      }
      start(*sides_[side_index], todo[side_index].front(), left == 1 && throw_dice(local_dice_) % 2 == 0);
      todo[side_index].pop_front();
    }
  }

  void start(side& s, task assignment, bool blocking) {
    running entry{
        std::make_unique<std::vector<std::uint32_t>>(contribution(s.group.rank(), assignment)), {}, assignment};
    auto& v = *entry.data;
    auto const root = static_cast<rank_type>(assignment.salt % s.group.size());
    if (blocking) {
      assignment.kind == 0 ? s.by_ring(v) : assignment.kind == 1 ? s.by_butterfly(v) : s.share(v, root);
    } else {
      entry.operation = assignment.kind == 0   ? s.by_ring.start(v)
                        : assignment.kind == 1 ? s.by_butterfly.start(v)
                                               : s.share.start(v, root);
    }
    pending_.push_back(std::move(entry));
  }

  void end_one() {
    auto const at = pending_.begin() + static_cast<std::ptrdiff_t>(throw_dice(local_dice_) % pending_.size());
    if (throw_dice(local_dice_) % 3 == 0) {
      while (!at->operation.test()) {
        std::this_thread::yield();
      }
    } else {
      at->operation.wait();
    }
    if (*at->data != expected(at->assignment)) {
      complaint_ = "operation " + std::to_string(at->assignment.salt) + " is wrong";
    }
    pending_.erase(at);
  }

  std::vector<std::unique_ptr<side>> sides_;
  std::deque<running> pending_;
  std::uint64_t shared_dice_;
  std::uint64_t local_dice_;
  std::size_t salt_ = 0;
  std::string complaint_;
};

/// Two or three communicators, whose operations every rank starts and awaits in an order of its own.
template <class World>
[[nodiscard]] std::string crossed_at_random(World& world, std::uint64_t seed) {
  return crossing<World>(world, 2 + seed % 2, seed).run(12);
}

}  // namespace laws
