// SPDX-License-Identifier: Apache-2.0
// test: address waits
#include <laws/complaints.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/agreement.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/shrink_host.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <tuple>
#include <vector>

namespace net = tutti::detail::net;
using namespace std::chrono_literals;
using laws::has;
using tutti::rank_type;
using tutti::detail::agreement;
using tutti::detail::bootstrap_frame;
using tutti::detail::bootstrap_frame_kind;
using tutti::detail::channel;
using tutti::detail::detector_call;
using tutti::detail::io;
using tutti::detail::shrink_message;

namespace {

using ranks = std::vector<rank_type>;

std::uint64_t contribution_of(rank_type r) {
  return ~(std::uint64_t{1} << r);
}

ranks first(rank_type n) {
  ranks result(n);
  std::iota(result.begin(), result.end(), rank_type{0});
  return result;
}

/// A member of a world of n, in its first round; or, after a first one with this result, in its second.
agreement member_of(rank_type n, rank_type rank, ranks const& members_after_first = {}) {
  agreement part("a world", rank, n);
  part.begin(detector_call::agree, contribution_of(rank));
  if (!members_after_first.empty()) {
    shrink_message verdict{"a world", 0, shrink_message::step::verdict, 2};
    verdict.content = {1, {1, 0}, detector_call::agree, 5, members_after_first};
    BOOST_REQUIRE(part.learn(verdict));
    part.begin(detector_call::agree, contribution_of(rank));
  }
  return part;
}

/// A notice that these members of a world have left the receiver out.
shrink_message notice_of(ranks const& members, std::string const& world = "a world") {
  shrink_message notice{world, members.front(), shrink_message::step::notice};
  notice.content.members = members;
  return notice;
}

/// Receives frames until the host closes, and answers its requests as `part` does. Returns a letter for each frame;
/// `last` becomes the last one.
std::string receive_all(channel& line, bootstrap_frame& last, agreement* part = nullptr) {
  std::string kinds;
  for (shrink_message message; line.receive(last, shrink_message::limit, tutti::steady_now() + 5s) == io::complete;) {
    kinds += last.kind == bootstrap_frame_kind::welcome   ? 'w'
             : last.kind == bootstrap_frame_kind::table   ? 't'
             : last.kind == bootstrap_frame_kind::failure ? 'f'
                                                          : '?';
    if (part != nullptr && last.kind == bootstrap_frame_kind::table && message.parse(last.payload) &&
        !part->learn(message)) {
      if (auto const answer = part->answer(message)) {
        line.queue(bootstrap_frame_kind::text, answer->text());
        (void)line.flush();
      }
    }
  }
  return kinds;
}
std::string receive_all(channel& line) {
  bootstrap_frame last;
  return receive_all(line, last);
}

/// A member on a connection to the host, in a thread of its own.
class guest {
 public:
  guest(channel connection, agreement member)
      : part(std::move(member)),
        line_(std::move(connection)),
        thread_([this] { kinds = receive_all(line_, last, &part); }) {}
  guest(guest const&) = delete;
  guest& operator=(guest const&) = delete;
  ~guest() { end(); }

  /// Waits until the host has closed the connection.
  guest& end() {
    if (thread_.joinable()) {
      thread_.join();
    }
    return *this;
  }

  agreement part;
  std::string kinds = {};
  bootstrap_frame last = {};

 private:
  channel line_;
  std::thread thread_;
};

/// A meeting of n ranks with rank 0 as host. The others have listeners, and send messages made by a test.
struct meeting {
  explicit meeting(rank_type n, net::proof_key const& key_of_world = {}) : me(member_of(n, 0)), key(key_of_world) {
    for (rank_type r = 0; r != n; ++r) {
      listeners.push_back(net::listen(net::resolve("127.0.0.1", 0).front()));
      places.push_back(net::local_address(listeners.back().get()));
    }
  }

  [[nodiscard]] rank_type size() const { return static_cast<rank_type>(places.size()); }

  /// A connection on which `message` was sent before the host listens.
  [[nodiscard]] channel join(shrink_message const& message) const {
    channel line(net::connect(places[0], tutti::steady_now() + 5s));
    line.queue(bootstrap_frame_kind::hello, message.text());
    BOOST_REQUIRE(line.flush());
    BOOST_REQUIRE(line.is_flushed());
    return line;
  }
  /// The connection of a member of this world, or of a world of n.
  [[nodiscard]] channel join(rank_type rank) const { return join(member_of(size(), rank).hello()); }

