// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <support/hosts_too.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/exchange.hpp>
#include <tutti/collective/recv_any.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/communicator/joint_operation.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/engine/exchange_operation.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <deque>
#include <exception>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using tutti::rank_type;
using elements = std::vector<std::uint32_t>;

struct drawn_message {
  rank_type sender;
  rank_type receiver;
  std::size_t length;
  bool has_any_length;
  bool is_apart;  ///< the sender starts it by itself, as do all messages of this pair
};

/// Draws messages, equal on all ranks.
std::vector<drawn_message> draw(rank_type n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<drawn_message> messages(random() % 24);
  for (drawn_message& m : messages) {
    constexpr std::size_t lengths[] = {0, 1, 3, 12, 700, 30000, 100000};
    m = {static_cast<rank_type>(random() % n), static_cast<rank_type>(random() % n), lengths[random() % 7],
         random() % 2 == 0, false};
    m.is_apart = m.sender != m.receiver && (m.sender * 3 + m.receiver + seed) % 4 == 0;
    m.has_any_length = m.has_any_length && !m.is_apart;
  }
  return messages;
}

/// The places of the messages in an order of this rank's own, in which those of one pair keep theirs.
std::vector<std::size_t> shuffle(std::vector<drawn_message> const& messages, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<std::uint64_t, 64> keys;
  std::generate(keys.begin(), keys.end(), std::ref(random));
  std::vector<std::size_t> order(messages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const key = [&](std::size_t i) { return keys[messages[i].sender * 8 + messages[i].receiver]; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

elements content(std::size_t message, std::uint32_t run, std::size_t length) {
  elements values(length);
  std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(message * 1000 + run));
  return values;
}

/// Law: whatever the messages are, and whatever the order in which a rank lists those of different pairs, all arrive,
/// and those of one pair in order, from run to run.
template <class World>
std::string all_arrive(World& world, std::uint64_t seed) {
  rank_type const me = world.rank();
  auto const messages = draw(world.size(), seed);
  std::vector<elements> contents(messages.size());
  std::vector<elements> targets(messages.size());
  tutti::exchange list{world};
  tutti::send give{world};
  for (std::size_t const i : shuffle(messages, seed * 100 + me)) {
    drawn_message const& m = messages[i];
    contents[i].resize(m.length);
    if (m.sender == me && !m.is_apart) {
      m.has_any_length ? list.send(tutti::any_length(contents[i]), m.receiver) : list.send(contents[i], m.receiver);
    }
    if (m.receiver == me) {
      targets[i].resize(m.length);
      m.has_any_length ? list.recv(tutti::any_length(targets[i]), m.sender) : list.recv(targets[i], m.sender);
    }
  }
  auto const length = [&](std::size_t i, std::uint32_t run) {
    return messages[i].length + (messages[i].has_any_length ? run : 0);
  };
  for (std::uint32_t run = 0; run != 3; ++run) {
    std::vector<tutti::request> pending;
    for (std::size_t i = 0; i != messages.size(); ++i) {
      elements const values = content(i, run, length(i, run));
      contents[i].resize(values.size());
      std::copy(values.begin(), values.end(), contents[i].begin());  // in place, for lists that name the elements
      if (messages[i].sender == me && messages[i].is_apart) {
        pending.push_back(give.start(contents[i], messages[i].receiver));
      }
    }
    run == 1 ? pending.push_back(list.start()) : list();
    for (tutti::request& request : pending) {
      request.wait();
    }
    for (std::size_t i = 0; i != messages.size(); ++i) {
      if (messages[i].receiver == me && targets[i] != content(i, run, length(i, run))) {
        return "seed " + std::to_string(seed) + ", run " + std::to_string(run) + ": another message " +
               std::to_string(i);
      }
    }
  }
  return {};
}

/// The error of each rank of a world in which `act` fails on all.
template <class Transport, class Act>
std::string fails(rank_type n, tutti::failure kind, Act act) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(laws::short_deadline);
    act(world);
  });
  for (rank_type r = 0; r != n; ++r) {
    if (results[r] || results[r].failure().kind != kind) {
      return "rank " + std::to_string(r) + ": " + (results[r] ? "it did not fail" : results[r].failure().text);
    }
  }
  return {};
}

