// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_communicators
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/split.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/functor.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <array>
#include <optional>
#include <thread>

namespace {

using tutti::rank_type;

constexpr std::size_t length = 100'000;

/// An owner of a communicator and of what refers to it, as a user's class would be.
template <class World>
struct worker {
  explicit worker(World&& of) : world(std::move(of)), sum(world, tutti::ring{}, tutti::sum<int>{}), any(world) {}

  World world;
  tutti::allreduce<World, tutti::ring, tutti::sum<int>> sum;
  tutti::when_any<World> any;
};

/// Moves a communicator, and what works on it, before, during and after operations.
template <class World>
std::string moves_about(World& world) {
  int const all = static_cast<int>(world.size() * (world.size() + 1) / 2);
  std::vector<int> first(length, static_cast<int>(world.rank()) + 1);
  std::vector<int> second = first;

  worker<World> here(tutti::split(world, 0));
  std::array<tutti::request, 1> pending{here.sum.start(first)};
  worker<World> there(std::move(here));  // under way
  if (there.any(pending) != 0) {
    return "the only request is the first to end";
  }
  pending[0].wait();
  there.sum(second);

  try {
    (void)here.world.rank();
    return "a communicator that was moved from does as if it were one";
  } catch (tutti::precondition_error const& e) {
    if (std::string(e.what()).find("moved from") == std::string::npos) {
      return e.what();
    }
  }
  if (there.world.size() != world.size() || there.world.rank() != world.rank()) {
    return "it has become another one";
  }
  return first.back() == all && second.front() == all ? "" : "wrong sums";
}

/// Lets operators and requests outlive the name that their communicator was made under.
template <class World>
std::string outlives(World& world) {
  std::vector<int> v(length, 1);
  std::vector<int> w(length, 2);
  std::optional<World> part(tutti::split(world, 0));
  tutti::allreduce sum{*part, tutti::ring{}, tutti::sum<int>{}};
  tutti::request pending = sum.start(v);
  part = tutti::split(world, 0);  // the one before is the operator's alone now
  sum(w);
  pending.wait();
  auto const n = static_cast<int>(world.size());
  return v.back() == n && w.front() == 2 * n ? "" : "wrong sums";
}

/// While rank 0's thread is in the middle of an operation, another one of that rank starts one.
template <class World>
std::string shares_with_a_thread(World& world) {
  std::string second = "the second thread was let in";
  std::vector<int> v(length, 1);
  bool once = world.rank() == 0;
  auto const add = tutti::reduce_with<int>(
      [&](int a, int b) {
        if (std::exchange(once, false)) {
          std::thread([&] {
            try {
              std::vector<int> w(10, 1);
              tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(w);
            } catch (tutti::precondition_error const&) {
              second.clear();
            }
          }).join();
        }
        return a + b;
      },
      0, tutti::commutative);
  tutti::allreduce sum{world, tutti::ring{}, add};
  try {
    for (int i = 0; i != 2; ++i) {  // the first may have ended before rank 0 fails
      sum(v);
    }
  } catch (tutti::precondition_error const&) {
    return world.rank() == 0 ? second : "told rank 1 of a mistake of rank 0's";
  } catch (tutti::error const& e) {
    bool const right = e.kind() == tutti::failure::cancelled && e.at_fault() == std::vector<rank_type>{0};
    return world.rank() == 1 && right ? "" : e.what();
  }
  return "nobody noticed";
}

template <class Transport>
void on_every_size(auto law) {
  for (rank_type const n : {1U, 2U, 3U}) {
    support::agree<Transport>(n, law);
  }
}

BOOST_AUTO_TEST_CASE(operators_and_requests_go_on_when_their_communicator_moves) {
  auto const law = [](auto& world) { return moves_about(world); };
  on_every_size<tutti::loopback>(law);
  on_every_size<tutti::shared_memory>(law);
  on_every_size<tutti::tcp>(law);
}

BOOST_AUTO_TEST_CASE(a_communicator_lives_as_long_as_what_works_on_it) {
  auto const law = [](auto& world) { return outlives(world); };
  on_every_size<tutti::loopback>(law);
  on_every_size<tutti::shared_memory>(law);
  on_every_size<tutti::tcp>(law);
}

BOOST_AUTO_TEST_CASE(two_threads_on_one_communicator_are_told_so) {
  auto const law = [](auto& world) { return shares_with_a_thread(world); };
  support::agree<tutti::loopback>(2, law);
  support::agree<tutti::shared_memory>(2, law);
  support::agree<tutti::tcp>(2, law);
}

}  // namespace