  /// Decides the round. Returns the members.
  ranks gather(tutti::duration patience = 300ms) {
    tutti::detail::shrink_host(listeners[0].get(), me, places, {}, {}, patience, key).run();
    return me.members();
  }

  /// True if a notice waits for a member.
  [[nodiscard]] bool has_notice(rank_type rank) const {
    agreement part = member_of(size(), rank);
    take_notices(listeners[rank].get(), part, part.longest_message(size()), key);
    return part.is_left_out();
  }

  /// Starts a thread that joins the host with a key, and receives frames until the host closes. It takes the host for
  /// the member `asked_host`.
  [[nodiscard]] std::thread join_with(net::proof_key const& guest_key, rank_type claimed_rank, agreement part,
                                      std::string& kinds, rank_type asked_host = 0) const;

  agreement me;
  std::vector<tutti::detail::descriptor> listeners;
  std::vector<net::address> places;
  net::proof_key key;
};

}  // namespace

BOOST_AUTO_TEST_CASE(those_that_come_are_in_and_told_so) {
  meeting group(3);
  guest guest_1(group.join(1), member_of(3, 1));
  guest guest_2(group.join(2), member_of(3, 2));
  BOOST_TEST(group.gather(20s) == first(3), boost::test_tools::per_element());
  for (guest* member : {&guest_1, &guest_2}) {
    BOOST_TEST(member->end().kinds == "wttt");
    BOOST_TEST((member->part.result() == group.me.result()));
  }
  BOOST_TEST(group.me.result().value == (contribution_of(0) & contribution_of(1) & contribution_of(2)));
}

BOOST_AUTO_TEST_CASE(those_whose_listeners_are_closed_are_not_waited_for) {
  meeting group(4);
  group.listeners[1].reset();
  group.listeners[3].reset();
  guest const guest_2(group.join(2), member_of(4, 2));
  auto const begin = tutti::steady_now();
  BOOST_TEST(group.gather(60s) == (ranks{0, 2}), boost::test_tools::per_element());
  BOOST_TEST((tutti::steady_now() - begin < 30s));
}

BOOST_AUTO_TEST_CASE(a_member_of_another_world_is_not_in) {
  meeting group(2);
  channel stranger = group.join(agreement("another world", 1, 2).hello());
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(stranger) == "");
}

BOOST_AUTO_TEST_CASE(a_hello_longer_than_a_member_sends_is_not_read) {
  meeting group(2);
  channel stranger = group.join(agreement("a world", 1, 100).hello());
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(stranger) == "");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_message_are_not_in) {
  meeting group(2);
  channel stranger(net::connect(group.places[0], tutti::steady_now() + 5s));
  stranger.queue(bootstrap_frame_kind::hello, group.me.hello().text() + "x");
  BOOST_REQUIRE(stranger.flush());
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(stranger) == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_an_earlier_round_left_out_is_told_so) {
  meeting group(3);
  group.me = member_of(3, 0, {0, 2});
  channel guest_1 = group.join(1);
  agreement const part = member_of(3, 2, {0, 2});
  guest guest_2(group.join(part.hello()), part);
  BOOST_TEST(group.gather(20s) == (ranks{0, 2}), boost::test_tools::per_element());
  BOOST_TEST(guest_2.end().kinds == "wttt");
  bootstrap_frame last;
  BOOST_TEST(receive_all(guest_1, last) == "f");
  BOOST_TEST(has(last.payload, "continued without rank 1"));
}

/// A guest whose host died before the verdict gets that of the next member that knows it.
BOOST_AUTO_TEST_CASE(a_rank_that_has_missed_a_verdict_is_told_of_it) {
  meeting group(3);
  group.me = member_of(3, 0, first(3));
  group.listeners[2].reset();
  guest late(group.join(1), member_of(3, 1));
  agreement const informed_member = member_of(3, 1, first(3));
  guest const again(group.join(informed_member.hello()), informed_member);
  BOOST_TEST(group.gather(20s) == first(2), boost::test_tools::per_element());
  BOOST_TEST(late.end().kinds == "t");
  BOOST_TEST((late.part.result() == informed_member.result()));
  BOOST_TEST(group.me.result().round == 2U);
}

/// A host that has missed a verdict itself gets it from a guest, and tells its other guests.
BOOST_AUTO_TEST_CASE(a_host_that_has_missed_a_verdict_is_told_of_it) {
  meeting group(3);
  guest guest_1(group.join(1), member_of(3, 1));
  channel guest_2 = group.join(member_of(3, 2, first(3)).hello());
  BOOST_TEST(group.gather(20s) == first(3), boost::test_tools::per_element());
  BOOST_TEST(group.me.result().round == 1U);
  BOOST_TEST(group.me.result().value == 5U);
  BOOST_TEST(guest_1.end().part.result().value == 5U);
  BOOST_TEST(guest_1.kinds == "wt");
  BOOST_TEST(receive_all(guest_2) == "");  // its round comes later
}

