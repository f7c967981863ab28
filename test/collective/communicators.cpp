// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/forked_child.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/dup.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/ring.hpp>

#include <array>
#include <fcntl.h>
#include <optional>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <span>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using tutti::rank_type;

constexpr std::size_t length = 100'000;

/// An owner of a communicator and of objects that use it, as in a user's class.
template <class World>
struct worker {
  explicit worker(World&& source)
      : world(std::move(source)), sum(world, tutti::ring{}, tutti::sum<int>{}), wait_any(world) {}

  World world;
  tutti::allreduce<World, tutti::ring, tutti::sum<int>> sum;
  tutti::when_any<World> wait_any;
};

/// Moves a communicator, and the objects that use it, before, during and after operations.
template <class World>
std::string moves_about(World& world) {
  int const expected = static_cast<int>(world.size() * (world.size() + 1) / 2);
  std::vector<int> first(length, static_cast<int>(world.rank()) + 1);
  std::vector<int> second = first;

  worker<World> original(tutti::split(world, 0));
  std::array<tutti::request, 1> pending{original.sum.start(first)};
  worker<World> successor(std::move(original));  // with its operation in flight
  if (successor.wait_any(pending) != 0) {
    return "the only request is the first to end";
  }
  pending[0].wait();
  successor.sum(second);

  try {
    (void)original.world.rank();
    return "a communicator that was moved from does as if it were one";
  } catch (tutti::precondition_error const& e) {
    if (std::string(e.what()).find("empty: it was moved from") == std::string::npos) {
      return e.what();
    }
  }
  if (successor.world.size() != world.size() || successor.world.rank() != world.rank()) {
    return "it has become another one";
  }
  return first.back() == expected && second.front() == expected ? "" : "wrong sums";
}

/// Lets operators and requests outlive the communicator object that they were made with.
template <class World>
std::string outlives(World& world) {
  std::vector<int> v(length, 1);
  std::vector<int> w(length, 2);
  std::optional<World> part(tutti::split(world, 0));
  tutti::allreduce sum{*part, tutti::ring{}, tutti::sum<int>{}};
  tutti::request pending = sum.start(v);
  part = tutti::split(world, 0);  // only the operator holds the previous one now
  sum(w);
  pending.wait();
  auto const n = static_cast<int>(world.size());
  return v.back() == n && w.front() == 2 * n ? "" : "wrong sums";
}

/// The arguments of a rank in a split: some ranks join no part, keys are unordered and may be equal.
struct choice {
  std::uint32_t colour;
  std::int64_t key;
};
choice choice_of(rank_type r, std::uint64_t seed) {
  std::mt19937_64 random(seed * 64 + r);
  auto const colour = random() % 4;
  return {colour == 3 ? tutti::no_part : static_cast<std::uint32_t>(colour), static_cast<std::int64_t>(random() % 3)};
}

/// Checks that a part has the ranks of its colour, by key and then by rank, and that a rank without colour is in no
/// part.
template <class World>
std::string parts_are_as_said(World& world, std::uint64_t seed) {
  choice const own_choice = choice_of(world.rank(), seed);
  auto part = tutti::split(world, own_choice.colour, own_choice.key);
  if (own_choice.colour == tutti::no_part) {
    return part ? "it joined no part, but has one" : "";
  }
  std::vector<rank_type> members;
  for (std::int64_t key = 0; key != 3; ++key) {
    for (rank_type r = 0; r != world.size(); ++r) {
      choice const other = choice_of(r, seed);
      if (other.colour == own_choice.colour && other.key == key) {
        members.push_back(r);
      }
    }
  }
  if (!part || part.size() != members.size() || part.parent_rank() != world.rank()) {
    return "another part";
  }
  std::vector<rank_type> world_ranks(part.size());
  world_ranks[part.rank()] = world.rank();
  tutti::allreduce{part, tutti::ring{}, tutti::sum<rank_type>{}}(world_ranks);
  for (rank_type r = 0; r != part.size(); ++r) {
    if (part.parent_rank(r) != members[r] || world_ranks[r] != members[r]) {
      return "rank " + std::to_string(r) + " of the part is " + std::to_string(world_ranks[r]) +
             " of the world, said to be " + std::to_string(part.parent_rank(r)) + ", and should be " +
             std::to_string(members[r]);
    }
  }
  return {};
}

