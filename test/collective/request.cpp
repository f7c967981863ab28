// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operators.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/dup.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/progress_thread.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/trace/memory_trace.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_CASE(test_never_waits_and_tells_the_end) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(5000, 1);
    auto pending = sum.start(v);
    while (!pending.test()) {
      std::this_thread::yield();
    }
    return !pending.valid() && pending.test() && v.back() == 3 ? "" : "wrong";
  });
}

BOOST_AUTO_TEST_CASE(wait_for_gives_up_waiting_and_not_the_operation) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    tutti::send go{world};
    tutti::recv wait_to_go{world};
    std::vector<int> v(5000, 1);
    int token = 0;
    if (world.rank() == 1) {
      wait_to_go(std::span(&token, 1), 0);
      sum(v);
    } else {
      auto pending = sum.start(v);
      if (pending.wait_for(std::chrono::milliseconds(20))) {
        return "it ended before the other rank began";
      }
      go(std::span(&token, 1), 1);
      if (!pending.wait_for(std::chrono::seconds(30))) {
        return "it did not end";
      }
    }
    return v.back() == 2 ? "" : "wrong";
  });
}

BOOST_AUTO_TEST_CASE(the_longest_limit_is_as_good_as_none) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    world.deadline(tutti::no_deadline);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(5000, 1);
    sum(v);
    auto pending = sum.start(v);
    if (!pending.wait_for(tutti::duration::max())) {
      return "it gave up";
    }
    return v.back() == 9 ? "" : "wrong";
  });
}

BOOST_AUTO_TEST_CASE(requests_outlive_their_operator_and_can_be_moved) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    std::vector<int> v(5000, 1);
    std::vector<tutti::request> pending;
    {
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
      pending.push_back(sum.start(v));
    }
    tutti::request request = std::move(pending.front());
    pending.clear();
    request.wait();
    return v.front() == 3 ? "" : "wrong";
  });
}