BOOST_AUTO_TEST_CASE(ranks_that_make_different_calls_are_named) {
  meeting group(3);
  guest guest_1(group.join(1), member_of(3, 1));
  agreement part = member_of(3, 2);
  part.begin(detector_call::shrink, 0);
  guest guest_2(group.join(part.hello()), part);
  auto const names_both = [](tutti::error const& e) {
    return e.kind() == tutti::failure::mismatch && e.at_fault() == ranks{0, 2} &&
           has(e.what(), "rank 0 called agree, and rank 2 called shrink");
  };
  BOOST_CHECK_EXCEPTION(std::ignore = group.gather(20s), tutti::error, names_both);
  for (guest* member : {&guest_1, &guest_2}) {
    BOOST_TEST(member->end().kinds == "wf");
    BOOST_TEST(has(member->last.payload, "rank 0 called agree, and rank 2 called shrink"));
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_comes_again_is_told_on_its_last_line) {
  meeting group(2);
  channel first_line = group.join(1);
  guest last_line(group.join(1), member_of(2, 1));
  BOOST_TEST(group.gather(20s) == first(2), boost::test_tools::per_element());
  BOOST_TEST(receive_all(first_line) == "w");
  BOOST_TEST(last_line.end().kinds == "wttt");
}

/// A guest that does not answer is given up like one that does not come. The round still ends with one result.
BOOST_AUTO_TEST_CASE(a_guest_that_falls_silent_is_left_a_notice) {
  meeting group(3);
  guest guest_1(group.join(1), member_of(3, 1));
  channel guest_2 = group.join(2);
  BOOST_TEST(group.gather() == first(2), boost::test_tools::per_element());
  BOOST_TEST(guest_1.end().kinds == "wttt");
  BOOST_TEST(group.has_notice(2));
  BOOST_TEST(!group.has_notice(1));
}

/// A silent member finds a notice at its own listener that the others continued without it, but no notice if they did
/// not.
BOOST_AUTO_TEST_CASE(those_that_are_left_out_are_left_a_notice) {
  meeting group(4);
  guest const guest_1(group.join(1), member_of(4, 1));
  guest const guest_2(group.join(2), member_of(4, 2));
  BOOST_TEST(group.gather() == first(3), boost::test_tools::per_element());
  BOOST_TEST(group.has_notice(3));
  BOOST_TEST(!group.has_notice(3));

  meeting silent_group(3);
  BOOST_CHECK_THROW(std::ignore = silent_group.gather(), tutti::error);
  BOOST_TEST(!silent_group.has_notice(2));
}

/// A notice counts behind more connections than a host keeps, even if its sender and all other ranks are gone.
BOOST_AUTO_TEST_CASE(a_host_with_a_notice_does_not_go_on) {
  for (int const strangers : {0, 200}) {
    meeting group(3);
    channel guest = group.join(1);
    std::vector<channel> crowd;
    for (int i = 0; i != strangers; ++i) {
      crowd.emplace_back(net::connect(group.places[0], tutti::steady_now() + 5s));
    }
    tutti::detail::leave_notices(notice_of({2}), {0}, group.places);
    group.listeners[2].reset();
    BOOST_CHECK_EXCEPTION(std::ignore = group.gather(20s), tutti::error,
                          [](tutti::error const& e) { return has(e.what(), "continued without rank 0"); });
    bootstrap_frame last;
    std::string const kinds = receive_all(guest, last);
    BOOST_TEST(kinds.back() == 'f', kinds);
    BOOST_TEST(has(last.payload, "continued without rank 1"));
  }
}

/// A guest that others count has not been left out with its host, and looks for another one.
BOOST_AUTO_TEST_CASE(a_guest_that_a_notice_counts_is_not_told_that_it_is_left_out) {
  meeting group(3);
  channel guest = group.join(1);
  tutti::detail::leave_notices(notice_of({1, 2}), {0}, group.places);
  group.listeners[2].reset();
  BOOST_CHECK_THROW(std::ignore = group.gather(20s), tutti::error);
  BOOST_TEST(receive_all(guest).find('f') == std::string::npos);
}

/// Only a notice of the same world counts.
BOOST_AUTO_TEST_CASE(a_notice_of_another_world_is_none) {
  meeting group(2);
  tutti::detail::leave_notices(notice_of({1}, "another world"), {0}, group.places);
  group.listeners[1].reset();
  BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fewer_than_the_silent_ones_do_not_go_on) {
  meeting group(5);
  channel guest = group.join(1);
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

std::thread meeting::join_with(net::proof_key const& guest_key, rank_type claimed_rank, agreement part,
                               std::string& kinds, rank_type asked_host) const {
  return std::thread([this, guest_key, claimed_rank, part = std::move(part), &kinds, asked_host]() mutable {
    channel line(net::connect(places[0], tutti::steady_now() + 5s));
    net::proof_key const key_to_host = tutti::detail::shrink_host::key_to(asked_host, guest_key);
    if (tutti::detail::claim_rank(line, key_to_host, claimed_rank, tutti::steady_now() + 20s) != io::complete) {
      kinds = "refused";
      return;
    }
    line.queue(bootstrap_frame_kind::hello, part.hello().text());
    (void)line.flush();
    bootstrap_frame last;
    kinds = receive_all(line, last, &part);
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
  channel stranger = group.join(3);  // without a claim
  std::thread guests([&] {
    group.join_with(key_of("another secret text"), 3, member_of(5, 3), kinds[0]).join();
    group.join_with(key_of(), 1, member_of(5, 4), kinds[1]).join();
    std::thread first_guest = group.join_with(key_of(), 1, member_of(5, 1), kinds[2]);
    group.join_with(key_of(), 2, member_of(5, 2), kinds[3]).join();
    first_guest.join();
  });
  BOOST_TEST(group.gather(20s) == first(3), boost::test_tools::per_element());
  guests.join();
  BOOST_TEST(kinds[0] == "refused");
  BOOST_TEST(kinds[1] == "");  // it has proved to be another rank
  BOOST_TEST(kinds[2] == "wttt");
  BOOST_TEST(kinds[3] == "wttt");
  BOOST_TEST(receive_all(stranger) == "");
}

/// A claim to another member, which a program on the path has led to this one: neither takes the other for another.
BOOST_AUTO_TEST_CASE(a_claim_to_another_host_is_not_answered) {
  meeting group(2, key_of());
  std::string kinds;
  std::thread guest([&] {
    group.join_with(key_of(), 1, member_of(2, 1), kinds, 3).join();
    group.listeners[1].reset();  // the host waits no longer
  });
  BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
  guest.join();
  BOOST_TEST(kinds == "refused");
}

BOOST_AUTO_TEST_CASE(a_repeated_hello_takes_no_line) {
  meeting group(2, key_of());
  auto const [claim, hello] = recorded_guest(member_of(2, 1).hello());
  channel line(net::connect(group.places[0], tutti::steady_now() + 5s));
  line.queue(bootstrap_frame_kind::claim, claim);
  BOOST_REQUIRE(line.flush());
  BOOST_REQUIRE(::send(line.fd(), hello.data(), hello.size(), 0) == static_cast<ssize_t>(hello.size()));
  BOOST_TEST(group.gather() == ranks{0}, boost::test_tools::per_element());
  BOOST_TEST(receive_all(line).find('w') == std::string::npos);
}

/// A program that has heard everything forges notices: it changes their members, or has no proof, or one of its own.
BOOST_AUTO_TEST_CASE(forged_notices_leave_no_rank_out) {
  shrink_message const notice = notice_of({2});
  for (net::proof_key const& forger_key : {net::proof_key(), key_of("another secret text")}) {
    meeting group(3, key_of());
    tutti::detail::leave_notices(notice, {0, 1}, group.places, forger_key);
    BOOST_TEST(!group.has_notice(1));
    group.listeners[1].reset();
    group.listeners[2].reset();
    BOOST_TEST(group.gather(20s) == ranks{0}, boost::test_tools::per_element());
  }
  std::string const text = notice.text();
  std::string const tag(net::text_of(key_of().prove("notice", {text})));
  auto const is_notice = [&](std::string const& payload) {
    return tutti::detail::notice_in({bootstrap_frame_kind::hello, payload}, key_of()).has_value();
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
  tutti::detail::leave_notices(notice_of({2}), {0, 1}, group.places, group.key);
  BOOST_TEST(group.has_notice(1));
  BOOST_CHECK_EXCEPTION(std::ignore = group.gather(20s), tutti::error,
                        [](tutti::error const& e) { return has(e.what(), "continued without rank 0"); });
}
