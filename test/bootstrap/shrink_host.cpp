// SPDX-License-Identifier: Apache-2.0
// test: address waits
#include <laws/complaints.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/shrink_host.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <tuple>
#include <vector>

namespace net = tutti::detail::net;
using namespace std::chrono_literals;
using laws::has;
using tutti::rank_type;
using tutti::detail::bootstrap_frame;
using tutti::detail::bootstrap_frame_kind;
using tutti::detail::channel;
using tutti::detail::io;
using tutti::detail::shrink_message;

namespace {

using ranks = std::vector<rank_type>;

ranks first(rank_type n) {
  ranks result(n);
  std::iota(result.begin(), result.end(), rank_type{0});
  return result;
}

/// A meeting of n ranks with rank 0 as host. The others have listeners, and send messages made by a test.
struct meeting {
  explicit meeting(rank_type n, net::proof_key const& key_of_world = {})
      : me{"a world", 0, first(n)}, key(key_of_world) {
    for (rank_type r = 0; r != n; ++r) {
      listeners.push_back(net::listen(net::resolve("127.0.0.1", 0).front()));
      places.push_back(net::local_address(listeners.back().get()));
    }
  }

  /// A connection on which `message` was sent before the host listens.
  [[nodiscard]] channel join(shrink_message const& message) const {
    channel line(net::connect(places[0], tutti::steady_now() + 5s));
    line.queue(bootstrap_frame_kind::hello, message.text());
    BOOST_REQUIRE(line.flush());
    BOOST_REQUIRE(line.is_flushed());
    return line;
  }
  [[nodiscard]] channel join(rank_type rank, ranks const& members) const { return join({me.world, rank, members}); }

  [[nodiscard]] ranks gather(tutti::duration patience = 300ms) const {
    return tutti::detail::shrink_host(listeners[0].get(), me, places, {}, patience, key).gather();
  }

  /// Starts a thread that joins the host with a key, and receives frames until the host closes. It takes the host for
  /// the member `asked_host`.
  [[nodiscard]] std::thread join_with(net::proof_key const& guest_key, rank_type claimed_rank,
                                      shrink_message const& message, std::string& kinds,
                                      rank_type asked_host = 0) const;

  shrink_message me;
  std::vector<tutti::detail::descriptor> listeners;
  std::vector<net::address> places;
  net::proof_key key;
};

/// The frames that a guest receives until the host closes, a letter for each kind; `last` becomes the last frame.
std::string receive_all(channel& line, bootstrap_frame& last) {
  std::string kinds;
  while (line.receive(last, shrink_message::limit, tutti::steady_now() + 5s) == io::complete) {
    kinds += last.kind == bootstrap_frame_kind::welcome   ? 'w'
             : last.kind == bootstrap_frame_kind::table   ? 't'
             : last.kind == bootstrap_frame_kind::failure ? 'f'
                                                          : '?';
  }
  return kinds;
}
std::string receive_all(channel& line) {
  bootstrap_frame last;
  return receive_all(line, last);
}

}  // namespace

