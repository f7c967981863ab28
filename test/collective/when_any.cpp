// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/join.hpp>

#include <array>
#include <vector>

namespace {

/// Rank 0 receives from all others in order of arrival and answers each; counts messages.
template <class World>
std::string serves_all(World& world) {
  constexpr std::size_t rounds = 50;
  tutti::send give{world};
  tutti::recv take{world};
  if (world.rank() != 0) {
    for (std::size_t k = 0; k != rounds; ++k) {
      std::array<std::size_t, 2> question{world.rank(), k};
      std::size_t answer = 0;
      give(question, 0);
      take(std::span(&answer, 1), 0);
      if (answer != k + world.rank()) {
        return "another answer";
      }
    }
    return {};
  }
  std::size_t const peers = world.size() - 1;
  tutti::when_any wait_any{world};
  std::vector<std::array<std::size_t, 2>> questions(peers);
  std::vector<tutti::request> pending;
  std::vector<std::size_t> count(peers);
  for (std::size_t i = 0; i != peers; ++i) {
    pending.push_back(take.start(questions[i], static_cast<tutti::rank_type>(i + 1)));
  }
  std::size_t next = 0;
  for (std::size_t count_served = 0; count_served != peers * rounds; ++count_served) {
    std::size_t const i = wait_any(pending, next);
    next = i + 1;
    auto const peer = static_cast<tutti::rank_type>(i + 1);
    pending[i].wait();
    if (questions[i][0] != peer || questions[i][1] != count[i]) {
      return "a message of another rank, or out of order";
    }
    std::size_t const answer = count[i] + peer;
    give(std::span(&answer, 1), peer);
    if (++count[i] != rounds) {
      pending[i] = take.start(questions[i], peer);
    }
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(the_first_to_come_is_served_first, Transport, support::transports) {
  for (tutti::rank_type const n : {3U, 4U}) {
    support::agree<Transport>(n, [](auto& world) { return serves_all(world); });
  }
}

BOOST_AUTO_TEST_CASE(the_one_that_ends_is_named_and_the_search_begins_where_it_is_told) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    tutti::send give{world};
    tutti::recv take{world};
    std::array<int, 3> tokens{};
    int token = 7;
    if (world.rank() == 1) {
      take(std::span(&token, 1), 0);
      for (int k = 0; k != 3; ++k) {
        give(std::span(&k, 1), 0);
      }
      return {};
    }
    tutti::when_any wait_any{world};
    std::array<tutti::request, 4> pending;
    for (std::size_t i = 0; i != 3; ++i) {
      pending[i] = take.start(std::span(&tokens[i], 1), 1);
    }
    if (wait_any(pending, 0, std::chrono::milliseconds(5)) != 4 || wait_any(pending, 0, tutti::duration::zero()) != 4) {
      return "something has ended before anything was sent";
    }
    pending[3] = give.start(std::span(&token, 1), 1);
    if (wait_any(pending, 3) != 3) {
      return "nothing but the send can have ended";
    }
    pending[3].wait();
    for (auto& request : pending) {
      if (request.valid()) {
        while (!request.has_ended()) {
          world.poll();
        }
      }
    }
    if (wait_any(pending, 1) != 1 || wait_any(pending, 2) != 2 || wait_any(pending, 3) != 0) {
      return "the search begins elsewhere";
    }
    for (auto& request : pending) {
      request.wait();
    }
    try {
      (void)wait_any(pending);
      return "it waits for nothing";
    } catch (tutti::precondition_error const&) {
    }
    return tokens == std::array{0, 1, 2} ? "" : "messages are mixed up";
  });
}

namespace {

/// Rank 0 has a communicator with each other rank, and one leaves: its request fails and names it; the others
/// continue.
template <class Transport>
void one_leaves() {
  auto const results = tutti::spawn<Transport>(4, [](auto& world) -> std::string {
    using communicator = tutti::communicator<Transport>;
    std::vector<tutti::detail::owner<communicator>> pairs;
    for (tutti::rank_type peer = 1; peer != world.size(); ++peer) {
      if (world.rank() == 0 || world.rank() == peer) {
        tutti::group_rendezvous meet(world, {0, peer}, world.rank() == 0 ? 0U : 1U);
        pairs.push_back(tutti::detail::owner<communicator>(new communicator(meet, world.settings())));
      }
    }
    int token = 1;
    if (world.rank() == 2) {
      return {};
    }
    if (world.rank() != 0) {
      tutti::send give{*pairs[0]};
      tutti::recv take{*pairs[0]};
      take(std::span(&token, 1), 0);  // rank 0 knows by then that a rank has left
      for (int k = 0; k != 10; ++k) {
        give(std::span(&k, 1), 0);
      }
      return {};
    }
    std::vector<communicator*> worlds;
    std::vector<tutti::recv<communicator>> takes;
    std::vector<tutti::request> pending;
    std::array<int, 3> tokens{};
    for (std::size_t i = 0; i != 3; ++i) {
      worlds.push_back(pairs[i].get());
      takes.emplace_back(*pairs[i]);
      pending.push_back(takes[i].start(std::span(&tokens[i], 1), 1));
    }
    tutti::when_any wait_any{worlds};
    if (wait_any(pending) != 1) {
      return "only the rank that left can have ended a request";
    }
    try {
      pending[1].wait();
      return "a message that was not sent";
    } catch (tutti::error const& e) {
      if (e.kind() != tutti::failure::peer_lost) {
        return e.what();
      }
    }
    for (std::size_t i : {0U, 2U}) {
      tutti::send{*pairs[i]}(std::span(&token, 1), 1);
    }
    for (int k = 0; k != 20; ++k) {
      std::size_t const i = wait_any(pending);
      pending[i].wait();
      if (tokens[i] != 9) {
        pending[i] = takes[i].start(std::span(&tokens[i], 1), 1);
      }
    }
    return tokens[0] == 9 && tokens[2] == 9 ? "" : "messages are missing";
  });
  for (auto const& result : results) {
    BOOST_TEST((result ? result.value() : result.failure().text) == "");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(communicators_of_two_fail_one_by_one, Transport, support::transports) {
  one_leaves<Transport>();
}