BOOST_AUTO_TEST_CASE(a_progress_thread_moves_operations_on) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    for (int k = 0; k < 20; ++k) {
      std::vector<int> v(20000, 1);
      tutti::request pending;
      {
        tutti::progress_thread background{world};
        {
          auto const turn = background.pause();
          pending = sum.start(v);
        }
        // The owner makes no call: only the progress thread can complete the operation.
        for (bool has_ended = false; !has_ended;) {
          auto const turn = background.pause();
          has_ended = pending.has_ended();
        }
      }
      pending.wait();
      if (v.back() != 2) {
        return "wrong";
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(messages_between_two_ranks_keep_their_order) {
  support::agree<tutti::tcp>(3, [](auto& world) -> std::string {
    tutti::send give{world};
    tutti::recv take{world};
    tutti::rank_type const next = (world.rank() + 1) % 3;
    tutti::rank_type const previous = (world.rank() + 2) % 3;
    std::vector<std::vector<int>> received_messages;
    std::vector<std::vector<int>> sent_messages;
    std::vector<tutti::request> pending;
    for (std::size_t k = 0; k < 20; ++k) {
      sent_messages.emplace_back(k * 3000, static_cast<int>(k));
      received_messages.emplace_back(k * 3000, -1);
    }
    for (std::size_t k = 0; k < 20; ++k) {
      pending.push_back(give.start(sent_messages[k], next));
      pending.push_back(take.start(received_messages[k], previous));
    }
    for (auto& p : pending) {
      p.wait();
    }
    return received_messages == sent_messages ? "" : "messages are mixed up";
  });
}

BOOST_AUTO_TEST_CASE(a_barrier_lets_no_rank_through_early) {
  std::atomic<int> arrivals{0};
  support::agree<tutti::loopback>(5, [&](auto& world) -> std::string {
    tutti::barrier meet{world, tutti::doubling{}};
    for (int k = 1; k <= 100; ++k) {
      arrivals.fetch_add(1);
      meet();
      if (arrivals.load() < 5 * k) {
        return "a rank was let through early";
      }
      meet();
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(a_world_of_known_size_is_one) {
  auto const results = tutti::spawn<tutti::loopback, 3>([](auto& world) {
    static_assert(std::is_empty_v<decltype(world.extent())>);
    int x = 1;
    tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(std::span(&x, 1));
    return x;
  });
  for (auto const& r : results) {
    BOOST_TEST(r.value() == 3);
  }
}

BOOST_AUTO_TEST_CASE(a_trace_tells_what_happened) {
  auto const texts = tutti::detail::run_threads(2, [](auto& meet) {
    tutti::communicator<tutti::loopback, tutti::dynamic, tutti::memory_trace> world(meet, {}, tutti::memory_trace(64));
    std::vector<float> v(100, 1);
    tutti::allreduce{world, tutti::ring{}, tutti::sum<float>{}}(v);
    std::string kinds;
    world.trace().for_each([&](auto const& e) { kinds.append(name(e.kind)).append(" "); });
    return kinds;
  });
  BOOST_TEST(texts[0].value() == "start send receive fold send receive complete ");
}

namespace {

/// A future of an operation, which owns its request until then.
std::future<void> future_of(tutti::request operation) {
  struct state {
    tutti::request pending;
    std::promise<void> result;
  };
  auto owner = std::make_unique<state>();
  owner->pending = std::move(operation);
  auto future = owner->result.get_future();
  tutti::request& pending = owner->pending;
  pending.on_end([owner = std::move(owner)](std::exception_ptr const& cause) noexcept {
    cause ? owner->result.set_exception(cause) : owner->result.set_value();
  });
  return future;
}

[[nodiscard]] bool is_ready(std::future<void> const& f) {
  return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_end_of_an_operation_makes_a_future_ready) {
  std::latch sums_have_ended(3);
  support::agree<tutti::loopback>(3, [&](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<std::vector<int>> vectors(20, std::vector<int>(3000, 1));
    std::vector<std::future<void>> futures;
    for (auto& v : vectors) {
      futures.push_back(future_of(sum.start(v)));
    }
    while (!std::all_of(futures.begin(), futures.end(), is_ready)) {
      world.poll();
      std::this_thread::yield();
    }
    for (auto& f : futures) {
      f.get();
    }
    for (auto const& v : vectors) {
      if (v.back() != 3) {
        return "wrong";
      }
    }
    sums_have_ended.arrive_and_wait();
    if (world.rank() == 2) {
      return {};  // leaves the world
    }
    std::future<void> failures[] = {future_of(sum.start(vectors[0])), future_of(sum.start(vectors[1]))};
    try {
      sum(vectors[2]);
    } catch (tutti::error const&) {
    }
    world.poll();
    for (std::future<void>& f : failures) {
      if (!is_ready(f)) {
        return "the future of a failed operation is not ready";
      }
      try {
        f.get();
        return "an operation without rank 2 has succeeded";
      } catch (tutti::error const& e) {
        if (e.at_fault() != std::vector<tutti::rank_type>{2}) {
          return e.what();
        }
      }
    }
    return {};
  });
}

// Operations start in the order of posting. More are posted than the thread has room for, by threads that agree on
// their turns by a ticket, and also by the function at the end of one.
BOOST_AUTO_TEST_CASE(threads_post_operations_to_a_progress_thread) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    constexpr int threads = 3;
    constexpr int rounds = 40;
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::array<std::vector<int>, threads> sums;
    std::array<std::string, threads> complaints;
    std::vector<int> turns;
    std::vector<int> follower(10, 5);
    std::promise<void> follower_end;
    std::vector<std::exception_ptr>
        exceptions;  // end after the thread: the sanitizer sees no counts in the C++ library
    {
      tutti::progress_thread background{world, 2};
      std::atomic<int> ticket{0};
      auto const post = [&](int me) {
        for (int round = 0; round != rounds; ++round) {
          std::vector<int> v(100 + static_cast<std::size_t>(me), round);
          int const turn = round * threads + me;
          for (int now = ticket.load(); now != turn; now = ticket.load()) {
            ticket.wait(now);
          }
          auto future = background.post([&] {
            turns.push_back(turn);
            return sum.start(v);
          });
          ticket.store(turn + 1);
          ticket.notify_all();
          future.get();
          sums[static_cast<std::size_t>(me)].push_back(v.back());
        }
      };
      {
        std::vector<std::jthread> pool;
        for (int me = 0; me != threads; ++me) {
          pool.emplace_back(post, me);
        }
      }
      try {
        background
            .post([&]() -> tutti::request {
              sum(follower);  // a blocking call
              throw std::runtime_error("the reason of its start");
            })
            .get();
        return "an exception of a start is lost";
      } catch (std::runtime_error const& e) {
        exceptions.push_back(std::current_exception());
        if (std::string_view(e.what()) != "the reason of its start") {
          return e.what();
        }
      }
      background.post([&] { return sum.start(sums[0]); },
                      [&](std::exception_ptr const&) noexcept {
                        {
                          auto const turn = background.pause();
                          sum(follower);  // a blocking call
                        }
                        background.post([&] { return sum.start(follower); },
                                        [&](std::exception_ptr const& cause) noexcept {
                                          cause ? follower_end.set_exception(cause) : follower_end.set_value();
                                        });
                      });
    }  // waits for the end of both
    follower_end.get_future().get();
    for (std::vector<int> const& results : sums) {
      for (int round = 0; round != rounds; ++round) {
        int const factor = &results == sums.data() ? 4 : 2;  // the first was summed twice
        if (results[static_cast<std::size_t>(round)] != factor * round) {
          return "wrong";
        }
      }
    }
    return std::is_sorted(turns.begin(), turns.end()) && follower[0] == 40 ? "" : "not in order";
  });
}

// The deadline of a posted operation ends it and all that was posted: the ranks wait for each other. A function that
// the thread calls never waits for room.
BOOST_AUTO_TEST_CASE(all_that_was_posted_fails_for_one_reason) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(100, 1);
    std::string complaint;
    if (world.rank() == 1) {
      int word = 0;
      try {
        tutti::recv{world}(word, 0);  // rank 0 sends nothing
      } catch (tutti::error const&) {
        return {};
      }
      return "no error";
    }
    sum.deadline(std::chrono::milliseconds(50));
    std::vector<std::exception_ptr>
        exceptions;  // end after the thread: the sanitizer sees no counts in the C++ library
    tutti::progress_thread background{world, 3};
    std::vector<std::vector<int>> vectors(3, v);
    std::vector<std::future<void>> futures;
    for (auto& vector : vectors) {
      futures.push_back(background.post([&] { return sum.start(vector); }));
    }
    for (auto& f : futures) {
      try {
        f.get();
        complaint = "no error";
      } catch (tutti::error const& e) {
        exceptions.push_back(std::current_exception());
        if (e.kind() != tutti::failure::deadline || e.at_fault() != std::vector<tutti::rank_type>{0, 1}) {
          complaint = e.what();
        }
      }
    }
    std::vector<std::future<void>> more;  // beyond the capacity, from a function that must not wait
    background
        .post([&] {
          for (int i = 0; i != 5; ++i) {
            more.push_back(background.post([] { return tutti::request(); }));
          }
          return tutti::request();
        })
        .get();
    for (auto& f : more) {
      f.get();
    }
    return complaint;
  });
}

/// A call of the owner while a reduction runs in the progress thread.
struct misuse {
  static constinit inline std::atomic<bool> is_inside = false;
  static constinit inline std::atomic<bool> is_refused = false;
  static constinit inline thread_local bool is_rank_1 = false;
};

BOOST_AUTO_TEST_CASE(a_misused_communicator_ends_what_is_posted) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    auto const add = [](int a, int b) {
      if (!misuse::is_rank_1) {
        misuse::is_inside = true;
        misuse::is_inside.notify_one();
        misuse::is_refused.wait(false);
      }
      return a + b;
    };
    tutti::allreduce sum{world, tutti::ring{}, tutti::reduce_with<int>(add, tutti::commutative, tutti::associative)};
    std::vector<int> first(2, 1);
    std::vector<int> second(2, 1);
    if (world.rank() == 1) {
      misuse::is_rank_1 = true;
      try {
        sum(first);
        tutti::recv{world}(first, 0);  // rank 0 sends nothing
      } catch (tutti::error const&) {
        return {};
      }
      return "no error";
    }
    tutti::progress_thread background{world};
    std::array const ends{background.post([&] { return sum.start(first); }),
                          background.post([&] { return sum.start(second); })};
    misuse::is_inside.wait(false);
    std::string complaint = "the owner is not refused";
    try {
      world.poll();  // without the lock
    } catch (tutti::precondition_error const&) {
      complaint.clear();
    }
    misuse::is_refused = true;
    misuse::is_refused.notify_one();
    for (auto const& end : ends) {
      if (end.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
        complaint = "an operation has not ended";
      }
    }
    return complaint;
  });
}

