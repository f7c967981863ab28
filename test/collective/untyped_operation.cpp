// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/end_function.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/relative.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/progress_list.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

/// Every operation is retired once, in whatever order its request ends, its turn comes and its list drops it.
namespace {

using tutti::request;
using tutti::detail::operation_pool;
using tutti::detail::operation_use;
using tutti::detail::untyped_operation;

/// A transport over which nothing arrives.
struct quiet {
  tutti::fault fault;
  int polls = 0;
};
constexpr tutti::detail::transport_calls quiet_calls{.name = "quiet",
                                                     .now = [](void const*) { return tutti::steady_now(); },
                                                     .fault = [](void* p) { return static_cast<quiet*>(p)->fault; },
                                                     .revoke =
                                                         [](void* p, tutti::fault const& new_fault) {
                                                           auto& self = *static_cast<quiet*>(p);
                                                           self.fault = self.fault ? self.fault : new_fault;
                                                         },
                                                     .quiesce = [](void*) {},
                                                     .poll = [](void* p) { ++static_cast<quiet*>(p)->polls; }};

/// A rank of an idle world, with an operator.
struct quiet_rank {
  quiet_rank() { static_cast<void>(state.user.leave()); }
  quiet_rank(quiet_rank const&) = delete;
  quiet_rank& operator=(quiet_rank const&) = delete;
  ~quiet_rank() { tutti::detail::progress_list::leave(state); }

  /// The operations retired since the last call, once for each time.
  std::vector<untyped_operation*> take_retired() {
    std::vector<untyped_operation*> operations;
    while (operations.size() != 10) {  // one retired twice would come forever
      untyped_operation* const current = pool.take();
      if (current == nullptr) {
        break;
      }
      operations.push_back(current);
    }
    return operations;
  }

  quiet transport;
  tutti::detail::rank_state state{
      tutti::detail::any_transport(&transport, quiet_calls), {}, 0, {}, {tutti::detail::introduction("quiet", "")}};
  tutti::detail::relative kin{state, nullptr};
  operation_pool pool{[](untyped_operation&) noexcept {}};
};

/// A started operation whose `advance` calls a function of the test.
struct operation : untyped_operation {
  explicit operation(
      quiet_rank& rank, std::function<bool()> f = [] { return false; })
      : untyped_operation(rank.state, table, &rank.pool), turn(std::move(f)) {
    queue_ = tutti::detail::operation_list::collective;
    static_cast<void>(rank.pool.adopt(this));
    rank.state.operations.push_back(*this);
  }
  bool take_turn() {
    ++turns;
    if (is_given_up_ && !has_ended_) {
      end_cancelled();
    }
    has_ended_ = turn() || has_ended_;
    return has_ended_;
  }
  void end() { has_ended_ = true; }

  static functions const table;
  std::function<bool()> turn;
  int turns = 0;
};
untyped_operation::functions const operation::table{
    .advance = [](untyped_operation& o) { return static_cast<operation&>(o).take_turn(); },
    .advance_segments = nullptr,
    .progress = nullptr,
    .detect_mismatch = nullptr,
    .publish_wait = nullptr,
    .is_queued = nullptr,
    .awaits = nullptr,
    .current_flow = nullptr,
    .step_number = [](untyped_operation const&) noexcept { return std::uint32_t{0}; }};

using operation_pointers = std::vector<untyped_operation*>;

}  // namespace

BOOST_AUTO_TEST_CASE(an_operation_that_ends_while_its_list_has_it_is_retired_when_that_drops_it) {
  quiet_rank rank;
  operation only_operation(rank);
  {
    operation_use const last(only_operation);
    only_operation.end();
  }
  BOOST_TEST(rank.take_retired().empty());
  rank.state.operations.advance_all();
  BOOST_TEST((rank.take_retired() == operation_pointers{&only_operation}));
  BOOST_TEST(rank.state.operations.empty());
}

BOOST_AUTO_TEST_CASE(a_turn_may_end_the_operation_whose_turn_comes_next) {
  quiet_rank rank;
  request second_request;
  operation first(rank, [&] {
    second_request = request();
    return false;
  });
  operation second(rank);
  operation third(rank);
  second_request = tutti::detail::access::make_request<request>(tutti::detail::operation_handle(second));
  rank.state.operations.advance_all();
  BOOST_TEST((rank.take_retired() == operation_pointers{&second}));
  BOOST_TEST(second.turns == 1);  // asked once more for completion before it is given up
  BOOST_TEST(third.turns == 1);
  BOOST_TEST(rank.state.operations.size() == 2U);
}