/// Law: all messages arrive from wherever they come, those of one rank in order, with several receives under way, and
/// with others between them that name rank 1.
template <class World>
std::string all_arrive_from_any(World& world, std::uint64_t seed) {
  constexpr std::uint32_t count = 60;  // messages of a rank
  std::mt19937_64 random(seed);
  auto const length = [&](std::uint32_t k) { return k % 7 == 0 ? std::size_t{20000} : k % 5; };
  if (world.rank() != 0) {
    tutti::send give{world};
    for (std::uint32_t k = 0; k != count; ++k) {
      elements values = content(world.rank(), k, length(k));
      give(tutti::any_length(values), 0);
    }
    return {};
  }
  struct receive {
    elements values;
    rank_type sender = tutti::no_rank;
    tutti::request request;
  };
  tutti::recv_any take_any{world};
  tutti::recv take{world};
  std::vector<std::uint32_t> counts(world.size());
  std::deque<receive> pending;
  auto const check = [&](receive const& r) {
    std::uint32_t const k = counts[r.sender]++;
    return r.values == content(r.sender, k, length(k));
  };
  for (std::size_t left = (world.size() - 1) * count; left != 0;) {
    for (std::size_t batch = 1 + random() % 4; batch != 0 && left != 0; --batch, --left) {
      pending.emplace_back();
      pending.back().request = take_any.start(tutti::any_length(pending.back().values), pending.back().sender);
    }
    while (!pending.empty()) {
      pending.front().request.wait();
      if (!check(pending.front())) {
        return "seed " + std::to_string(seed) + ": another message of rank " + std::to_string(pending.front().sender);
      }
      pending.pop_front();
    }
    if (counts[1] != count && random() % 4 == 0) {
      receive next{{}, 1, {}};
      take(tutti::any_length(next.values), 1);
      --left;
      if (!check(next)) {
        return "seed " + std::to_string(seed) + ": another message of rank 1";
      }
    }
  }
  return {};
}