BOOST_AUTO_TEST_CASE(those_that_come_are_in_and_told_so) {
  meeting group(3);
  channel guest_1 = group.join(1, first(3));
  channel guest_2 = group.join(2, first(3));
  BOOST_TEST(group.gather(20s) == first(3), boost::test_tools::per_element());
  for (channel* line : {&guest_1, &guest_2}) {
    bootstrap_frame last;
    BOOST_TEST(receive_all(*line, last) == "wt");
    shrink_message verdict;
    BOOST_REQUIRE(verdict.parse(last.payload));
    BOOST_TEST(verdict.members == first(3), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(those_whose_listeners_are_closed_are_not_waited_for) {
  meeting group(4);
  group.listeners[1].reset();
  group.listeners[3].reset();
  channel guest_2 = group.join(2, first(4));
  auto const begin = tutti::steady_now();
  BOOST_TEST(group.gather(60s) == (ranks{0, 2}), boost::test_tools::per_element());
  BOOST_TEST((tutti::steady_now() - begin < 30s));
}

BOOST_AUTO_TEST_CASE(a_member_of_another_world_is_not_in) {
  meeting group(2);
  channel guest = group.join({"another world", 1, first(2)});
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(guest) == "");
}

BOOST_AUTO_TEST_CASE(a_hello_longer_than_a_member_sends_is_not_read) {
  meeting group(2);
  channel guest = group.join(1, first(100));
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(guest) == "");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_message_are_not_in) {
  meeting group(2);
  channel guest(net::connect(group.places[0], tutti::steady_now() + 5s));
  guest.queue(bootstrap_frame_kind::hello, group.me.text() + "x");
  BOOST_REQUIRE(guest.flush());
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(guest) == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_an_earlier_shrink_left_out_is_told_so) {
  meeting group(3);
  group.me.members = {0, 2};
  channel guest_1 = group.join(1, first(3));
  channel guest_2 = group.join(2, {0, 2});
  BOOST_TEST(group.gather(20s) == (ranks{0, 2}), boost::test_tools::per_element());
  bootstrap_frame last;
  BOOST_TEST(receive_all(guest_1, last) == "f");
  BOOST_TEST(has(last.payload, "continued without rank 1"));
}

/// A rank that any member has excluded stays out: otherwise two groups could continue with it.
BOOST_AUTO_TEST_CASE(a_rank_that_another_one_does_not_count_stays_out) {
  meeting group(3);
  channel guest_1 = group.join(1, {0, 1});
  channel guest_2 = group.join(2, first(3));
  BOOST_TEST(group.gather(20s) == first(2), boost::test_tools::per_element());
  BOOST_TEST(receive_all(guest_1) == "wt");
  bootstrap_frame last;
  BOOST_TEST(receive_all(guest_2, last) == "wf");
  BOOST_TEST(has(last.payload, "continued without rank 2"));
}

BOOST_AUTO_TEST_CASE(a_member_that_comes_again_is_told_on_its_last_line) {
  meeting group(2);
  channel first_line = group.join(1, first(2));
  channel last_line = group.join(1, first(2));
  BOOST_TEST(group.gather(20s) == first(2), boost::test_tools::per_element());
  BOOST_TEST(receive_all(first_line) == "w");
  BOOST_TEST(receive_all(last_line) == "wt");
}

/// A silent member finds a notice at its own listener that the others continued without it, but no notice if they did
/// not.
BOOST_AUTO_TEST_CASE(those_that_are_left_out_are_left_a_notice) {
  meeting group(4);
  channel guest_1 = group.join(1, first(4));
  channel guest_2 = group.join(2, first(4));
  BOOST_TEST(group.gather() == first(3), boost::test_tools::per_element());
  shrink_message const absentee{group.me.world, 3, first(4)};
  BOOST_TEST(take_notice(group.listeners[3].get(), absentee, absentee.longest(4)));
  BOOST_TEST(!take_notice(group.listeners[3].get(), absentee, absentee.longest(4)));

  meeting silent_group(3);
  BOOST_CHECK_THROW(std::ignore = silent_group.gather(), tutti::error);
  shrink_message const silent_member{silent_group.me.world, 2, first(3)};
  BOOST_TEST(!take_notice(silent_group.listeners[2].get(), silent_member, silent_member.longest(3)));
}

/// A notice counts behind more connections than a host keeps, even if its sender and all other ranks are gone.
BOOST_AUTO_TEST_CASE(a_host_with_a_notice_does_not_go_on) {
  for (int const strangers : {0, 200}) {
    meeting group(3);
    channel guest = group.join(1, first(3));
    std::vector<channel> crowd;
    for (int i = 0; i != strangers; ++i) {
      crowd.emplace_back(net::connect(group.places[0], tutti::steady_now() + 5s));
    }
    tutti::detail::leave_notices({group.me.world, 2, {2}}, {0}, group.places);
    group.listeners[1].reset();
    group.listeners[2].reset();
    BOOST_CHECK_EXCEPTION(std::ignore = group.gather(20s), tutti::error,
                          [](tutti::error const& e) { return has(e.what(), "continued without rank 0"); });
    bootstrap_frame last;
    BOOST_TEST(receive_all(guest, last) == "wf");
    BOOST_TEST(has(last.payload, "continued without rank 1"));
  }
}

/// Only a notice of the same world counts.
BOOST_AUTO_TEST_CASE(a_notice_of_another_world_is_none) {
  meeting group(2);
  tutti::detail::leave_notices({"another world", 1, {1}}, {0}, group.places);
  group.listeners[1].reset();
  BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fewer_than_the_silent_ones_do_not_go_on) {
  meeting group(5);
  channel guest = group.join(1, first(5));
  auto const names_the_silent = [](tutti::error const& e) {
    return e.kind() == tutti::failure::join && e.at_fault() == ranks{2, 3, 4} && has(e.what(), "may be alive");
  };
  BOOST_CHECK_EXCEPTION(std::ignore = group.gather(), tutti::error, names_the_silent);
  bootstrap_frame last;
  BOOST_TEST(receive_all(guest, last) == "wf");
  BOOST_TEST(has(last.payload, "may be alive"));
}

namespace {

net::proof_key key_of(char const* text = "sixteen or more letters") {
  return net::proof_key(net::make_secret(text));
}

std::thread meeting::join_with(net::proof_key const& guest_key, rank_type claimed_rank, shrink_message const& message,
                               std::string& kinds, rank_type asked_host) const {
  return std::thread([this, guest_key, claimed_rank, message, &kinds, asked_host] {
    channel line(net::connect(places[0], tutti::steady_now() + 5s));
    net::proof_key const key_to_host = tutti::detail::shrink_host::key_to(asked_host, guest_key);
    if (tutti::detail::claim_rank(line, key_to_host, claimed_rank, tutti::steady_now() + 20s) != io::complete) {
      kinds = "refused";
      return;
    }
    line.queue(bootstrap_frame_kind::hello, message.text());
    (void)line.flush();
    kinds = receive_all(line);
  });
}

/// The bytes by which a guest joins, heard on the wire.
std::pair<std::string, std::string> recorded_guest(shrink_message const& message) {
  net::proof_key const key = tutti::detail::shrink_host::key_to(0, key_of());
  auto [guest_end, host_end] = tutti::detail::stream_pair();
  channel host(std::move(host_end));
  std::string hello;
  bootstrap_frame claim;
  std::thread guest([&message, &key, end = std::move(guest_end)]() mutable {
    channel line(std::move(end));
    (void)tutti::detail::claim_rank(line, key, message.rank, tutti::steady_now() + 20s);
    line.queue(bootstrap_frame_kind::hello, message.text());
    (void)line.flush();
    ::shutdown(line.fd(), SHUT_WR);
    bootstrap_frame none;
    (void)line.receive(none, 0, tutti::steady_now() + 20s);
  });
  BOOST_REQUIRE((host.receive(claim, 200, tutti::steady_now() + 20s) == io::complete));
  auto const proved_guest = tutti::detail::read_claim(key, claim.payload);
  BOOST_REQUIRE((proved_guest && proved_guest->rank == message.rank));
  tutti::detail::answer_claim(host, key, *proved_guest);
  tutti::detail::wait_ready(host.fd(), POLLIN, tutti::steady_now() + 20s);
  char bytes[1000];
  ssize_t const size = ::recv(host.fd(), bytes, sizeof bytes, 0);
  BOOST_REQUIRE(size > 0);
  host.close();
  guest.join();
  return {claim.payload, {bytes, static_cast<std::size_t>(size)}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(members_that_know_the_key_are_in_and_no_others) {
  meeting group(5, key_of());
  group.listeners[3].reset();
  group.listeners[4].reset();
  std::string kinds[4];
  channel stranger = group.join(3, first(5));  // without a claim
  std::thread guests([&] {
    group.join_with(key_of("another secret text"), 3, {group.me.world, 3, first(5)}, kinds[0]).join();
    group.join_with(key_of(), 1, {group.me.world, 4, first(5)}, kinds[1]).join();
    std::thread first_guest = group.join_with(key_of(), 1, {group.me.world, 1, first(5)}, kinds[2]);
    group.join_with(key_of(), 2, {group.me.world, 2, first(5)}, kinds[3]).join();
    first_guest.join();
  });
  BOOST_TEST(group.gather(20s) == first(3), boost::test_tools::per_element());
  guests.join();
  BOOST_TEST(kinds[0] == "refused");
  BOOST_TEST(kinds[1] == "");  // it has proved to be another rank
  BOOST_TEST(kinds[2] == "wt");
  BOOST_TEST(kinds[3] == "wt");
  BOOST_TEST(receive_all(stranger) == "");
}

/// A claim to another member, which a program on the path has led to this one: neither takes the other for another.
BOOST_AUTO_TEST_CASE(a_claim_to_another_host_is_not_answered) {
  meeting group(2, key_of());
  std::string kinds;
  std::thread guest([&] {
    group.join_with(key_of(), 1, {group.me.world, 1, first(2)}, kinds, 3).join();
    group.listeners[1].reset();  // the host waits no longer
  });
  BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
  guest.join();
  BOOST_TEST(kinds == "refused");
}

BOOST_AUTO_TEST_CASE(a_repeated_hello_takes_no_line) {
  meeting group(2, key_of());
  auto const [claim, hello] = recorded_guest({group.me.world, 1, first(2)});
  channel line(net::connect(group.places[0], tutti::steady_now() + 5s));
  line.queue(bootstrap_frame_kind::claim, claim);
  BOOST_REQUIRE(line.flush());
  BOOST_REQUIRE(::send(line.fd(), hello.data(), hello.size(), 0) == static_cast<ssize_t>(hello.size()));
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(line).find('w') == std::string::npos);
}

/// A program that has heard everything forges notices: it changes their members, or has no proof, or one of its own.
BOOST_AUTO_TEST_CASE(forged_notices_leave_no_rank_out) {
  shrink_message const notice{"a world", 2, {2}};
  for (net::proof_key const& forger_key : {net::proof_key(), key_of("another secret text")}) {
    meeting group(3, key_of());
    tutti::detail::leave_notices(notice, {0, 1}, group.places, forger_key);
    shrink_message const member{"a world", 1, first(3)};
    BOOST_TEST(!take_notice(group.listeners[1].get(), member, member.longest(3), group.key));
    group.listeners[1].reset();
    group.listeners[2].reset();
    BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
  }
  std::string const text = notice.text();
  std::string const tag(net::text_of(key_of().prove("notice", {text})));
  shrink_message const member{"a world", 1, first(3)};
  auto const is_notice = [&](std::string const& payload) {
    return tutti::detail::is_notice({bootstrap_frame_kind::hello, payload}, member, key_of());
  };
  BOOST_TEST(is_notice(text + tag));
  for (std::size_t i = 0; i != text.size() + tag.size(); ++i) {
    std::string forgery = text + tag;
    forgery[i] = static_cast<char>(forgery[i] ^ 1);
    BOOST_TEST(!is_notice(forgery), i);
    BOOST_TEST(!is_notice((text + tag).substr(0, i)), i);
  }
}

BOOST_AUTO_TEST_CASE(proved_notices_leave_a_rank_out) {
  meeting group(3, key_of());
  tutti::detail::leave_notices({group.me.world, 2, {2}}, {0, 1}, group.places, group.key);
  shrink_message const member{"a world", 1, first(3)};
  BOOST_TEST(take_notice(group.listeners[1].get(), member, member.longest(3), group.key));
  BOOST_CHECK_EXCEPTION(std::ignore = group.gather(20s), tutti::error,
                        [](tutti::error const& e) { return has(e.what(), "continued without rank 0"); });
}