// The deadline passes while the thread waits on another communicator.
BOOST_AUTO_TEST_CASE(a_function_at_the_end_may_own_all_that_it_ends) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    using world_type = std::remove_reference_t<decltype(world)>;
    struct session {
      world_type world;
      std::vector<int> vector = std::vector<int>(100, 1);
      std::optional<tutti::allreduce<world_type, tutti::ring, tutti::sum<int>>> sum{};
      tutti::request pending{};
    };
    auto owner = std::make_unique<session>(session{tutti::dup(world)});
    int word = 0;
    if (world.rank() == 1) {
      try {
        tutti::recv{owner->world}(word, 0);  // rank 0 sends nothing there
      } catch (tutti::error const&) {
        tutti::send{world}(word, 0);
      }
      return {};
    }
    owner->sum.emplace(owner->world, tutti::ring{}, tutti::sum<int>{});
    owner->sum->deadline(std::chrono::milliseconds(50));
    owner->pending = owner->sum->start(owner->vector);
    bool has_failed = false;
    tutti::request& pending = owner->pending;
    pending.on_end([owner = std::move(owner), &has_failed](std::exception_ptr const& cause) mutable noexcept {
      has_failed = cause != nullptr;
      owner.reset();
    });
    tutti::recv{world}(word, 1);
    return has_failed ? "" : "no failure";
  });
}

