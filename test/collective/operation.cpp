// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <models/puppet_transport.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/doubling.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace {

using tutti::rank_type;
using tutti::recorder;
using world_type = tutti::communicator<models::puppet>;

/// Adds, and throws where an operand is negative.
struct careful_sum {
  int operator()(int a, int b) const { return a < 0 || b < 0 ? throw std::domain_error("negative") : a + b; }
};
using reduction = decltype(tutti::reduce_with<int>(careful_sum{}, tutti::commutative));
using payload = tutti::detail::combining<reduction>;
using operation = tutti::detail::operation<world_type, tutti::doubling, tutti::op::allreduce, payload>;

constexpr tutti::call some_call = tutti::make_call(tutti::operation_kind::allreduce, "int32", "careful", "doubling");

/// A rank whose allreduce of one number the test advances.
struct rank {
  rank(rank_type me, rank_type n, models::puppet_stage& stage)
      : world(models::echo_rendezvous(me, n), stage), run(world.communicator, tutti::doubling{}, run_payload) {}

  void start(int x) {
    value = x;
    auto* const data = reinterpret_cast<std::byte*>(&value);
    run.call_record() = some_call;
    run.start({}, {}, run_payload, {.input = data, .work = data, .output = data}, 1);
  }
  bool advance() { return run.advance(); }
  /// The state of the last operation in the flight recorder.
  recorder::state last() {
    recorder::state state{};
    world.communicator.recent().for_each([&](recorder::entry const& e) { state = e.current_state; });
    return state;
  }

  /// Drops the rendezvous once the communicator is made.
  struct world_holder {
    world_holder(models::echo_rendezvous meet, models::puppet_stage& stage)
        : communicator(meet, {.role = {}, .transport = {&stage}}) {}
    world_type communicator;
  } world;
  payload run_payload{tutti::reduce_with<int>(careful_sum{}, tutti::commutative)};
  operation run;
  int value = 0;
};

/// Advances all until each has ended; false if they do not end.
bool all_end(std::initializer_list<rank*> ranks) {
  for (int i = 0; i < 10000; ++i) {
    bool have_all_ended = true;
    for (rank* const r : ranks) {
      have_all_ended = r->advance() && have_all_ended;
    }
    if (have_all_ended) {
      return true;
    }
  }
  return false;
}

BOOST_AUTO_TEST_CASE(it_ends_when_all_have_done_their_part_and_can_be_run_again) {
  models::puppet_stage stage(2, 1);
  rank rank_0(0, 2, stage);
  rank rank_1(1, 2, stage);
  for (int k = 1; k <= 50; ++k) {
    rank_0.start(k);
    for (int i = 0; i < 100; ++i) {
      BOOST_TEST(!rank_0.advance());  // rank 1 has not begun
    }
    BOOST_TEST((rank_0.last() == recorder::state::started));
    rank_1.start(1000 * k);
    BOOST_REQUIRE(all_end({&rank_0, &rank_1}));
    BOOST_TEST(rank_0.value == 1001 * k);
    BOOST_TEST(rank_1.value == 1001 * k);
    BOOST_TEST((rank_0.last() == recorder::state::completed));
    rank_0.run.throw_failure();  // throws nothing
  }
}

/// A topology that throws on request.
struct hesitant : tutti::doubling {
  static inline bool refuses = false;
  [[nodiscard]] std::uint32_t steps(tutti::op::allreduce o, rank_type n, rank_type me) const {
    return refuses ? throw std::domain_error("no schedule") : tutti::doubling::steps(o, n, me);
  }
};

// The engine caches a schedule only once the topology has given it.
BOOST_AUTO_TEST_CASE(a_topology_that_refuses_is_asked_again) {
  models::puppet_stage stage(1, 1);
  models::echo_rendezvous meet(0, 1);
  world_type world(meet, {.role = {}, .transport = {&stage}});
  payload const run_payload{tutti::reduce_with<int>(careful_sum{}, tutti::commutative)};
  tutti::detail::operation<world_type, hesitant, tutti::op::allreduce, payload> run(world, hesitant{}, run_payload);
  int value = 1;
  auto* const data = reinterpret_cast<std::byte*>(&value);
  hesitant::refuses = true;
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_THROW(run.start({}, {}, run_payload, {.input = data, .work = data, .output = data}, 1),
                      std::domain_error);
  }
  hesitant::refuses = false;
}

BOOST_AUTO_TEST_CASE(what_a_reduction_throws_is_the_end_here_and_an_error_elsewhere) {
  models::puppet_stage stage(3, 1);
  rank rank_0(0, 3, stage);
  rank rank_1(1, 3, stage);
  rank rank_2(2, 3, stage);
  rank_0.start(1);
  rank_1.start(-1);
  rank_2.start(1);
  BOOST_REQUIRE(all_end({&rank_0, &rank_1, &rank_2}));
  BOOST_TEST((stage.first_fault.kind == tutti::failure::cancelled));

  int throw_count = 0;
  for (rank* const r : {&rank_0, &rank_1, &rank_2}) {
    BOOST_TEST((r->last() == recorder::state::failed));
    try {
      r->run.throw_failure();
      BOOST_ERROR("no failure");
    } catch (tutti::error const& e) {
      BOOST_TEST((e.kind() == tutti::failure::cancelled));
      BOOST_TEST(e.at_fault().front() == stage.first_fault.culprit);
    } catch (std::domain_error const&) {
      ++throw_count;
      BOOST_TEST(r->world.communicator.rank() == stage.first_fault.culprit);
    }
  }
  BOOST_TEST(throw_count == 1);  // nothing is combined after the exception
}

BOOST_AUTO_TEST_CASE(a_rank_that_gives_up_is_named) {
  models::puppet_stage stage(3, 1);  // rank 2 never begins, so no rank can complete
  rank rank_0(0, 3, stage);
  rank rank_1(1, 3, stage);
  rank_0.start(1);
  rank_1.start(1);
  rank_1.run.cancel();
  BOOST_REQUIRE(all_end({&rank_0, &rank_1}));
  for (rank* const r : {&rank_0, &rank_1}) {
    BOOST_CHECK_EXCEPTION(r->run.throw_failure(), tutti::error, [](tutti::error const& e) {
      return e.kind() == tutti::failure::cancelled && e.at_fault() == std::vector<rank_type>{1};
    });
  }
}

}  // namespace