/// A container whose memory ends.
struct full_vector : elements {
  void resize(std::size_t) { throw std::bad_alloc(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(all_messages_arrive, Transport, support::transports) {
  for (std::uint64_t seed = 0; seed != 24; ++seed) {
    support::agree<Transport>(static_cast<rank_type>(1 + seed % 5),
                              [&](auto& world) { return all_arrive(world, seed); });
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_of_any_length_arrives, Transport, support::transports) {
  support::agree<Transport>(2, [](auto& world) -> std::string {
    for (std::size_t length : {0UL, 1UL, 100UL, 50000UL, 3UL}) {
      elements values = content(length, 0, world.rank() == 0 ? length : 7);
      if (world.rank() == 0) {
        tutti::send{world}(tutti::any_length(values), 1);
      } else {
        tutti::recv{world}(tutti::any_length(values), 0);
      }
      if (values != content(length, 0, length)) {
        return "another message of " + std::to_string(length);
      }
    }
    return {};
  });
}

// The exchange ends when rank 1 has both messages, the one behind it included.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_behind_one_of_an_exchange_does_not_wait_for_all, Transport,
                              support::transports) {
  support::agree<Transport>(2, [](auto& world) -> std::string {
    elements first(1 << 20);
    elements second(3);
    elements answer(1);
    tutti::send give{world};
    tutti::recv take{world};
    if (world.rank() == 0) {
      tutti::exchange list{world};
      list.send(first, 1);
      list.recv(answer, 1);
      tutti::request messages = list.start();
      tutti::request next = give.start(second, 1);
      messages.wait();
      next.wait();
    } else {
      take(first, 0);
      take(second, 0);
      give(answer, 0);
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_list_that_matches_no_other_fails_on_all, Transport, support::transports) {
  // Both receive, and neither sends.
  auto const results = tutti::spawn<Transport>(2, [](auto& world) {
    world.deadline(laws::short_deadline);
    elements values(3);
    tutti::exchange list{world};
    list.label("halos");
    list.recv(values, 1 - world.rank());
    tutti::request pending = list.start();
    bool has_cause = false;
    pending.on_end([&](std::exception_ptr const& cause) noexcept { has_cause = cause != nullptr; });
    try {
      pending.wait();
    } catch (tutti::error const&) {
      if (has_cause) {
        throw;
      }
    }
  });
  for (rank_type r = 0; r != 2; ++r) {
    BOOST_TEST(laws::blames(results[r], r, {0, 1}) == "");
    BOOST_TEST((!results[r] && results[r].failure().text.find("send/recv 'halos' (") != std::string::npos));
  }
  // The lengths differ; one knows the length, and the other does not.
  BOOST_TEST(fails<Transport>(3, tutti::failure::mismatch, [](auto& world) {
               elements values(3 + world.rank());
               elements other(3);
               tutti::exchange list{world};
               list.send(values, (world.rank() + 1) % 3);
               list.recv(other, (world.rank() + 2) % 3);
               list();
               list();
             }) == "");
  BOOST_TEST(fails<Transport>(2, tutti::failure::mismatch, [](auto& world) {
               elements values(1);
               tutti::exchange list{world};
               world.rank() == 0 ? list.send(values, 1) : list.recv(tutti::any_length(values), 0);
               list.recv(values, 1 - world.rank());
               list();
             }) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_exchange_that_ends_early_fails_on_all, Transport, support::transports) {
  BOOST_TEST(fails<Transport>(3, tutti::failure::cancelled, [](auto& world) {
               elements values(1);
               elements other(1);
               tutti::exchange list{world};
               list.send(values, (world.rank() + 1) % 3);
               list.recv(other, (world.rank() + 2) % 3);
               tutti::request pending = list.start();
               if (world.rank() == 1) {
                 list.recv(other, 2);  // a message that never comes
                 pending.wait();
                 pending = list.start();
                 pending.cancel();
               }
               pending.wait();
               for (;;) {  // until the fault is known
                 list();
               }
             }) == "");
  auto const results = tutti::spawn<Transport>(2, [](auto& world) {
    elements values(5);
    full_vector full;
    tutti::exchange list{world};
    if (world.rank() == 0) {
      list.send(tutti::any_length(values), 1);
      list.recv(values, 1);
    } else {
      list.recv(tutti::any_length(full), 0);
    }
    list();
  });
  for (auto const& result : results) {
    BOOST_TEST((!result && result.failure().kind != tutti::failure::deadline));
  }
  auto const blocking_results = tutti::spawn<Transport>(2, [](auto& world) {
    elements values(5);
    full_vector full;
    if (world.rank() == 0) {
      tutti::send{world}(tutti::any_length(values), 1);
      tutti::recv{world}(values, 1);
    } else {
      tutti::recv{world}(tutti::any_length(full), 0);
    }
  });
  for (auto const& result : blocking_results) {
    BOOST_TEST((!result && result.failure().kind != tutti::failure::deadline));
  }
}

BOOST_AUTO_TEST_CASE(wrong_lists_are_refused) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    rank_type const me = world.rank();
    elements values(3);
    elements longer(4);
    auto const is_refused = [](auto act) {
      try {
        act();
        return false;
      } catch (tutti::precondition_error const&) {
        return true;
      }
    };
    tutti::exchange list{world};
    list.send(values, me);
    if (!is_refused([&] { list.send(values, 2); }) || !is_refused([&] { list.recv(longer, me); }) ||
        !is_refused([&] { list.recv(tutti::any_length(longer), me); }) || !is_refused([&] { list(); })) {
      return "a wrong list is accepted";
    }
    list.clear();
    list();
    auto part = tutti::split(world, me);
    return is_refused([&] { tutti::recv_any{part}(values); }) ? "" : "a message of no rank is awaited";
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(messages_of_any_rank_arrive, Transport, support::transports_and_hosts) {
  for (rank_type const n : {2U, 4U, 5U}) {
    support::agree<Transport>(n, [&](auto& world) { return all_arrive_from_any(world, n); });
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_queue_serves_ranks_that_leave, Transport, support::transports_and_hosts) {
  support::agree<Transport>(4, [](auto& world) -> std::string {
    tutti::send give{world};
    int task = 0;
    if (world.rank() != 0) {  // rank r leaves after 5 r tasks
      tutti::recv take{world};
      for (unsigned k = 0; k != 5 * world.rank(); ++k) {
        give(task, 0);
        take(task, 0);
      }
      return {};
    }
    tutti::recv_any take{world};
    std::array<int, 4> counts{};
    for (int k = 0; k != 5 + 10 + 15; ++k) {
      rank_type const worker = take(task);
      ++counts[worker];
      give(k, worker);
    }
    try {
      take(task);
      return "a message of nobody";
    } catch (tutti::error const& e) {
      return e.kind() == tutti::failure::peer_lost && counts == std::array{0, 5, 10, 15} ? "" : e.what();
    }
  });
}

BOOST_AUTO_TEST_CASE(ranks_take_turns) {
  support::agree<tutti::loopback>(4, [](auto& world) -> std::string {
    tutti::barrier meet{world, tutti::doubling{}};
    std::vector<tutti::request> pending;
    tutti::send give{world};
    int const token = 1;
    for (int k = 0; k != 3 && world.rank() != 0; ++k) {
      pending.push_back(give.start(token, 0));
    }
    meet();  // all messages have arrived
    tutti::recv_any take{world};
    int value = 0;
    for (rank_type k = 0; k != 9 && world.rank() == 0; ++k) {
      if ((k < 5 ? take(value) : tutti::recv_any{world}(value)) != k % 3 + 1) {
        return "rank " + std::to_string(k % 3 + 1) + " is not next";
      }
    }
    for (tutti::request& request : pending) {
      request.wait();
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_receive_from_any_rank_that_fails, Transport, support::transports) {
  auto const results = tutti::spawn<Transport>(3, [](auto& world) {  // all receive, and none sends
    world.deadline(laws::short_deadline);
    int value = 0;
    tutti::recv_any{world}(value);
  });
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(laws::blames(results[r], r, {}) == "");
    BOOST_TEST((results[r].failure().text.find("any sender") != std::string::npos));
  }
  BOOST_TEST(fails<Transport>(2, tutti::failure::mismatch, [](auto& world) {
               double number = 0;
               int value = 0;
               world.rank() == 0 ? static_cast<void>(tutti::recv_any{world}(value)) : tutti::send{world}(number, 0);
               tutti::recv{world}(value, 1 - world.rank());
             }) == "");
  BOOST_TEST(fails<Transport>(2, tutti::failure::cancelled, [](auto& world) {
               int value = 0;
               rank_type sender = 0;
               if (world.rank() == 0) {
                 auto pending = tutti::recv_any{world}.start(value, sender);
                 pending.cancel();
                 pending.wait();
               }
               tutti::recv_any{world}(value);
             }) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_is_killed_ends_a_receive_from_any, Transport,
                              support::transports_of_processes) {
  auto const results = tutti::spawn<Transport>(3, [](auto& world) {
    int value = 1;
    tutti::recv_any take{world};
    if (world.rank() == 0) {
      take(value);
      take(value);
    } else {
      tutti::send{world}(value, 0);
      if (world.rank() == 1) {
        ::raise(SIGKILL);
      }
    }
    take(value);
  });
  for (rank_type const r : {0U, 2U}) {
    BOOST_TEST((!results[r] && results[r].failure().kind == tutti::failure::peer_lost));
  }
}

// Nobody has ever connected to the rank that dies, and a living one precedes it.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_silent_rank_that_is_killed_ends_a_receive_from_any, Transport,
                              support::transports_of_processes) {
  std::array<int, 2> ends{};  // pipe by which rank 0 ends the others
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  tutti::detail::descriptor const reader([&] { return ends[0]; });
  tutti::detail::descriptor const writer([&] { return ends[1]; });
  auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    char byte = 0;
    if (world.rank() == 2) {
      ::raise(SIGKILL);
    } else if (world.rank() == 1) {
      [[maybe_unused]] auto const count = ::read(reader.get(), &byte, 1);
    } else {
      try {
        tutti::recv_any{world}(byte);
      } catch (tutti::error const&) {
        [[maybe_unused]] auto const count = ::write(writer.get(), &byte, 1);
        throw;
      }
    }
  });
  BOOST_TEST((!results[0] && results[0].failure().kind == tutti::failure::peer_lost));
}
