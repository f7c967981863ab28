// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/worlds.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::rank_type;

/// What a member says in a round: texts of many lengths, the empty one, and bytes that end no text.
std::string text_of(rank_type rank, std::size_t round) {
  return std::string(round * 777 * (rank + 1) % 5000, static_cast<char>(rank)) + (round % 2 == 0 ? "" : "end");
}

/// The odd ranks in reverse order exchange, the even ones as they are, each among themselves and at the same time.
template <class World>
std::string two_groups_exchange(World& world) {
  std::vector<rank_type> members;
  for (rank_type r = world.rank() % 2; r < world.size(); r += 2) {
    members.push_back(r);
  }
  if (world.rank() % 2 == 1) {
    members = {members.rbegin(), members.rend()};
  }
  rank_type mine = 0;
  while (members[mine] != world.rank()) {
    ++mine;
  }
  tutti::group_rendezvous meet(world, members, mine);
  static_assert(tutti::rendezvous<decltype(meet)>);
  if (meet.rank() != mine || meet.size() != members.size()) {
    return "wrong rank or size";
  }
  for (std::size_t round = 0; round < 8; ++round) {
    auto const all = meet.exchange(text_of(world.rank(), round));
    for (rank_type r = 0; r < meet.size(); ++r) {
      if (all.size() != members.size() || all[r] != text_of(members[r], round)) {
        return "round " + std::to_string(round) + ", member " + std::to_string(r) + " said something else";
      }
    }
  }
  return {};
}

BOOST_AUTO_TEST_CASE(all_get_every_text_in_the_order_of_the_members) {
  for (rank_type const n : {1U, 2U, 3U, 6U}) {
    support::agree<tutti::loopback>(n, [](auto& world) { return two_groups_exchange(world); });
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

}  // namespace