/// Messages and operations of a communicator and its duplicate never meet, in any order.
template <class World>
std::string doubles_are_apart(World& world) {
  auto other = tutti::dup(world);
  static_assert(std::is_same_v<decltype(other), World>);
  if (other.rank() != world.rank() || other.size() != world.size() || other.parent_rank() != world.rank() ||
      other.name() == world.name()) {
    return "another communicator than a double";
  }
  std::array<int, 1> first{};
  std::array<int, 1> second{};
  if (world.rank() == 0) {
    for (rank_type r = 1; r != world.size(); ++r) {
      tutti::send{world}(std::array{1}, r);
      tutti::send{other}(std::array{2}, r);
    }
  } else {
    tutti::recv{other}(second, 0);
    tutti::recv{world}(first, 0);
    if (first[0] != 1 || second[0] != 2) {
      return "a message of the other one";
    }
  }
  std::vector<int> v(length, 1);
  std::vector<int> w(length, 2);
  tutti::allreduce world_sum{world, tutti::ring{}, tutti::sum<int>{}};
  tutti::allreduce duplicate_sum{other, tutti::ring{}, tutti::sum<int>{}};
  auto pending =
      world.rank() % 2 == 0 ? world_sum.start(v) : duplicate_sum.start(w);  // the order differs between ranks
  world.rank() % 2 == 0 ? duplicate_sum(w) : world_sum(v);
  pending.wait();
  auto const n = static_cast<int>(world.size());
  return v.back() == n && w.front() == 2 * n ? "" : "wrong sums";
}