// Ranks may use different labels. A started operation keeps its label when the operator gets another one, and the
// flight recorder when the operator ends.
BOOST_AUTO_TEST_CASE(labels_are_in_traces_errors_and_the_flight_recorder) {
  auto const complaints = tutti::detail::run_threads(2, [](auto& meet) -> std::string {
    tutti::communicator<tutti::loopback, tutti::dynamic, tutti::memory_trace> world(meet, {}, tutti::memory_trace(64));
    std::string const own_label = "layer " + std::to_string(world.rank());
    std::vector<float> v(100, 1);
    std::vector<float> w(50, 1);
    {
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
      sum(w);
      sum.label(own_label);
      auto first = sum.start(v);
      sum.label("a label whose last letter is a \u00fc");
      auto second = sum.start(w);
      second.wait();
      first.wait();
      sum(w);
      sum.label({});
      sum(w);
      tutti::send give{world};
      tutti::recv take{world};
      give.label("a\n'b'");
      take.label("c");
      world.rank() == 0 ? give(w, 1) : take(w, 0);
    }
    std::string const message = world.rank() == 0 ? "'a 'b''" : "'c'";
    std::string const expected = "#0 allreduce(sum float32 x 50, ring)\n#1 allreduce '" + own_label +
                                 "' (sum float32 x 100, ring)\n"
                                 "#2 allreduce 'a label whose last letter is a ' (sum float32 x 50, ring)\n"
                                 "#3 allreduce 'a label whose last letter is a ' (sum float32 x 50, ring)\n"
                                 "#4 allreduce(sum float32 x 50, ring)\n"
                                 "#0 send/recv " +
                                 message + " (float32 x 50, from rank 0 to rank 1)\n";
    std::string traced_text;
    world.trace().for_each([&](tutti::event const& e) {
      if (e.kind == tutti::event_kind::start) {
        traced_text += "#" + std::to_string(e.number.sequence) + " " + std::string(e.text) + "\n";
      }
    });
    std::string recorded_text = world.recent().text();
    for (std::size_t at; (at = recorded_text.find(": completed")) != std::string::npos;) {
      recorded_text.erase(at, 11);
    }
    if (traced_text != expected || recorded_text != expected) {
      return traced_text + recorded_text + expected;
    }
    try {
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
      sum.label("at the end");
      w.resize(10 + world.rank());
      sum(w);
    } catch (tutti::error const& e) {
      std::string const operation = "allreduce 'at the end' (sum float32 x " + std::to_string(w.size()) + ", ring)";
      return e.operation() == operation && std::string_view(e.what()).starts_with(operation + " #5 of") ? "" : e.what();
    }
    return "no error";
  });
  for (auto const& complaint : complaints) {
    BOOST_TEST(complaint.value() == "");
  }
}

