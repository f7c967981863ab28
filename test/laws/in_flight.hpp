// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/ring.hpp>

#include <deque>

namespace laws {

/// Many operations of several kinds are under way at once. All ranks start them in one order but at different times,
/// some blocking in the middle, and await them in another order: each gets its own answer.
template <class World>
[[nodiscard]] std::string many_in_flight(World& world, std::size_t operations) {
  rank_type const n = world.size();
  tutti::sum<std::uint32_t> const add;
  tutti::allreduce by_ring{world, tutti::ring{}, add};
  tutti::allreduce by_butterfly{world, tutti::butterfly{}, add};
  tutti::broadcast share{world, tutti::binary_tree{}};
  by_butterfly.segment(256);

  std::deque<std::vector<std::uint32_t>> data;
  std::deque<tutti::request> pending;
  std::uint64_t dice = world.rank() + 1;
  for (std::size_t k = 0; k < operations; ++k) {
    std::size_t const count = k * 37 % 1500;
    data.push_back(contributions<std::uint32_t>(world.rank(), count, k));
    if (k % 7 == 6) {
      by_ring(data.back());  // blocking, while others are under way
      pending.emplace_back();
    } else {
      pending.push_back(k % 3 == 0   ? by_ring.start(data.back())
                        : k % 3 == 1 ? by_butterfly.start(data.back())
                                     : share.start(data.back(), static_cast<rank_type>(k % n)));
    }
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    for (std::uint64_t polls = (dice >> 33) % 16; polls > 0; --polls) {
      world.poll();  // some ranks run ahead, others lag behind
    }
  }
  for (std::size_t i = 0; i < operations; ++i) {
    std::size_t const k = world.rank() % 2 == 0 ? i : operations - 1 - i;
    pending[k].wait();
  }
  for (std::size_t k = 0; k < operations; ++k) {
    std::size_t const count = k * 37 % 1500;
    bool const reduces = k % 7 == 6 || k % 3 != 2;
    if (!equal_bits(data[k], reduces ? sequential(add, n, count, k)
                                     : contributions<std::uint32_t>(static_cast<rank_type>(k % n), count, k))) {
      return "operation " + std::to_string(k) + " of " + std::to_string(operations) + " is wrong";
    }
  }
  return {};
}

/// Vectors larger than every buffer of every transport, whole and in segments.
template <class World>
[[nodiscard]] std::string large(World& world, std::size_t count) {
  for (std::size_t const segment : {std::size_t{0}, std::size_t{1} << 16}) {
    std::string complaint;
    auto const check = [&](auto topology) {
      tutti::allreduce op{world, topology, tutti::sum<std::uint32_t>{}};
      op.segment(segment);
      auto data = contributions<std::uint32_t>(world.rank(), count, 0);
      op(data);
      if (!equal_bits(data, sequential(tutti::sum<std::uint32_t>{}, world.size(), count, 0))) {
        complaint = wrong<decltype(topology)>("large allreduce", "sum", world.size(), count, segment);
      }
    };
    check(tutti::ring{});
    check(tutti::butterfly{});
    check(tutti::doubling{});
    check(tutti::binary_tree{});
    if (!complaint.empty()) {
      return complaint;
    }
  }
  return {};
}

/// A flattened schedule gives the bits of the original schedule.
template <class World, class Topology>
[[nodiscard]] std::string planned_equals(World& world, Topology topology) {
  tutti::plan const flat_schedule(topology, tutti::op::allreduce{}, world.size(), world.rank());
  tutti::allreduce direct{world, topology, tutti::sum<float>{}};
  tutti::allreduce flat_sum{world, flat_schedule.view(), tutti::sum<float>{}};
  std::vector<float> a(1001);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = 1.0F / static_cast<float>(i + world.rank() + 1);
  }
  auto b = a;
  direct(a);
  flat_sum(b);
  return equal_bits(a, b) ? "" : wrong<Topology>("planned allreduce", "sum", world.size(), a.size(), 0);
}

/// The parts of a split world work independently, ordered by the keys, while the whole world works, too.
template <class World>
[[nodiscard]] std::string splits(World& world) {
  rank_type const n = world.size();
  rank_type const me = world.rank();
  auto part = tutti::split(world, me % 3, -static_cast<std::int64_t>(me));  // reversed

  std::vector<rank_type> expected;
  for (rank_type r = n; r-- > 0;) {
    if (r % 3 == me % 3) {
      expected.push_back(r);
    }
  }
  std::vector<rank_type> members(part.size());
  tutti::allgather collect{part, tutti::ring{}};
  collect(std::span(&me, 1), members);
  if (members != expected) {
    return "the members of a part are not those of its colour in the order of their keys";
  }

  tutti::allreduce whole_sum{world, tutti::ring{}, tutti::sum<rank_type>{}};
  tutti::allreduce part_sum{part, tutti::butterfly{}, tutti::sum<rank_type>{}};
  std::vector<rank_type> world_sum(200, me);
  auto pending = whole_sum.start(world_sum);
  std::vector<rank_type> local_sum(100, me);
  part_sum(local_sum);
  pending.wait();
  rank_type total = 0;
  for (rank_type const r : expected) {
    total += r;
  }
  return local_sum.back() == total && world_sum.back() == n * (n - 1) / 2
             ? ""
             : "sums over a part and over the whole differ";
}

}  // namespace laws