BOOST_AUTO_TEST_CASE(operations_that_end_in_a_turn_within_a_turn_are_retired_once) {
  quiet_rank rank;
  bool outer = true;
  operation first(rank, [&] {
    if (std::exchange(outer, false)) {
      rank.state.operations.advance_all();
    }
    return true;
  });
  operation second(rank, [] { return true; });
  operation third(rank);
  rank.state.operations.advance_all();
  BOOST_TEST((rank.take_retired() == operation_pointers{&first, &second}));  // the last retired comes first
  BOOST_TEST(first.turns == 2);
  BOOST_TEST(second.turns == 1);
  BOOST_TEST(rank.state.operations.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_stream_is_retired_by_the_stream) {
  quiet_rank rank;
  operation only_operation(rank, [] { return true; });
  operation_use::begin(only_operation);
  rank.state.operations.advance_all();
  BOOST_TEST(rank.take_retired().empty());
  operation_use::end(only_operation);
  BOOST_TEST((rank.take_retired() == operation_pointers{&only_operation}));
}

namespace {

/// A started operation with its request, and the calls of a function at its end.
struct observed_operation {
  explicit observed_operation(
      quiet_rank& its_rank, std::function<bool()> f = [] { return false; })
      : rank(its_rank),
        run(rank, std::move(f)),
        pending(tutti::detail::access::make_request<request>(tutti::detail::operation_handle(run))) {}
  observed_operation(observed_operation const&) = delete;
  observed_operation& operator=(observed_operation const&) = delete;
  ~observed_operation() {
    pending = request();
    static_cast<void>(rank.take_retired());  // the rank lives longer
  }

  auto observer() {
    return [this](std::exception_ptr const& error) noexcept {
      ++calls;
      cause = error;
    };
  }

  quiet_rank& rank;
  operation run;
  int calls = 0;
  std::exception_ptr cause;
  request pending;
};

[[nodiscard]] tutti::failure kind_of(std::exception_ptr const& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (tutti::error const& e) {
    return e.kind();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_function_of_an_end_is_called_once_by_the_call_that_advances) {
  quiet_rank rank;
  bool is_over = false;
  observed_operation only_one(rank, [&] { return is_over; });
  only_one.pending.on_end(only_one.observer());
  rank.state.poll();
  BOOST_TEST(only_one.calls == 0);
  is_over = true;
  rank.state.poll();
  BOOST_TEST(only_one.calls == 1);
  BOOST_TEST(!only_one.cause);
  BOOST_TEST(only_one.pending.valid());
  BOOST_TEST(only_one.pending.test());
  rank.state.poll();
  BOOST_TEST(only_one.calls == 1);
  BOOST_CHECK_THROW(only_one.pending.on_end(only_one.observer()), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(an_ended_request_calls_the_function_at_once_and_only_one_waits_for_an_end) {
  quiet_rank rank;
  observed_operation first(rank, [] { return true; });
  rank.state.poll();
  first.pending.on_end(first.observer());
  BOOST_TEST(first.calls == 1);
  observed_operation second(rank);
  second.pending.on_end(second.observer());
  BOOST_CHECK_THROW(second.pending.on_end(second.observer()), tutti::precondition_error);
  request new_request = std::move(second.pending);
  BOOST_TEST(second.calls == 0);
  new_request = request();  // cancels
  BOOST_TEST(second.calls == 1);
  BOOST_TEST((kind_of(second.cause) == tutti::failure::cancelled));
}

BOOST_AUTO_TEST_CASE(functions_of_any_size_own_what_they_hold) {
  quiet_rank rank;
  auto const token = std::make_shared<int>(0);
  for (bool const is_called : {true, false}) {
    observed_operation small(rank, [&] { return is_called; });
    observed_operation large(rank, [&] { return is_called; });
    small.pending.on_end([token](std::exception_ptr const&) noexcept { ++*token; });
    large.pending.on_end(
        [token, room = std::array<int, 20>()](std::exception_ptr const&) noexcept { *token += 1 + room[3]; });
    BOOST_TEST(token.use_count() == 3);
    if (is_called) {
      rank.state.poll();
    }
  }
  BOOST_TEST(*token == 4);
  BOOST_TEST(token.use_count() == 1);
  tutti::detail::end_function unused_function;
  unused_function.set([token](std::exception_ptr const&) noexcept { ++*token; });
  unused_function.drop();
  BOOST_TEST(!unused_function);
  BOOST_TEST(token.use_count() == 1);
  BOOST_TEST(*token == 4);
}

BOOST_AUTO_TEST_CASE(a_function_may_own_its_request_and_is_retired_with_it) {
  quiet_rank rank;
  operation only_operation(rank, [] { return true; });
  auto owner = std::make_unique<request>(
      tutti::detail::access::make_request<request>(tutti::detail::operation_handle(only_operation)));
  bool is_called = false;
  request& pending = *owner;
  pending.on_end([owner = std::move(owner), &is_called](std::exception_ptr const&) noexcept { is_called = true; });
  BOOST_TEST(rank.take_retired().empty());
  rank.state.poll();
  BOOST_TEST(is_called);
  BOOST_TEST((rank.take_retired() == operation_pointers{&only_operation}));
}

BOOST_AUTO_TEST_CASE(a_function_may_cancel_and_destroy_other_requests_and_make_no_other_call) {
  for (bool const is_cancelled : {false, true}) {  // without a call that advances: the cancellation ends the first
    quiet_rank rank;
    observed_operation first(rank, [&] { return !is_cancelled; });
    observed_operation second(rank);
    std::optional<observed_operation> third(rank);
    int refused_count = 0;
    first.pending.on_end([&](std::exception_ptr const&) noexcept {
      second.pending.cancel();
      third->pending = request();
      for (auto const &refused : {+[](quiet_rank& r, request&) { r.state.poll(); },
                                  +[](quiet_rank&, request& p) { static_cast<void>(p.test()); },
                                  +[](quiet_rank&, request& p) { p.wait(); }}) {
        try {
          refused(rank, second.pending);
        } catch (tutti::precondition_error const&) {
          ++refused_count;
        }
      }
    });
    second.pending.on_end(second.observer());
    if (is_cancelled) {
      first.pending.cancel();
    } else {
      rank.state.poll();
    }
    BOOST_TEST(refused_count == 3);
    BOOST_TEST(second.calls == 1);
    BOOST_TEST((kind_of(second.cause) == tutti::failure::cancelled));
    BOOST_TEST(rank.state.operations.empty());
    BOOST_TEST(third->run.has_ended());
    BOOST_CHECK_THROW(second.pending.wait(), tutti::error);
    BOOST_TEST(rank.take_retired().size() == 2U);
  }
}

/// A thread that waits on a relative serves a communicator if no thread uses it or is to advance operations there.
BOOST_AUTO_TEST_CASE(an_idle_communicator_is_served) {
  quiet_rank rank;
  auto const is_served = [&] {
    int const polls = rank.transport.polls;
    BOOST_TEST(rank.state.serve_idle());
    return rank.transport.polls != polls;
  };
  BOOST_TEST(is_served());
  {
    tutti::detail::call_guard guard(rank.state);
    BOOST_TEST(!is_served());
    guard.end();
  }
  {
    tutti::detail::exclusion const outer(rank.state);
    tutti::detail::exclusion const inner(rank.state);
    BOOST_TEST(!is_served());
  }
  BOOST_TEST(is_served());
  {
    operation only_operation(rank);
    BOOST_TEST(!is_served());
    only_operation.end();
    rank.state.operations.advance_all();
    static_cast<void>(rank.take_retired());
  }
  rank.kin.abort("enough");
  BOOST_TEST((rank.transport.fault.kind == tutti::failure::aborted));
}

/// A call that comes while the communicator is served waits for that, and is no conflict of two threads.
BOOST_AUTO_TEST_CASE(a_call_waits_until_its_communicator_has_been_served) {
  quiet_rank rank;
  std::atomic<bool> has_begun{false};
  bool is_well = false;
  BOOST_REQUIRE(rank.state.user.borrow());
  std::thread caller([&] {
    has_begun = true;
    try {
      rank.state.poll();
      is_well = true;
    } catch (tutti::precondition_error const&) {
    }
    tutti::detail::progress_list::leave(rank.state);
  });
  while (!has_begun) {
    std::this_thread::yield();
  }
  for (int i = 0; i != 1000; ++i) {
    std::this_thread::yield();
  }
  BOOST_TEST(rank.transport.polls == 0);
  rank.state.user.give_back();
  caller.join();
  BOOST_TEST(is_well);
  BOOST_TEST(rank.transport.polls == 1);
}