// Only the first flow of each lane, and the first message of each pair, can advance. No other started operation is
// polled, however many there are, and all still give the right sums.
BOOST_AUTO_TEST_CASE(no_more_are_asked_than_can_move) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    std::size_t const count = 500;
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::allreduce segmented_sum{world, tutti::ring{}, tutti::sum<float>{}};
    segmented_sum.segment(4 * sizeof(float));
    tutti::send give{world};
    tutti::recv take{world};
    std::vector<std::vector<float>> vectors(count, std::vector<float>(20, 1.0F));
    std::vector<tutti::request> pending;
    float word = 0;
    float answer = 0;
    std::size_t highest_count = 0;
    if (world.rank() == 1) {
      take(word, 0);  // rank 0 has started all
    }
    for (auto& v : vectors) {
      pending.push_back(pending.size() % 5 == 4 ? segmented_sum.start(v) : sum.start(v));
      std::size_t const poll_count = tutti::detail::access::state(world).operations.advance();
      highest_count = world.rank() == 0 ? std::max(highest_count, poll_count)
                                        : highest_count;  // at rank 1, the end of one lets the next be polled
    }
    if (world.rank() == 0) {
      pending.push_back(take.start(answer, 1));
      highest_count = std::max(highest_count, tutti::detail::access::state(world).operations.advance());
      give(word, 1);
    } else {
      give(word, 0);
    }
    while (!pending.empty()) {  // in reverse order
      pending.back().wait();
      pending.pop_back();
    }
    for (auto const& v : vectors) {
      if (v != std::vector<float>(20, 2.0F)) {
        return "a sum is wrong";
      }
    }
    return highest_count <= tutti::lane_count && tutti::detail::access::state(world).operations.empty()
               ? ""
               : "asked " + std::to_string(highest_count);
  });
}

BOOST_AUTO_TEST_CASE(only_the_first_message_of_a_pair_is_asked) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    constexpr std::size_t count = 200;
    auto& operations = tutti::detail::access::state(world).operations;
    tutti::send give{world};
    tutti::recv take{world};
    tutti::barrier meet{world, tutti::doubling{}};
    std::vector<std::size_t> values[3];
    std::vector<tutti::request> pending;
    std::size_t highest_count = 0;
    if (world.rank() == 0) {
      for (tutti::rank_type const sender : {1U, 2U}) {
        values[sender].resize(count);
      }
      for (std::size_t i = 0; i != count; ++i) {
        for (tutti::rank_type const sender : {1U, 2U}) {
          pending.push_back(take.start(values[sender][i], sender));
          highest_count = std::max(highest_count, operations.advance());
        }
      }
      meet();
      while (!pending.empty()) {  // in another order
        std::size_t const i = pending.size() / 3;
        pending[i].wait();
        pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
      }
    } else {
      meet();
      for (std::size_t i = 0; i != count; ++i) {
        values[0].push_back(world.rank() * 1000 + i);
      }
      for (std::size_t& value : values[0]) {
        pending.push_back(give.start(value, 0));
      }
      for (tutti::request& p : pending) {
        p.wait();
      }
    }
    for (std::size_t i = 0; i != values[1].size(); ++i) {
      if (values[1][i] != 1000 + i || values[2][i] != 2000 + i) {
        return "a message is wrong";
      }
    }
    return highest_count <= 2 && operations.empty() ? "" : "asked " + std::to_string(highest_count);
  });
}

BOOST_AUTO_TEST_CASE(all_that_is_pending_ends_with_a_fault) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) -> bool {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    if (world.rank() == 1) {
      return true;  // leaves the world
    }
    std::vector<float> v(20);
    std::vector<std::vector<float>> vectors(100, v);
    std::vector<tutti::request> pending;
    try {
      for (auto& vector : vectors) {
        pending.push_back(sum.start(vector));
      }
      pending.front().wait();
      return false;
    } catch (tutti::error const&) {
    }
    world.poll();
    bool have_all_ended = true;
    for (auto& request : pending) {
      have_all_ended = have_all_ended && (!request.valid() || request.has_ended());
    }
    return have_all_ended && tutti::detail::access::state(world).operations.empty();
  });
  BOOST_TEST((results[0] && results[0].value()));
}