/// A second thread of rank 0 starts an operation while the first thread is inside one.
template <class World>
std::string shares_with_a_thread(World& world) {
  std::string second = "the second thread was let in";
  std::vector<int> v(length, 1);
  bool is_first = world.rank() == 0;
  auto const add = tutti::reduce_with<int>(
      [&](int a, int b) {
        if (std::exchange(is_first, false)) {
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
    for (int i = 0; i != 2; ++i) {  // the first call may complete here before rank 0 fails
      sum(v);
    }
  } catch (tutti::precondition_error const&) {
    return world.rank() == 0 ? second : "told rank 1 of a mistake of rank 0's";
  } catch (tutti::error const& e) {
    bool const is_right = e.kind() == tutti::failure::cancelled && e.at_fault() == std::vector<rank_type>{0};
    return world.rank() == 1 && is_right ? "" : e.what();
  }
  return "no rank noticed";
}

/// A forked child destroys a request of its parent, as leaving a scope would; the parent still receives the message.
template <class World>
std::string goes_on_in_the_parent(World& world) {
  int x = 0;
  if (world.rank() == 1) {
    tutti::recv{world}(std::span(&x, 1), 0);
    tutti::send{world}(std::array{42}, 0);
    return "";
  }
  tutti::recv take{world};
  tutti::request pending = take.start(std::span(&x, 1), 1);
  ::pid_t const child = ::fork();
  if (child == 0) {
    {
      tutti::request const child_request = std::move(pending);
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  tutti::send{world}(std::array{1}, 1);
  pending.wait();
  return status == 0 && x == 42 ? "" : "the child failed, or the message was lost";
}

/// Every call in a forked child on objects of its parent is refused.
template <class World>
std::string refuses_calls_of_a_child(World& world) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  tutti::when_any wait_any{world};
  std::vector<int> v(length, 1);
  sum(v);
  tutti::request pending = sum.start(v);
  ::pid_t const child = world.rank() == 0 ? ::fork() : -1;
  if (child == 0) {
    auto const is_refused = [](auto const& call) {
      try {
        call();
      } catch (tutti::precondition_error const& e) {
        return std::string_view(e.what()).find("cannot use the rank's communicators") != std::string_view::npos;
      }
      return false;
    };
    std::vector<int> w(length, 1);
    bool const are_all_refused =
        is_refused([&] { sum(w); }) && is_refused([&] { w[0] += sum.start(w).valid() ? 1 : 0; }) &&
        is_refused([&] { pending.wait(); }) && is_refused([&] { w[0] += pending.test() ? 1 : 0; }) &&
        is_refused([&] { world.poll(); }) && is_refused([&] { tutti::detail::access::state(world).probe(); }) &&
        is_refused([&] { w[0] += wait_any(std::span(&pending, 1)) == 0 ? 1 : 0; }) &&
        is_refused([&] { auto const other = tutti::dup(world); });
    ::_exit(are_all_refused && w[0] == 1 ? 0 : 1);
  }
  int status = 0;
  if (child > 0) {
    ::waitpid(child, &status, 0);
  }
  pending.wait();
  sum(v);
  int const n = static_cast<int>(world.size());
  return status != 0 ? "the child made a call" : v == std::vector<int>(length, n * n * n) ? "" : "wrong";
}

/// Cancels a thread of rank 1 inside a blocking call; `call_index` selects the call.
template <class World>
std::string is_cancelled(World& world, int call_index) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  tutti::barrier meet{world, tutti::ring{}};
  tutti::recv take{world};
  tutti::when_any wait_any{world};
  std::vector<int> v(100, 1);
  bool is_unwound = false;
  bool has_passed = false;
  if (world.rank() == 1) {
    std::thread caller([&] {
      struct unwinding {
        bool& flag;
        ~unwinding() { flag = true; }
      } const mark{is_unwound};
      tutti::request pending;
      try {
        switch (call_index) {
          case 0:
            sum(v);
            break;
          case 1:
            meet();
            break;
          case 2:
            take(v, 2);
            break;
          case 3:
            pending = sum.start(v);
            pending.wait();
            break;
          case 4:
            pending = sum.start(v);
            has_passed = pending.wait_for(std::chrono::seconds(20));
            break;
          case 5:
            pending = sum.start(v);
            has_passed = wait_any(std::span(&pending, 1)) == 0;
            break;
          default:
            pending = sum.start(v);
            while (!pending.test()) {
              ::pthread_testcancel();
            }
        }
      } catch (tutti::error const&) {
      }
      has_passed = true;
    });
    ::pthread_cancel(caller.native_handle());
    caller.join();
  }
  while (world.rank() == 2 && !world.transport().fault()) {  // no operation ends before the fault
    world.poll();
    tutti::detail::access::state(world).probe();
    std::this_thread::yield();
  }
  try {
    if (call_index == 1) {
      meet();
    } else {
      sum(v);
    }
  } catch (tutti::error const& e) {
    bool const is_right = e.kind() == tutti::failure::cancelled && e.at_fault() == std::vector<rank_type>{1};
    return is_right && !has_passed && is_unwound == (world.rank() == 1) ? "" : e.what();
  }
  return "no error";
}

/// An action of a reduction on the operation that runs it.
enum class action_kind {
  move,
  swap,
  other_world,
  drop,
  cancel,
  drop_another,
  drop_earlier,
  drop_all,
  test,
  wait,
  call,
  start,
  poll,
  look
};
/// The call that advances the operation.
enum class driver_kind { by_wait, by_test, by_poll, by_another_world };

/// Rank 0's reduction performs `action` when it is first called.
template <class World>
std::string survives_its_reduction(World& world, action_kind action, driver_kind driver) {
  World other = tutti::dup(world);
  tutti::allreduce plain{other, tutti::ring{}, tutti::sum<int>{}};
  tutti::allreduce meet{world, tutti::ring{}, tutti::sum<int>{}};
  std::optional<World> duplicate(tutti::dup(world));
  std::vector<int> v(100, 1);
  std::vector<int> w(100, 1);
  std::vector<int> x(100, 1);
  std::vector<int> y(100, 1);
  tutti::request pending;
  tutti::request second_request;
  void* performer = nullptr;
  void (*act)(void*) = nullptr;
  bool has_acted = world.rank() != 0;
  // While rank 0 is in `meet`, another rank may still need it there, and would not enter the other world.
  bool is_ready = action != action_kind::other_world;
  auto const fold = tutti::reduce_with<int>(
      [&](int a, int b) {
        if (is_ready && !std::exchange(has_acted, true)) {
          act(performer);
        }
        return a + b;
      },
      0, tutti::commutative);
  using summing = tutti::allreduce<World, tutti::ring, std::remove_const_t<decltype(fold)>>;
  std::optional<summing> sum(std::in_place, *duplicate, tutti::ring{}, fold);
  tutti::allreduce earlier{*duplicate, tutti::ring{}, tutti::sum<int>{}};
  auto perform = [&] {
    switch (action) {
      case action_kind::move:
        second_request = std::move(pending);
        break;
      case action_kind::swap:
        pending.swap(second_request);
        break;
      case action_kind::other_world:
        plain(x);
        break;
      case action_kind::drop:
        pending = {};
        break;
      case action_kind::cancel:
        pending.cancel();
        break;
      case action_kind::drop_another:
      case action_kind::drop_earlier:
        second_request = {};
        break;
      case action_kind::drop_all:
        pending = {};
        second_request = {};
        sum.reset();
        duplicate.reset();
        break;
      case action_kind::test:
        x[0] += pending.test() ? 1 : 0;
        break;
      case action_kind::wait:
        pending.wait();
        break;
      case action_kind::call:
        (*sum)(x);
        break;
      case action_kind::start:
        second_request = sum->start(x);
        break;
      case action_kind::poll:
        duplicate->poll();
        break;
      case action_kind::look:
        tutti::detail::access::state(*duplicate).probe();
        break;
    }
  };
  performer = &perform;
  act = [](void* p) { (*static_cast<decltype(perform)*>(p))(); };

  std::string end = "it has ended well";
  try {
    if (world.rank() != 0) {  // rank 0 gets no message before it has its requests
      meet(y);
    }
    if (action == action_kind::drop_earlier) {
      second_request = earlier.start(w);
    }
    pending = sum->start(v);
    if (action == action_kind::drop_another || action == action_kind::drop_all) {
      second_request = sum->start(w);
    }
    if (world.rank() == 0) {
      meet(y);
      is_ready = true;
    }
    if (action == action_kind::other_world && world.rank() != 0) {
      plain(x);
    }
    if (driver == driver_kind::by_test) {
      while (!pending.test()) {
      }
    } else if (driver == driver_kind::by_poll) {
      while (duplicate && !pending.has_ended()) {
        duplicate->poll();
      }
    } else if (driver == driver_kind::by_another_world) {
      meet(y);
      if (action == action_kind::drop_earlier && world.rank() == 0 && has_acted &&
          tutti::detail::access::state(*duplicate).operations.size() > 1) {
        return "an operation that was given up is still pending";
      }
    }
    pending.wait();
    second_request.wait();
    if (!std::exchange(has_acted, true)) {  // all folds were done before rank 0 was ready
      perform();
    }
  } catch (tutti::precondition_error const& e) {
    end = e.what();
  } catch (tutti::error const& e) {
    end = e.kind() == tutti::failure::cancelled ? "given up" : e.what();
  }
  bool const is_right = v == std::vector<int>(v.size(), static_cast<int>(world.size()));
  if (action <= action_kind::other_world) {
    return end == "it has ended well" && is_right ? "" : end;
  }
  if (world.rank() != 0 || action < action_kind::test) {
    return end == "given up" || (end == "it has ended well" && (is_right || world.rank() == 0)) ? "" : end;
  }
  return end.find("call its own communicator") != std::string::npos ? "" : end;
}

template <class Transport>
void on_every_size(auto law) {
  for (rank_type const n : {1U, 2U, 3U}) {
    support::agree<Transport>(n, law);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(operators_and_requests_go_on_when_their_communicator_moves, Transport,
                              support::transports) {
  auto const law = [](auto& world) { return moves_about(world); };
  on_every_size<Transport>(law);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_communicator_lives_as_long_as_what_works_on_it, Transport, support::transports) {
  auto const law = [](auto& world) { return outlives(world); };
  on_every_size<Transport>(law);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_have_those_that_said_so_and_know_which_they_were, Transport, support::transports) {
  for (std::uint64_t seed = 0; seed != 12; ++seed) {
    auto const law = [=](auto& world) { return parts_are_as_said(world, seed); };
    support::agree<Transport>(static_cast<rank_type>(1 + seed % 6), law);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_communicator_and_its_double_are_apart, Transport, support::transports) {
  auto const law = [](auto& world) { return doubles_are_apart(world); };
  on_every_size<Transport>(law);
}

BOOST_AUTO_TEST_CASE(a_double_knows_the_size_that_its_communicator_knows) {
  auto const ends = tutti::spawn<tutti::loopback, 3>([](auto& world) { return doubles_are_apart(world); });
  for (auto const& end : ends) {
    BOOST_TEST((end ? end.value() : end.failure().text) == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_forked_child_gives_up_no_operation_of_its_parent, Transport,
                              support::transports_of_processes) {
  auto const law = [](auto& world) { return goes_on_in_the_parent(world); };
  support::agree<Transport>(2, law);
}

/// A daemon has closed its standard streams: its output must not reach a descriptor of the library.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_world_leaves_the_numbers_of_closed_standard_streams_free, Transport,
                              support::transports) {
  BOOST_TEST(ends_in_a_forked_child([] {
    for (int fd = 0; fd != 3; ++fd) {
      ::close(fd);
    }
    auto const ends = tutti::spawn<Transport>(3, [](auto& world) {
      auto part = tutti::split(world, world.rank() % 2);
      std::vector<int> v(length, 1);
      tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(v);
      tutti::allreduce{part, tutti::ring{}, tutti::sum<int>{}}(v);
      return ::fcntl(0, F_GETFD) < 0 && ::fcntl(1, F_GETFD) < 0 && ::fcntl(2, F_GETFD) < 0;
    });
    for (auto const& end : ends) {
      if (!end.value()) {
        throw std::runtime_error("the library has taken a standard stream's number");
      }
    }
  }));
}

/// A rank may be bound to one core, by taskset or a cpuset.
BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_that_share_a_core_know_it, Transport, support::transports) {
  BOOST_TEST(ends_in_a_forked_child([] {
    cpu_set_t allowed_cores;
    ::sched_getaffinity(0, sizeof allowed_cores, &allowed_cores);
    cpu_set_t single_core;
    CPU_ZERO(&single_core);
    for (std::size_t core = 0; core != CPU_SETSIZE && CPU_COUNT(&single_core) == 0; ++core) {
      if (CPU_ISSET(core, &allowed_cores)) {
        CPU_SET(core, &single_core);
      }
    }
    ::sched_setaffinity(0, sizeof single_core, &single_core);
    for (auto const& end : tutti::spawn<Transport>(
             2, [](auto& world) { return tutti::detail::access::state(world).is_oversubscribed; })) {
      if (!end.value()) {
        throw std::runtime_error("two ranks on one core do not know it");
      }
    }
  }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_forked_child_makes_no_call_on_what_its_parent_has, Transport,
                              support::transports_of_processes) {
  auto const law = [](auto& world) { return refuses_calls_of_a_child(world); };
  support::agree<Transport>(3, law);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_reduction_that_ends_or_reenters_its_operation_does_no_harm, Transport,
                              support::transports) {
  for (int action = 0; action <= static_cast<int>(action_kind::look); ++action) {
    // A message may wait for a connection of this world, which makes no progress while the reduction waits in another.
    if (std::is_same_v<Transport, tutti::tcp> && action == static_cast<int>(action_kind::other_world)) {
      continue;
    }
    for (int driver = 0; driver <= static_cast<int>(driver_kind::by_another_world); ++driver) {
      if (driver == static_cast<int>(driver_kind::by_another_world) &&
          action == static_cast<int>(action_kind::other_world)) {
        continue;  // the driving world makes no progress meanwhile, and other ranks may wait for it
      }
      BOOST_TEST_CONTEXT("action " << action << ", driver " << driver) {
        auto const law = [=](auto& world) {
          return survives_its_reduction(world, static_cast<action_kind>(action), static_cast<driver_kind>(driver));
        };
        support::agree<Transport>(3, law);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_thread_leaves_its_call_and_all_are_told, Transport, support::transports) {
  for (int call_index = 0; call_index != 7; ++call_index) {
    BOOST_TEST_CONTEXT("call " << call_index) {
      auto const law = [=](auto& world) { return is_cancelled(world, call_index); };
      support::agree<Transport>(3, law);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_threads_on_one_communicator_are_told_so, Transport, support::transports) {
  auto const law = [](auto& world) { return shares_with_a_thread(world); };
  support::agree<Transport>(2, law);
}

}  // namespace
