// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/secret_meeting.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/dup.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/collective/split.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/locality/near_rendezvous.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

namespace {

using tutti::rank_type;

/// The text of a member in a round: of many lengths, sometimes empty, and with zero bytes.
std::string text_of(rank_type rank, std::size_t round) {
  return std::string(round * 777 * (rank + 1) % 5000, static_cast<char>(rank)) + (round % 2 == 0 ? "" : "end");
}

/// The odd ranks, in reverse order, and the even ranks exchange texts within their group, at the same time.
template <class World>
std::string two_groups_exchange(World& world) {
  std::vector<rank_type> members;
  for (rank_type r = world.rank() % 2; r < world.size(); r += 2) {
    members.push_back(r);
  }
  if (world.rank() % 2 == 1) {
    members = {members.rbegin(), members.rend()};
  }
  rank_type index = 0;
  while (members[index] != world.rank()) {
    ++index;
  }
  tutti::group_rendezvous meet(world, members, index);
  static_assert(tutti::rendezvous<decltype(meet)>);
  if (meet.rank() != index || meet.size() != members.size()) {
    return "wrong rank or size";
  }
  for (std::size_t round = 0; round < 8; ++round) {
    auto const texts = meet.exchange(text_of(world.rank(), round));
    for (rank_type r = 0; r < meet.size(); ++r) {
      if (texts.size() != members.size() || texts[r] != text_of(members[r], round)) {
        return "round " + std::to_string(round) + ", member " + std::to_string(r) + " said something else";
      }
    }
  }
  return {};
}

BOOST_AUTO_TEST_CASE(all_get_every_text_in_the_order_of_the_members) {
  for (rank_type const n : {1U, 2U, 3U, 6U, 11U, 16U}) {
    support::agree<tutti::loopback>(n, [](auto& world) { return two_groups_exchange(world); });
  }
}

/// Sends and receives for one member of a group, through a queue for each pair of members.
struct counted_edges {
  std::map<std::pair<rank_type, rank_type>, std::deque<std::string>>* edges;
  std::mutex* guard;
  std::condition_variable* arrival;
  rank_type member;
  std::size_t send_count = 0;
};

BOOST_AUTO_TEST_CASE(no_member_sends_more_messages_than_a_tree_has_levels) {
  for (rank_type const n : {1U, 2U, 5U, 16U, 33U}) {
    std::map<std::pair<rank_type, rank_type>, std::deque<std::string>> edges;
    std::mutex guard;
    std::condition_variable arrival;
    std::vector<rank_type> members(n);
    std::iota(members.begin(), members.end(), 100U);
    std::vector<counted_edges> ends(n, counted_edges{&edges, &guard, &arrival, 0});
    std::vector<std::vector<std::string>> results(n);
    std::vector<std::thread> threads;
    for (rank_type rank = 0; rank < n; ++rank) {
      ends[rank].member = members[rank];
      threads.emplace_back([&, rank] {
        tutti::detail::group_calls const calls{.object = &ends[rank],
                                               .send =
                                                   [](void* object, rank_type receiver, std::string_view text) {
                                                     auto& end = *static_cast<counted_edges*>(object);
                                                     std::lock_guard const lock(*end.guard);
                                                     (*end.edges)[{end.member, receiver}].emplace_back(text);
                                                     ++end.send_count;
                                                     end.arrival->notify_all();
                                                   },
                                               .receive =
                                                   [](void* object, rank_type sender, std::string& text) {
                                                     auto& end = *static_cast<counted_edges*>(object);
                                                     std::unique_lock lock(*end.guard);
                                                     auto& queue = (*end.edges)[{sender, end.member}];
                                                     end.arrival->wait(lock, [&] { return !queue.empty(); });
                                                     text = std::move(queue.front());
                                                     queue.pop_front();
                                                   }};
        results[rank] = tutti::detail::exchange_in_group(calls, members, rank, text_of(rank, 3));
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    std::size_t total = 0;
    for (rank_type rank = 0; rank < n; ++rank) {
      total += ends[rank].send_count;
      BOOST_TEST(ends[rank].send_count <= static_cast<std::size_t>(std::bit_width(n - 1)) + 1);
      BOOST_REQUIRE(results[rank].size() == n);
      for (rank_type sender = 0; sender < n; ++sender) {
        BOOST_TEST(results[rank][sender] == text_of(sender, 3));
      }
    }
    BOOST_TEST(total == 2U * (n - 1));
  }
}

BOOST_AUTO_TEST_CASE(what_the_parent_knows_of_its_host_is_known) {
  support::agree<tutti::tcp>(2, [](auto& world) -> std::string {
    tutti::group_rendezvous meet(world, {0, 1}, world.rank());
    return meet.local_host() == world.transport().local_host() ? "" : "another host";
  });
}

BOOST_AUTO_TEST_CASE(a_member_that_is_gone_is_an_error) {
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    if (world.rank() != 2) {
      tutti::group_rendezvous meet(world, {0, 1, 2}, world.rank());
      meet.exchange("");
    }
  });
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(!results[r].has_value());
    BOOST_TEST((results[r].failure().kind == tutti::failure::peer_lost), results[r].failure().text);
  }
}

static_assert(tutti::shares_secret<tutti::detail::launched_rendezvous>);
static_assert(tutti::shares_secret<tutti::detail::survivors>);
static_assert(tutti::shares_secret<tutti::group_rendezvous<tutti::communicator<tutti::tcp>>>);
static_assert(!tutti::shares_secret<tutti::detail::thread_rendezvous>);

BOOST_AUTO_TEST_CASE(parts_of_a_world_have_its_secret) {
  auto const results = tutti::detail::run_threads(4, [](tutti::detail::thread_rendezvous& seat) -> std::string {
    support::secret_meeting meet{&seat};
    auto const is_same = [&](tutti::world_secret const& other) {
      return other && std::ranges::equal(other.key(), meet.secret().key());
    };
    tutti::host_map const hosts(std::array{0, 0, 1, 1});
    tutti::detail::joint_rendezvous joint(meet);
    tutti::detail::near_rendezvous neighbours(joint, hosts);
    support::secret_meeting process{nullptr};
    tutti::detail::team_rendezvous team(seat, process);
    if (!is_same(joint.secret()) || !is_same(neighbours.secret()) || !is_same(team.secret())) {
      return "a rendezvous around another one loses the secret";
    }
    tutti::communicator<tutti::loopback> world(meet);
    auto part = tutti::split(world, world.rank() % 2);
    auto copy = tutti::dup(part);
    auto no_secret = tutti::communicator<tutti::loopback>(seat);
    auto const secret_of = [](auto& members) { return tutti::group_rendezvous(members, {members.rank()}, 0).secret(); };
    return !is_same(secret_of(world)) || !is_same(secret_of(part)) || !is_same(secret_of(copy)) ? "a part has no secret"
           : secret_of(no_secret) ? "there is a secret that was never given"
                                  : "";
  });
  for (auto const& result : results) {
    BOOST_TEST((result ? result.value() : result.failure().text) == "");
  }
}

}  // namespace
